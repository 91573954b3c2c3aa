// Changes of API keys: what they keep, and that no key gets more than the key that changes it.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'
import { instanceApiKey } from '../../../src/services/accounts/api-keys/identity.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { subscribeSse } from '../../support/streams.ts'

let app: TestApp
/** A key with full access, and its account's second key. */
let owner: string
let worker: string
let workerId: string

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

beforeEach(async () => {
  owner = await app.newKey(null, someCredit)
  worker = await app.newScopedKey(owner, { api: { user_read: {}, instance_read: {} } })
  workerId = await idOf(worker)
})

const keyFields = 'id name prefix createdAt expiresAt permissions { category operation { operation } }'

// biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
async function update(key: string, id: string, changes: object = {}): Promise<any> {
  const query = `mutation ($input: UpdateApiKeyInput!) { updateApiKey(input: $input) {
    ... on UpdateApiKeySuccess { apiKey { ${keyFields} } } ... on Error { code message } ... on NotFoundError { id }
    ... on InvalidInputError { issues { path message } } } }`
  const { data, errors } = await app.graphql(key, query, { input: { id, ...changes } })
  const { code, missing } = errors?.[0]?.extensions ?? {}
  return errors ? { code, missing, message: errors[0]?.message } : (data.updateApiKey.apiKey ?? data.updateApiKey)
}

async function idOf(key: string): Promise<string> {
  const [row] = await app.sql(`SELECT id FROM api_keys WHERE public_id = '${key.split('_')[1]}'`)
  return `key_${(row as { id: number }).id}`
}

async function read(id: string) {
  return (await app.graphql(owner, `{ node(id: "${id}") { ... on ApiKey { ${keyFields} } } }`)).data.node
}

const inMs = (ms: number) => new Date(app.clock.now().getTime() + ms).toISOString()
const category = (name: string) => ({ category: name, operation: null })
const statusOf = async (key: string, path = '/instances/') => (await app.rest(key, 'GET', path)).status

describe('an API key that is changed', () => {
  it('keeps its secret, its id and what the request leaves out', async () => {
    const before = await read(workerId)
    expect(await update(owner, workerId, { name: 'night shift' })).toEqual({ ...before, name: 'night shift' })
    const expiresAt = inMs(60_000)
    expect(await update(owner, workerId, { expiresAt })).toEqual({ ...before, name: 'night shift', expiresAt })
    const after = await update(owner, workerId, { permissions: [{ category: 'USER_READ' }] })
    expect(after).toEqual({ ...before, name: 'night shift', expiresAt, permissions: [category('USER_READ')] })
    expect(await read(workerId)).toEqual(after)
    expect([await statusOf(worker), await statusOf(worker, '/users/current/')]).toEqual([403, 200])
    expect(await update(owner, workerId, { name: null, expiresAt: null })).toMatchObject({
      name: workerId,
      expiresAt: null,
    })
  })

  it('is recorded with what changed, and only if something changed', async () => {
    const events = async () => {
      const filter = `kinds: [API_KEY_UPDATED], subjectIds: ["${workerId}"]`
      const { data } = await app.graphql(
        owner,
        `{ events(first: 9, filter: { ${filter} }) { nodes { message actor { kind } changes { field before after } } } }`,
      )
      return data.events.nodes
    }
    const { permissions } = await read(workerId)
    await update(owner, workerId, {})
    await update(owner, workerId, {
      permissions: permissions.map(({ category }: { category: string }) => ({ category })),
    })
    expect(await events()).toEqual([])
    await update(owner, workerId, { name: 'new' })
    expect(await events()).toEqual([
      {
        message: 'API key "new" changed.',
        actor: { kind: 'API_KEY' },
        changes: [{ field: 'name', before: '', after: 'new' }],
      },
    ])
  })

  it('loses permissions for every request that is sent after the answer, and its streams end', async () => {
    const stream = await subscribeSse(app.fetch, worker, 'subscription { events { node { kind } } }')
    await expect.poll(() => app.countStreams()).toBe(1)
    await update(owner, workerId, { permissions: [{ category: 'INSTANCE_READ' }] })
    expect(await statusOf(worker, '/users/current/')).toBe(403)
    expect(JSON.stringify(await stream.readToEnd())).toContain('KEY_CHANGED')
  })

  it('keeps its streams when only its name changes', async () => {
    const stream = await subscribeSse(app.fetch, worker, 'subscription { events { node { kind } } }')
    await expect.poll(() => app.countStreams()).toBe(1)
    await update(owner, workerId, { name: 'new' })
    expect(JSON.stringify(await stream.next())).toContain('API_KEY_UPDATED')
    await stream.close()
  })

  it('expires when the change says', async () => {
    await update(owner, workerId, { expiresAt: inMs(60_000) })
    expect(await statusOf(worker)).toBe(200)
    app.clock.advance(60_000)
    expect(await statusOf(worker)).toBe(401)
    expect(await update(owner, workerId, { expiresAt: null })).toMatchObject({ code: 'NOT_FOUND', id: workerId })
  })
})

