import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxApiKeys } from '../../../src/domain/accounts/api-keys.ts'
import type { Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { instanceApiKey } from '../../../src/services/accounts/api-keys/identity.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
import { openGateway } from '../../support/gateways.ts'
import { muchCredit, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let otherApp: TestApp
/** Every secret that an answer contained. */
const secrets: string[] = []

beforeAll(async () => {
  app = await startApp()
  otherApp = await startApp({ sharedApp: app })
})

afterAll(async () => {
  await otherApp.close()
  await app.close()
})

const keyFields = `id name prefix createdAt expiresAt lastUsedAt current permissions {
  category operation { operation constraints { parameter operator value { id text number boolean } } } }`
const refusal = '... on Error { code message } ... on InvalidInputError { issues { path message } }'

type Answer = {
  code?: string
  message?: string
  missing?: unknown
  issues?: { path: string; message: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: the result has the fields that the query selects
  apiKey?: any
  secret?: string
  replayed?: boolean
  deletedId?: string
}

type KeyMutation = 'createApiKey' | 'rotateApiKeySecret' | 'deleteApiKey'

/** The result of a mutation, or its refusal, whether the refusal is a value or an error. */
async function mutate(key: string, name: KeyMutation, input: object, at = app): Promise<Answer> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`
  const success = name === 'deleteApiKey' ? 'deletedId' : `apiKey { ${keyFields} } secret replayed`
  const query = `mutation ($input: ${type}Input!) {
    ${name}(input: $input) { ... on ${type}Success { ${success} } ${refusal} } }`
  const { permissions = null } = input as { permissions?: unknown }
  const said = name === 'createApiKey' && permissions === null ? { fullAccess: true, ...input } : input
  const { data, errors } = await at.graphql(key, query, { input: said })
  if (errors) {
    const { code, missing } = errors[0]?.extensions ?? {}
    return { code: code as string, message: errors[0]?.message as string, missing }
  }
  const answer = data[name]
  if (answer.secret) secrets.push(answer.secret)
  return answer
}

async function createKey(key: string, input: object = {}): Promise<{ id: string; secret: string }> {
  const answer = await mutate(key, 'createApiKey', input)
  expect(answer).toMatchObject({ replayed: false })
  return { id: answer.apiKey.id, secret: answer.secret as string }
}

const list = async (key: string) =>
  (await app.graphql(key, `{ viewer { account { apiKeys { ${keyFields} } } } }`)).data.viewer.account.apiKeys
const statusOf = async (key: string, at = app) => (await at.rest(key, 'GET', '/users/current/')).status
const publicId = (key: string) => key.split('_')[1] as string
const idOf = async (key: string) => {
  const [row] = await app.sql(`SELECT id FROM api_keys WHERE public_id = '${publicId(key)}'`)
  return `key_${(row as { id: number }).id}`
}
const inMs = (ms: number) => new Date(app.clock.now().getTime() + ms).toISOString()

const everyKindOfPermission = [
  { category: 'MARKET_READ' },
  { operation: { operation: 'ACCOUNT', constraints: [] } },
  { operation: { operation: 'API_KEYS', constraints: [] } },
  {
    operation: {
      operation: 'UPDATE_INSTANCE',
      constraints: [
        { parameter: 'id', operator: 'GTE', value: { id: 'ins_5' } },
        { parameter: 'id', operator: 'LTE', value: { id: 'ins_7' } },
        { parameter: 'relabels', operator: 'EQ', value: { boolean: false } },
      ],
    },
  },
  {
    operation: {
      operation: 'CREATE_VOLUME',
      constraints: [
        { parameter: 'machineId', operator: 'EQ', value: { id: 'mch_9' } },
        { parameter: 'sizeGb', operator: 'LTE', value: { number: 2.5 } },
      ],
    },
  },
]

const misc = [{ category: 'MARKET_READ' }]

/** The permissions without the fields that are null: what an input takes. */
const withoutNulls = (permissions: object[]): object[] =>
  JSON.parse(JSON.stringify(permissions, (_key, value) => value ?? undefined))
/** Each permission with each of its constraints as a text. The fields of a stored JSON object have no order. */
const flat = (permissions: object[]) =>
  (permissions as { operation?: { constraints: object[] } }[])
    .flatMap(({ operation, ...rest }) => [
      { ...rest, ...operation, constraints: undefined },
      ...(operation?.constraints ?? []).map(one => ({ ...operation, constraints: one })),
    ])
    .map(one => JSON.stringify(one))
    .toSorted()

describe('viewer.apiKey', () => {
  const query = `{ viewer { apiKey { ${keyFields} } } }`

  it('shows the key of the request, even to a key without any permission', async () => {
    const owner = await app.newKey()
    const { id, secret } = await createKey(owner, { name: 'nothing', permissions: [] })
    const { data, errors } = await app.graphql(secret, query)
    expect(errors).toBeUndefined()
    expect(data.viewer.apiKey).toMatchObject({ id, name: 'nothing', current: true, permissions: [] })
    const [listed] = await list(owner)
    expect(data.viewer.apiKey).toEqual({ ...listed, current: true, lastUsedAt: expect.any(String) })
  })

  it("is null for an instance's own key", async () => {
    const owner = await app.newKey(null, muchCredit)
    const id = await rentalsOf(app).rent(owner)
    const own = instanceApiKey(createSecrets('a secret of tests'), BigInt(id))
    expect(await app.graphql(own, query)).toMatchObject({ data: { viewer: { apiKey: null } }, errors: undefined })
  })

  it('refuses a key whose secret was rotated after the request began', async () => {
    const owner = await app.newKey()
    const gateway = openGateway({ url: app.database.url, now: app.clock.now })
    const { apiKeys } = gateway.services
    const actor = (await apiKeys.identify(owner, { fresh: true })) as Actor
    await mutate(owner, 'rotateApiKeySecret', { id: await idOf(owner) })
    await expect(apiKeys.current(actor, { id: true })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    await gateway.close()
  })
})

describe('a new key', () => {
  it('authenticates requests, and has full access if its creation requested full access', async () => {
    const owner = await app.newKey()
    const answer = await mutate(owner, 'createApiKey', { name: 'ci' })
    expect(answer).toMatchObject({
      replayed: false,
      secret: expect.stringMatching(/^berth_\w{12}_\w{40}$/),
      apiKey: { name: 'ci', permissions: null, expiresAt: null, lastUsedAt: null, current: false },
    })
    expect(answer.secret).toContain(`${answer.apiKey.prefix}_`)
    expect(await statusOf(answer.secret as string)).toBe(200)
    expect(await statusOf(answer.secret as string, otherApp)).toBe(200)
    const [first, second] = await list(answer.secret as string)
    expect([first.id, first.current, second.current]).toEqual([answer.apiKey.id, true, false])
  })

  it('has the permissions that it was created with, and is listed with them', async () => {
    const owner = await app.newKey()
    const { secret } = await createKey(owner, { permissions: everyKindOfPermission })
    expect(await statusOf(secret)).toBe(200)
    expect((await app.graphql(secret, '{ instances { totalCount } }')).errors).toMatchObject([
      { extensions: { code: 'FORBIDDEN' } },
    ])
    const [{ permissions }] = await list(secret)
    expect(flat(withoutNulls(permissions))).toEqual(flat(everyKindOfPermission))
    // What is read can be written.
    const copy = await mutate(owner, 'createApiKey', { permissions: withoutNulls(permissions) })
    expect(flat(copy.apiKey.permissions)).toEqual(flat(permissions))
  })

  it('authorizes nothing if its list of permissions is empty', async () => {
    const { secret } = await createKey(await app.newKey(), { permissions: [] })
    expect(await statusOf(secret)).toBe(403)
  })

  it.each([
    ['without permissions', '', 'are required'],
    [
      'with permissions and full access',
      'fullAccess: true, permissions: []',
      'must be omitted for a key with full access',
    ],
  ])('is refused over GraphQL %s', async (_how, fields, problem) => {
    const { data } = await app.graphql(
      await app.newKey(),
      `mutation { createApiKey(input: { name: "x", ${fields} }) { __typename ${refusal} } }`,
    )
    const issues = [{ path: 'permissions', message: expect.stringContaining(problem) }]
    expect(data.createApiKey).toMatchObject({ code: 'INVALID_INPUT', issues })
  })

  it('is refused from its expiry on, and is no longer listed or found', async () => {
    const owner = await app.newKey()
    const { id, secret } = await createKey(owner, { expiresAt: inMs(1_000) })
    app.clock.advance(999)
    expect([await statusOf(secret), (await list(owner))[0].id]).toEqual([200, id])
    app.clock.advance(1)
    expect([await statusOf(secret), (await list(owner)).length]).toEqual([401, 1])
    expect(await mutate(owner, 'rotateApiKeySecret', { id })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await mutate(owner, 'deleteApiKey', { id })).toMatchObject({ code: 'NOT_FOUND' })
    expect((await app.graphql(owner, `{ node(id: "${id}") { id } }`)).data).toEqual({ node: null })
  })

  const only = (operation: string, ...constraints: object[]) => [{ operation: { operation, constraints } }]
  const constraint = (parameter: string, value: object, operator = 'EQ') => ({ parameter, operator, value })
  it.each<[what: string, input: () => object, issues: { path: string; message: string }[]]>([
    ['that expires now', () => ({ expiresAt: inMs(0) }), [{ path: 'expiresAt', message: 'is in the past.' }]],
    [
      'with a long name',
      () => ({ name: 'x'.repeat(257), permissions: everyKindOfPermission }),
      [{ path: 'name', message: 'must have at most 256 characters, not 257.' }],
    ],
    [
      'with constraints on unknown parameters',
      () => ({
        permissions: only(
          'UPDATE_INSTANCE',
          constraint('id', { id: 'ins_5' }),
          constraint('label', { text: 'a' }),
          constraint('relabels', { number: 0 }),
          constraint('relabels', { id: 'ins_5' }, 'LTE'),
        ),
      }),
      [
        {
          path: 'permissions.0.operation.constraints.1.parameter',
          message: 'is not a parameter of this operation, which has id, relabels, starts.',
        },
        { path: 'permissions.0.operation.constraints.2.value', message: 'must be true or false.' },
        { path: 'permissions.0.operation.constraints.3.value', message: 'must be true or false.' },
      ],
    ],
    [
      'with constraints on ids that are no ids of the type',
      () => ({
        permissions: [
          ...only(
            'UPDATE_INSTANCE',
            constraint('id', { number: 5 }),
            constraint('id', { id: 'vol_5' }, 'GTE'),
            constraint('id', { id: '9'.repeat(18) }, 'LTE'),
          ),
          ...only('RENT_INSTANCE', constraint('offerId', { text: 'off_1' })),
          ...only('DELETE_SPEND_LIMIT', constraint('id', { boolean: true })),
        ],
      }),
      [
        { path: 'permissions.0.operation.constraints.0.value', message: 'must be an id, such as {id: "ins_42"}.' },
        {
          path: 'permissions.0.operation.constraints.1.value',
          message: '"vol_5" is not an id of the expected type; send one like ins_42.',
        },
        { path: 'permissions.0.operation.constraints.2.value', message: 'is larger than any id.' },
        { path: 'permissions.1.operation.constraints.0.value', message: 'must be an id, such as {id: "off_42"}.' },
        { path: 'permissions.2.operation.constraints.0.value', message: 'must be an id, such as {id: "lim_42"}.' },
      ],
    ],
    [
      'with duplicate permissions',
      () => ({
        permissions: [
          { category: 'MARKET_READ' },
          ...only('OFFER'),
          ...only('RENT_INSTANCE', constraint('offerId', { id: '1' }), constraint('offerId', { id: 'off_2' })),
          ...only('RENT_INSTANCE'),
          { category: 'INSTANCE_WRITE' },
        ],
      }),
      [
        { path: 'permissions.1', message: 'grants what another permission in the list grants already.' },
        {
          path: 'permissions.2.operation.constraints.1',
          message: 'repeats the parameter and operator of another constraint.',
        },
        { path: 'permissions.3', message: 'grants what another permission in the list grants already.' },
        { path: 'permissions.4', message: 'grants what another permission in the list grants already.' },
      ],
    ],
  ])('%s is refused', async (_what, input, issues) => {
    const owner = await app.newKey()
    expect(await mutate(owner, 'createApiKey', input())).toMatchObject({ code: 'INVALID_INPUT', issues })
    expect(await list(owner)).toHaveLength(1)
  })

  it(`is refused when the account has ${maxApiKeys} active keys, even when two are created at once`, async () => {
    const owner = await app.newKey()
    await app.sql(`INSERT INTO api_keys (account_id, public_id, secret_hash, revoked_at)
      SELECT account_id, 'filled' || account_id || n, sha256('x'), CASE WHEN n > ${maxApiKeys - 2} THEN now() END
      FROM api_keys, generate_series(1, ${maxApiKeys + 50}) n WHERE public_id = '${publicId(owner)}'`)
    const answers = await Promise.all([mutate(owner, 'createApiKey', {}), mutate(owner, 'createApiKey', {}, otherApp)])
    expect(answers.map(({ code }) => code).toSorted()).toEqual(['CONFLICT', undefined])
    const keys = await list(owner)
    expect(keys).toHaveLength(maxApiKeys)
    await mutate(owner, 'deleteApiKey', { id: keys[5].id })
    await createKey(owner)
  })
})

describe('a key that creates or resets another key', () => {
  const update = (constraints: object = {}): Permissions => ({
    api: { user_write: {}, instance_write: { 'instances.update': { constraints } as object } },
  })
  const updates = (...constraints: object[]) => [{ operation: { operation: 'UPDATE_INSTANCE', constraints } }]
  const id = (operator: string, number: number) => ({ parameter: 'id', operator, value: { id: `ins_${number}` } })

  it.each<[what: string, own: Permissions, wanted: object[] | null, missing: string[] | undefined]>([
    ['full access, which it lacks', { api: { user_write: {}, misc: {} } }, null, ['FULL_ACCESS']],
    ['a category that it lacks', { api: { user_write: {} } }, misc, ['MARKET_READ']],
    [
      'several categories that it lacks',
      update(),
      [...misc, { category: 'INSTANCE_WRITE' }],
      ['MARKET_READ', 'INSTANCE_WRITE'],
    ],
    ['a category that it has in part', update(), [{ category: 'INSTANCE_WRITE' }], ['INSTANCE_WRITE']],
    ['an operation without its own constraint', update({ id: { eq: 5 } }), updates(), ['UPDATE_INSTANCE']],
    ['an operation with another constraint', update({ id: { eq: 5 } }), updates(id('EQ', 6)), ['UPDATE_INSTANCE']],
    ['an operation with a wider constraint', update({ id: { lte: 5 } }), updates(id('LTE', 6)), ['UPDATE_INSTANCE']],
    [
      'an operation with a constraint of another type',
      update({ id: { lte: 5 } }),
      updates(id('GTE', 1)),
      ['UPDATE_INSTANCE'],
    ],
    ['a category that it has', { api: { user_write: {}, misc: {} } }, misc, undefined],
    ['no permissions', { api: { user_write: {} } }, [], undefined],
    ['a part of a category that it has', { api: { user_write: {}, instance_write: {} } }, updates(), undefined],
    ['an operation with a narrower constraint', update({ id: { lte: 5, gte: 1 } }), updates(id('EQ', 3)), undefined],
  ])('may grant only what it has itself: %s', async (_what, own, wanted, missing) => {
    const owner = await app.newKey()
    const key = await app.newScopedKey(owner, own)
    const other = await createKey(owner, { permissions: wanted })
    const before = (await list(owner)).length

    const created = await mutate(key, 'createApiKey', { permissions: wanted })
    const reset = await mutate(key, 'rotateApiKeySecret', { id: other.id })
    if (missing) {
      expect([created, reset]).toMatchObject([
        { code: 'FORBIDDEN', missing },
        { code: 'FORBIDDEN', missing },
      ])
      for (const name of missing) expect(created.message).toContain(name)
      expect(await list(owner)).toHaveLength(before)
      expect(await statusOf(other.secret)).not.toBe(401)
    } else {
      expect([created.code, reset.code]).toEqual([undefined, undefined])
      expect(await statusOf(other.secret)).toBe(401)
    }
    // Revoking a key grants nothing, so it is allowed.
    expect(await mutate(key, 'deleteApiKey', { id: other.id })).toEqual({ deletedId: other.id })
  })

  it('cannot create or reset a key that outlives it', async () => {
    const owner = await app.newKey()
    const { secret: key } = await createKey(owner, { expiresAt: inMs(60_000) })
    const lasting = await createKey(owner)
    expect(await mutate(key, 'createApiKey', {})).toMatchObject({ code: 'FORBIDDEN' })
    expect(await mutate(key, 'createApiKey', { expiresAt: inMs(60_001) })).toMatchObject({ code: 'FORBIDDEN' })
    expect(await mutate(key, 'rotateApiKeySecret', { id: lasting.id })).toMatchObject({ code: 'FORBIDDEN' })
    expect(await statusOf(lasting.secret)).toBe(200)
    const made = await createKey(key, { expiresAt: inMs(60_000) })
    expect((await mutate(key, 'rotateApiKeySecret', { id: made.id })).secret).toBeDefined()
  })

  it('gets no replay of a creation by a key with more permissions or a later expiry', async () => {
    const owner = await app.newKey()
    const input = { permissions: misc, idempotencyKey: 'one' }
    await mutate(owner, 'createApiKey', input)
    const narrow = await app.newScopedKey(owner, { api: { user_write: {} } })
    expect(await mutate(narrow, 'createApiKey', input)).toMatchObject({ code: 'FORBIDDEN', missing: ['MARKET_READ'] })
    const brief = await createKey(owner, { expiresAt: inMs(60_000) })
    expect(await mutate(brief.secret, 'createApiKey', input)).toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('a key that is reset', () => {
  it('gets a new secret, and its old secret is refused at once on every gateway', async () => {
    const owner = await app.newKey()
    const old = await createKey(owner, { name: 'ci', permissions: everyKindOfPermission })
    expect(await statusOf(old.secret)).toBe(200)
    const { apiKey, secret } = await mutate(owner, 'rotateApiKeySecret', { id: old.id })
    expect([apiKey.id, apiKey.name, apiKey.permissions.length, apiKey.lastUsedAt]).toEqual([old.id, 'ci', 5, null])
    expect(secret).toContain(`${apiKey.prefix}_`)
    expect((await list(owner))[0]).toEqual(apiKey)
    expect([await statusOf(old.secret), await statusOf(old.secret, otherApp)]).toEqual([401, 401])
    expect([await statusOf(secret as string), await statusOf(secret as string, otherApp)]).toEqual([200, 200])
  })

  it('may be the caller itself, even if user_write is its only permission', async () => {
    const owner = await app.newKey()
    const key = await app.newScopedKey(owner, { api: { user_write: {} } })
    const { secret } = await mutate(key, 'rotateApiKeySecret', { id: await idOf(key) })
    expect([await statusOf(key), await statusOf(secret as string)]).toEqual([401, 403])
  })

  it('is reset by the first of two concurrent requests, and does not authenticate the second', async () => {
    const key = await app.newKey()
    const id = await idOf(key)
    const resets = await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM accounts FOR NO KEY UPDATE')
      const requests = [mutate(key, 'rotateApiKeySecret', { id }), mutate(key, 'rotateApiKeySecret', { id }, otherApp)]
      await waitForLockWaiters(session, () => false, 2)
      await session.query('COMMIT')
      return await Promise.all(requests)
    })
    expect(resets.map(({ code }) => code).toSorted()).toEqual(['UNAUTHENTICATED', undefined])
    expect(await statusOf(resets.find(({ secret }) => secret)?.secret as string)).toBe(200)
  })

  it('is reset once for several requests with one idempotency key', async () => {
    const owner = await app.newKey()
    const { id } = await createKey(owner)
    const [first, second] = [
      await mutate(owner, 'rotateApiKeySecret', { id, idempotencyKey: 'r' }),
      await mutate(owner, 'rotateApiKeySecret', { id, idempotencyKey: 'r' }, otherApp),
    ]
    expect([first.replayed, second]).toEqual([false, { ...first, replayed: true }])
    expect(await statusOf(first.secret as string)).toBe(200)
    expect(await mutate(owner, 'rotateApiKeySecret', { id: await idOf(owner), idempotencyKey: 'r' })).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
    await mutate(owner, 'rotateApiKeySecret', { id })
    expect(await mutate(owner, 'rotateApiKeySecret', { id, idempotencyKey: 'r' })).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: expect.stringContaining(`API key ${id} no longer exists, or has another secret`),
    })
  })
})

describe('a key that is revoked', () => {
  it('is refused in every request that starts after the answer to the revocation, on every gateway', async () => {
    const owner = await app.newKey()
    for (const [here, there] of [
      [app, otherApp],
      [otherApp, app],
    ] as const) {
      const { id, secret } = await createKey(owner)
      expect(await statusOf(secret, there)).toBe(200)
      expect(await mutate(owner, 'deleteApiKey', { id }, here)).toEqual({ deletedId: id })
      expect([await statusOf(secret, there), await statusOf(secret, here)]).toEqual([401, 401])
      expect(await mutate(owner, 'deleteApiKey', { id }, there)).toMatchObject({ code: 'NOT_FOUND' })
      expect((await list(owner)).map((key: { id: string }) => key.id)).not.toContain(id)
    }
  })

  it('may be the caller itself, if the caller says so', async () => {
    const owner = await app.newKey()
    const { id, secret } = await createKey(owner)
    const message = 'must be true to delete the API key that sends this request: it is refused from then on.'
    const refused = { code: 'INVALID_INPUT', issues: [{ path: 'force', message }] }
    expect(await mutate(secret, 'deleteApiKey', { id })).toMatchObject(refused)
    expect(await statusOf(secret)).toBe(200)
    expect(await mutate(secret, 'deleteApiKey', { id, force: true })).toEqual({ deletedId: id })
    expect(await statusOf(secret)).toBe(401)
  })

  it("may be the account's last one with full access, if the caller says so", async () => {
    const owner = await app.newKey()
    const [id, expiring] = [await idOf(owner), await createKey(owner, { expiresAt: inMs(60_000) })]
    const permissions = [{ category: 'USER_WRITE' }]
    const scoped = (await createKey(owner, { permissions })).secret
    await app.sql(`UPDATE api_keys SET expires_at = '${inMs(-1)}' WHERE id = ${expiring.id.slice(4)}`)
    const message = expect.stringContaining("the account's last API key with full access")
    for (const by of [owner, scoped])
      expect(await mutate(by, 'deleteApiKey', { id })).toMatchObject({ issues: [{ path: 'force', message }] })
    expect(await mutate(scoped, 'deleteApiKey', { id, force: true })).toMatchObject({ deletedId: id })
    expect(await statusOf(owner)).toBe(401)
  })

  it('leaves one with full access if two delete each other at the same time', async () => {
    const one = await app.newKey()
    const other = await createKey(one)
    const answers = await Promise.all([
      mutate(one, 'deleteApiKey', { id: other.id }),
      mutate(other.secret, 'deleteApiKey', { id: await idOf(one) }, otherApp),
    ])
    expect(answers.filter(({ deletedId }) => deletedId !== undefined)).toHaveLength(1)
    expect([await statusOf(one), await statusOf(other.secret)].toSorted()).toEqual([200, 401])
  })

  it.each(['createApiKey', 'rotateApiKeySecret', 'deleteApiKey'] as const)(
    'during its own request to %s a key does nothing',
    async name => {
      const owner = await app.newKey()
      const [thief, other] = [await createKey(owner), await createKey(owner)]
      const before = await list(owner)
      const answer = await withSession(app.database.url, async session => {
        await session.query('BEGIN')
        await session.query(
          `SELECT FROM accounts WHERE id = (SELECT account_id FROM api_keys WHERE public_id = '${publicId(owner)}') FOR UPDATE`,
        )
        let done = false
        const asking = mutate(thief.secret, name, name === 'createApiKey' ? {} : { id: other.id }).finally(() => {
          done = true
        })
        await waitForLockWaiters(session, () => done)
        await session.query(`UPDATE api_keys SET revoked_at = now() WHERE public_id = '${publicId(thief.secret)}'`)
        await session.query('COMMIT')
        return await asking
      })
      expect(answer).toMatchObject({ code: 'UNAUTHENTICATED' })
      expect((await list(owner)).map((key: { id: string }) => key.id)).toEqual(
        before.map((key: { id: string }) => key.id).filter((id: string) => id !== thief.id),
      )
      expect(await statusOf(other.secret)).toBe(200)
    },
  )
})

describe('a creation with an idempotency key', () => {
  it('creates one key, and every concurrent request gets its secret', async () => {
    const owner = await app.newKey()
    const input = { name: 'once', permissions: everyKindOfPermission, expiresAt: inMs(3_600_000), idempotencyKey: 'k' }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => mutate(owner, 'createApiKey', input, index % 2 ? app : otherApp)),
    )
    expect(new Set(answers.map(({ secret }) => secret)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(new Set(answers.map(({ apiKey }) => JSON.stringify(apiKey))).size).toBe(1)
    expect(await statusOf(answers[0]?.secret as string)).toBe(200)
    expect(await list(owner)).toHaveLength(2)
  })

  it('shows the key in a repeated answer as it is now', async () => {
    const owner = await app.newKey()
    const input = { name: 'first', permissions: misc, idempotencyKey: 'k' }
    const first = await mutate(owner, 'createApiKey', input)
    const change = { id: first.apiKey.id, name: 'second', permissions: [], expiresAt: inMs(60_000) }
    await app.graphql(owner, 'mutation ($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { __typename } }', {
      input: change,
    })
    const { id, name, permissions, expiresAt } = change
    const again = await mutate(owner, 'createApiKey', input)
    expect(again).toMatchObject({ apiKey: { id, name, permissions, expiresAt }, secret: first.secret, replayed: true })
  })

  it.each<[string, (owner: string, id: string) => Promise<unknown>]>([
    ['was deleted', (owner, id) => mutate(owner, 'deleteApiKey', { id })],
    ['got another secret', (owner, id) => mutate(owner, 'rotateApiKeySecret', { id })],
    ['has expired', async () => app.clock.advance(60_001)],
  ])('is refused in a repeated request if the key %s since', async (_name, end) => {
    const owner = await app.newKey()
    const input = { permissions: misc, expiresAt: inMs(60_000), idempotencyKey: 'k' }
    const { id } = (await mutate(owner, 'createApiKey', input)).apiKey
    await end(owner, id)
    expect(await mutate(owner, 'createApiKey', input)).toEqual({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: `API key ${id} no longer exists, or has another secret than in the first answer to this request. To repeat the request, send a new idempotency key.`,
    })
  })

  it('does not show the secret to a key that may do less than the created key may now', async () => {
    const owner = await app.newKey()
    const narrow = await app.newScopedKey(owner, { api: { user_write: {}, misc: {} } })
    const input = { permissions: misc, idempotencyKey: 'k' }
    const { id } = (await mutate(narrow, 'createApiKey', input)).apiKey
    const change = {
      id,
      permissions: [{ category: 'MARKET_READ' }, { operation: { operation: 'ACCOUNT', constraints: [] } }],
    }
    await app.graphql(owner, 'mutation ($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { __typename } }', {
      input: change,
    })
    expect(await mutate(narrow, 'createApiKey', input)).toMatchObject({ code: 'FORBIDDEN', missing: ['ACCOUNT'] })
  })

  it('is refused for another input, and leaves the idempotency key free after a refusal', async () => {
    const owner = await app.newKey()
    expect(await mutate(owner, 'createApiKey', { expiresAt: inMs(0), idempotencyKey: 'k' })).toMatchObject({
      code: 'INVALID_INPUT',
    })
    await mutate(owner, 'createApiKey', { name: 'a', idempotencyKey: 'k' })
    for (const other of [{ name: 'b' }, { name: 'a', permissions: [] }, { name: 'a', expiresAt: inMs(9) }]) {
      const answer = await mutate(owner, 'createApiKey', { ...other, idempotencyKey: 'k' })
      expect(answer).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    }
    expect(await list(owner)).toHaveLength(2)
  })
})

it('every change of a key is recorded as an event with its author and the permissions of the key', async () => {
  const owner = await app.newKey()
  const { id } = await createKey(owner, { name: 'changed', permissions: [{ category: 'MARKET_READ' }] })
  await mutate(owner, 'rotateApiKeySecret', { id })
  await mutate(owner, 'deleteApiKey', { id })
  const rows = await app.sql(`SELECT kind, before, after, 'key_' || api_key_id AS by FROM events
    WHERE coalesce(before, after)->>'apiKeyId' = '${id.slice(4)}' AND kind LIKE 'API_KEY_%' ORDER BY id`)
  const facts = { apiKeyId: Number(id.slice(4)), name: 'changed', permissions: { api: { misc: {} } }, expiresAt: null }
  const by = await idOf(owner)
  expect(rows).toEqual([
    { kind: 'API_KEY_CREATED', before: null, after: facts, by },
    { kind: 'API_KEY_SECRET_ROTATED', before: null, after: facts, by },
    { kind: 'API_KEY_DELETED', before: facts, after: null, by },
  ])
})

describe('reading API keys', () => {
  it('takes one statement, and of each key only what is asked for', async () => {
    const owner = await app.newKey()
    const [own, other] = [await idOf(owner), (await createKey(owner)).id]
    const readsOf = async (query: string) => {
      const sent = await captureQueries(async () => {
        expect((await app.graphql(owner, query)).errors).toBeUndefined()
      })
      return sent.filter(text => /FROM "public"."api_keys"/.test(text))
    }
    const queries = [
      '{ viewer { apiKey { id prefix } } }',
      '{ viewer { account { apiKeys { id prefix } } } }',
      `{ nodes(ids: ["${own}", "${other}"]) { ... on ApiKey { id prefix } } }`,
      '{ events(filter: { kinds: [API_KEY_CREATED] }) { nodes { actor { ... on ApiKeyActor { apiKey { id prefix } } } } } }',
    ]
    for (const query of queries) {
      const reads = await readsOf(query)
      expect(reads, query).toHaveLength(1)
      expect(reads[0]).toContain('"public_id"')
      expect(reads[0]).not.toMatch(/SELECT.*("name"|"permissions"|"secret_hash"|"last_used_at").* FROM/)
    }
  })

  it('runs as many statements for 50 API keys with their spend limits as for one', async () => {
    const [few, many] = [await app.newKey(), await app.newKey()]
    for (let count = 1; count < 50; count += 1) await createKey(many)
    const query = '{ viewer { apiKey { name } account { email apiKeys { id name prefix spendLimits { id } } } } }'
    const statements = async (key: string, expected: number) => {
      await app.graphql(key, '{ viewer { apiKey { id } } }')
      const sent = await captureQueries(async () => {
        const { data, errors } = await app.graphql(key, query)
        expect([errors, data.viewer.account.apiKeys.length]).toEqual([undefined, expected])
      })
      // A new connection checks the server, which takes two statements.
      return sent.filter(text => !/pg_is_in_recovery|cluster FROM outbox/.test(text)).length
    }
    expect(await statements(many, 50)).toBe(await statements(few, 1))
  })
})

it('an account is read with one statement, and only what is asked for', async () => {
  const owner = await app.newKey()
  const { data } = await app.graphql(owner, '{ viewer { account { id } } }')
  const { id } = data.viewer.account
  for (const query of ['{ viewer { account { id name } } }', `{ node(id: "${id}") { ... on Account { id name } } }`]) {
    const sent = await captureQueries(() => app.graphql(owner, query))
    const reads = sent.filter(text => text.includes('"accounts"'))
    expect(reads, query).toHaveLength(1)
    expect(reads[0]).toContain('"name"')
    expect(reads[0]).not.toMatch(/email|posted_nanos/)
  }
})

it('an instance keeps running after the key that rented it is revoked', async () => {
  const owner = await app.newKey(null, someCredit)
  const { id, secret } = await createKey(owner)
  const rentals = rentalsOf(app)
  const instance = await rentals.rent(secret)
  await mutate(owner, 'deleteApiKey', { id })
  expect((await rentals.read(owner, instance)).intended_status).toBe('running')
})

it('no secret of a key is stored or logged as text, base64 or hex', async () => {
  expect(secrets.length).toBeGreaterThan(50)
  const tables = await app.sql(
    `SELECT query_to_xml(format('SELECT * FROM %I', relname), true, false, '') AS xml FROM pg_stat_user_tables`,
  )
  const stored = tables.map(row => (row as { xml: string }).xml).join('')
  expect(stored).toContain(publicId(secrets.at(-1) as string))
  const logged = JSON.stringify([app.logLines, otherApp.logLines])
  for (const secret of secrets.map(key => key.split('_')[2] as string)) {
    for (const form of [
      secret,
      Buffer.from(secret).toString('base64').slice(0, 50),
      Buffer.from(secret).toString('hex'),
    ])
      expect(stored.includes(form) || logged.includes(form)).toBe(false)
  }
})