describe('a change of an API key', () => {
  it.each<[string, object, object[]]>([
    [
      'null permissions',
      { permissions: null },
      [{ path: 'permissions', message: 'cannot be removed. Leave it out to keep it.' }],
    ],
    ['a past expiry', { expiresAt: '2020-01-01T00:00:00Z' }, [{ path: 'expiresAt', message: 'is in the past.' }]],
    [
      'a long name and a repeated permission',
      { name: 'x'.repeat(257) },
      [{ path: 'name', message: 'must have at most 256 characters, not 257.' }],
    ],
    [
      'a constraint that the operation does not have',
      {
        permissions: [
          {
            operation: {
              operation: 'VOLUME',
              constraints: [{ parameter: 'size', operator: 'EQ', value: { number: 1 } }],
            },
          },
        ],
      },
      [
        {
          path: 'permissions.0.operation.constraints.0.parameter',
          message: expect.stringContaining('is not a parameter'),
        },
      ],
    ],
  ])('is refused with %s', async (_what, changes, issues) => {
    const before = await read(workerId)
    expect(await update(owner, workerId, { name: 'new', ...changes })).toMatchObject({ code: 'INVALID_INPUT', issues })
    expect(await read(workerId)).toEqual(before)
  })

  it('does not find a revoked key, an unknown key or a key of another account', async () => {
    const stranger = await app.newKey()
    const foreign = await update(stranger, workerId, { name: 'taken' })
    expect(foreign).toEqual({ code: 'NOT_FOUND', id: workerId, message: `API key ${workerId} not found.` })
    expect(await update(owner, 'key_987654321987', {})).toMatchObject({ code: 'NOT_FOUND' })
    await app.graphql(owner, `mutation { deleteApiKey(input: { id: "${workerId}" }) { __typename } }`)
    expect(await update(owner, workerId, { name: 'taken' })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await update(owner, 'ins_1', {})).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it('needs its permission, which can be for one key', async () => {
    const without = await app.newScopedKey(owner, { api: { user_read: {}, instance_write: {} } })
    expect(await update(without, workerId)).toMatchObject({ code: 'FORBIDDEN', missing: ['UPDATE_API_KEY'] })
    const constraints = { id: { eq: Number(workerId.slice(4)) } }
    const forOne = await app.newScopedKey(owner, { api: { user_write: { 'apiKeys.update': { constraints } } } })
    expect(await update(forOne, workerId, { name: 'new' })).toMatchObject({ name: 'new' })
    expect(await update(forOne, await idOf(owner), { name: 'new' })).toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('a key that changes another key', () => {
  const cases: [string, Permissions, object, string[] | undefined][] = [
    [
      'a category that it lacks',
      { api: { user_write: {} } },
      { permissions: [{ category: 'INSTANCE_WRITE' }] },
      ['INSTANCE_WRITE'],
    ],
    [
      'the expiry of a key with more permissions',
      { api: { user_write: {} } },
      { expiresAt: null },
      ['USER_READ', 'INSTANCE_READ'],
    ],
    ['its own category', { api: { user_write: {} } }, { permissions: [{ category: 'USER_WRITE' }] }, undefined],
    ['fewer permissions', { api: { user_write: {} } }, { permissions: [] }, undefined],
    ['the name of a key with more permissions', { api: { user_write: {} } }, { name: 'new' }, undefined],
  ]
  it.each(cases)('may give only what it has itself: %s', async (_what, own, changes, missing) => {
    const key = await app.newScopedKey(owner, own)
    const before = await read(workerId)
    const answer = await update(key, workerId, changes)
    if (missing) expect(answer).toMatchObject({ code: 'FORBIDDEN', missing })
    else expect(answer.code).toBeUndefined()
    if (missing) expect(await read(workerId)).toEqual(before)
  })

  it('cannot let it live longer than itself', async () => {
    const brief = await app.newScopedKey(owner, { api: { user_read: {}, user_write: {}, instance_read: {} } })
    await update(owner, await idOf(brief), { expiresAt: inMs(60_000) })
    const message = `This key expires at ${(await read(await idOf(brief))).expiresAt}, so it cannot change a key that expires later or never.`
    expect(await update(brief, workerId, { expiresAt: inMs(60_001) })).toMatchObject({ code: 'FORBIDDEN', message })
    expect(await update(brief, workerId, { permissions: [] })).toMatchObject({ code: 'FORBIDDEN', message })
    const expiresAt = inMs(59_000)
    expect(await update(brief, workerId, { expiresAt, permissions: [] })).toMatchObject({ expiresAt, permissions: [] })
  })

  it('may not do so with a spend limit, but may narrow itself', async () => {
    const limited = await app.newScopedKey(owner, {
      api: { user_read: {}, user_write: {}, instance_read: {}, instance_write: {} },
    })
    const id = await idOf(limited)
    await limitsOf(app).create(owner, { apiKeyId: id, window: 'DAY', amount: '1' })
    const refused = await update(limited, workerId, { permissions: [{ category: 'INSTANCE_WRITE' }] })
    expect(refused).toMatchObject({
      code: 'FORBIDDEN',
      message: 'This API key has a spend limit, so it cannot change other keys. Use a key without a limit.',
    })
    expect(await update(limited, workerId, { name: 'new' })).toMatchObject({ code: 'FORBIDDEN' })
    expect(await update(limited, id, { permissions: [{ category: 'USER_READ' }] })).toMatchObject({ id })
  })

  it('is refused if it was narrowed while it waited, and so is every other change of keys', async () => {
    const narrowed = await app.newScopedKey(owner, { api: { user_write: {}, instance_write: {} } })
    const permissions = [{ category: 'INSTANCE_WRITE' }]
    const create = `mutation { createApiKey(input: { permissions: [{ category: INSTANCE_WRITE }] }) { __typename } }`
    const other = await idOf(await app.newScopedKey(owner, { api: { instance_write: {} } }))
    const rotate = `mutation { rotateApiKeySecret(input: { id: "${other}" }) { __typename } }`
    const codes = await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM accounts FOR NO KEY UPDATE')
      const requests = [
        update(narrowed, workerId, { permissions }).then(({ code }) => code),
        ...[create, rotate].map(async query => (await app.graphql(narrowed, query)).errors?.[0]?.extensions['code']),
      ]
      await waitForLockWaiters(session, () => false, 3)
      await session.query(`UPDATE api_keys SET permissions = '{"api": {"user_write": {}}}' WHERE public_id = $1`, [
        narrowed.split('_')[1],
      ])
      await session.query('COMMIT')
      return await Promise.all(requests)
    })
    expect(codes).toEqual(['FORBIDDEN', 'FORBIDDEN', 'FORBIDDEN'])
  })
})

describe('a key that changes itself', () => {
  it('can give up permissions and expire earlier, but gets nothing back', async () => {
    const self = await app.newScopedKey(owner, { api: { user_read: {}, user_write: {}, instance_read: {} } })
    const id = await idOf(self)
    const permissions = [{ category: 'USER_READ' }, { category: 'USER_WRITE' }]
    expect(await update(self, id, { permissions })).toMatchObject({
      permissions: permissions.map(({ category: name }) => category(name)),
    })
    const wider = [...permissions, { category: 'INSTANCE_READ' }]
    expect(await update(self, id, { permissions: wider })).toMatchObject({
      code: 'FORBIDDEN',
      missing: ['INSTANCE_READ'],
    })
    expect(await update(self, id, { expiresAt: inMs(60_000) })).toMatchObject({ id })
    expect(await update(self, id, { expiresAt: null })).toMatchObject({ code: 'FORBIDDEN' })
    expect(await update(self, id, { expiresAt: inMs(60_001) })).toMatchObject({ code: 'FORBIDDEN' })
    expect(await update(self, id, { expiresAt: inMs(50_000) })).toMatchObject({ id })
    expect(await update(self, id, { permissions: [{ category: 'USER_READ' }] })).toMatchObject({ id })
    expect(await update(self, id, { name: 'locked out' })).toMatchObject({
      code: 'FORBIDDEN',
      missing: ['UPDATE_API_KEY'],
    })
  })
})

describe('the key of an instance', () => {
  it('changes no API key, and ends with the new expiry of the key that rented the instance', async () => {
    const rentals = rentalsOf(app)
    const renter = await app.newScopedKey(owner, { api: { instance_read: {}, instance_write: {} } })
    const id = await rentals.rent(renter)
    const secrets = createSecrets('a secret of tests')
    const key = instanceApiKey(secrets, BigInt(id))
    expect(await update(key, await idOf(renter), { name: 'taken' })).toMatchObject({ code: 'FORBIDDEN' })
    const stop = async () => (await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })).status
    await update(owner, await idOf(renter), { permissions: [], expiresAt: inMs(60_000) })
    expect(await stop()).toBe(200)
    app.clock.advance(60_000)
    expect(await stop()).toBe(401)
  })
})
