import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PermissionCategory, Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'
import { categoryName } from '../../../src/graphql/accounts/operation-names.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'

let app: TestApp

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

const viewer = async (key: string | undefined) => {
  const [rest, graphql] = [
    await app.rest(key, 'GET', '/users/current/'),
    await app.graphql(key, '{ viewer { account { id } } }'),
  ]
  return { rest, graphql }
}

describe('a request', () => {
  it('without a key is refused on both faces', async () => {
    const { rest, graphql } = await viewer(undefined)
    const message = 'An API key is required: send the header "Authorization: Bearer KEY".'
    expect([rest.status, rest.body]).toEqual([401, { success: false, error: 'auth_error', msg: message }])
    expect(graphql).toEqual({
      status: 401,
      data: undefined,
      errors: [{ message, extensions: { code: 'UNAUTHENTICATED', retry: 'AFTER_FIX' } }],
    })
  })

  it.each([
    ['malformed', 'nonsense'],
    ['unknown', `berth_${'a'.repeat(12)}_${'b'.repeat(40)}`],
  ])('with a key that is %s is refused on both faces', async (_what, key) => {
    const { rest, graphql } = await viewer(key)
    expect([rest.status, rest.body]).toEqual([401, { success: false, error: 'auth_error', msg: 'Invalid user key' }])
    expect(graphql).toMatchObject({ status: 401, errors: [{ message: 'The API key is unknown, expired or revoked.' }] })
  })

  it('with one wrong character in the secret is refused', async () => {
    const key = await app.newKey()
    const { rest } = await viewer(`${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`)
    expect(rest.status).toBe(401)
  })

  it.each(['bearer', 'BEARER', 'Bearer '])('may spell the scheme as "%s"', async scheme => {
    const key = await app.newKey()
    const request = new Request('http://berth.test/api/v0/users/current/', {
      headers: { authorization: `${scheme} ${key}` },
    })
    expect((await app.fetch(request)).status).toBe(200)
  })

  it.each(['Basic', 'Token', ''])('may not use the scheme "%s"', async scheme => {
    const key = await app.newKey()
    const request = new Request('http://berth.test/api/v0/users/current/', {
      headers: { authorization: `${scheme} ${key}` },
    })
    expect((await app.fetch(request)).status).toBe(401)
  })

  it('may carry the key in the URL over REST only, and the log omits it', async () => {
    const key = await app.newKey()
    expect((await app.rest(undefined, 'GET', `/users/current?api_key=${key}`)).status).toBe(200)
    const graphql = await app.fetch(new Request(`http://berth.test/graphql?query={viewer{account{id}}}&api_key=${key}`))
    expect(graphql.status).toBe(401)
    expect(JSON.stringify(app.logLines)).not.toContain(key)
    expect(JSON.stringify(app.logLines)).toContain('/users/current')
  })
})

describe('a key', () => {
  const publicIdOf = (key: string) => key.split('_')[1]

  it('is refused by every gateway once it is revoked', async () => {
    const key = await app.newKey()
    const other = await startApp({ databaseUrl: app.database.url })
    expect((await other.rest(key, 'GET', '/users/current/')).status).toBe(200)
    await app.sql(`UPDATE api_keys SET revoked_at = now() WHERE public_id = '${publicIdOf(key)}'`)
    expect((await viewer(key)).rest.status).toBe(401)
    expect((await other.rest(key, 'GET', '/users/current/')).status).toBe(401)
    await other.close()
  })

  it('is refused from the instant it expires', async () => {
    const { account } = await app.operations.accounts.create({ email: 'expiring@example.com' })
    const expiresAt = new Date(app.clock.now().getTime() + 1_000)
    const { apiKey } = await app.operations.accounts.createApiKey(account.email, { permissions: null, expiresAt })
    app.clock.advance(999)
    expect((await viewer(apiKey)).rest.status).toBe(200)
    app.clock.advance(1)
    expect((await viewer(apiKey)).rest.status).toBe(401)
  })

  it('records its last use at most once a minute', async () => {
    const key = await app.newKey()
    const lastUse = async () => {
      await viewer(key)
      const [row] = await app.sql(`SELECT last_used_at FROM api_keys WHERE public_id = '${publicIdOf(key)}'`)
      return (row as { last_used_at: Date }).last_used_at.getTime()
    }
    const first = await lastUse()
    expect(first).toBe(app.clock.now().getTime())
    app.clock.advance(60_000)
    expect(await lastUse()).toBe(first)
    app.clock.advance(1)
    expect(await lastUse()).toBe(first + 60_001)
  })

  it('costs at most one statement per request after its use was recorded', async () => {
    const key = await app.newKey()
    await viewer(key)
    const statements = await captureStatements(() => app.graphql(key, '{ viewer { account { id } } }'))
    const ofKeys = statements.filter(({ text }) => text.includes('api_keys'))
    expect(ofKeys.length).toBeLessThanOrEqual(1)
    expect(ofKeys.filter(({ text }) => !text.includes('SELECT'))).toEqual([])
  })

  it('is stored only as a hash', async () => {
    const key = await app.newKey()
    const rows = await app.sql(`SELECT to_jsonb(api_keys) AS row FROM api_keys`)
    expect(JSON.stringify(rows)).toContain(publicIdOf(key))
    expect(JSON.stringify(rows)).not.toContain(key.split('_')[2])
  })
})

describe('a scoped key', () => {
  /** Queries and routes, with the permission that each needs. */
  const requests: [
    graphql: string,
    rest: [method: string, path: string] | undefined,
    category: PermissionCategory,
    operation: string,
  ][] = [
    ['{ viewer { account { id } } }', ['GET', '/users/current/'], 'user_read', 'ACCOUNT'],
    ['{ offers(first: 1) { nodes { id } } }', ['POST', '/bundles/'], 'misc', 'OFFERS'],
    ['{ offers(first: 1) { totalCount } }', ['GET', '/bundles/?q={}'], 'misc', 'OFFERS'],
    ['{ offer(id: 1) { id } }', ['PUT', '/search/asks/'], 'misc', 'OFFER'],
    ['{ gpuModels { id } }', undefined, 'misc', 'GPU_MODELS'],
    ['{ node(id: "off_1") { id } }', undefined, 'misc', 'OFFER'],
    ['{ node(id: "mch_1") { id } }', undefined, 'misc', 'MACHINE'],
    ['{ node(id: "gpu_1") { id } }', undefined, 'misc', 'GPU_MODELS'],
  ]

  it.each(requests)('may request %s only with the required permission', async (query, route, category, operation) => {
    const without: Permissions = { api: category === 'misc' ? { user_read: {}, user_write: {} } : { misc: {} } }
    const [may, mayNot] = [await app.newKey({ api: { [category]: {} } }), await app.newKey(without)]

    const granted = await app.graphql(may, query)
    expect([granted.status, granted.errors]).toEqual([200, undefined])
    const refused = await app.graphql(mayNot, query)
    expect(refused.errors).toEqual([
      expect.objectContaining({
        message: `This key may not do this: it lacks the permission ${operation} of the category ${categoryName(category)}.`,
        extensions: { code: 'FORBIDDEN', retry: 'AFTER_FIX', missing: [operation] },
      }),
    ])

    if (route === undefined) return
    const [method, path] = route
    expect((await app.rest(may, method, path)).status).toBe(200)
    const answer = await app.rest(mayNot, method, path)
    expect(answer).toMatchObject({ status: 403, body: { success: false, error: 'forbidden' } })
    expect(answer.body.msg).toContain(`lacks the permission ${category}`)
  })

  it('gets null and 200 for a refused field, with and without a granted one', async () => {
    const key = await app.newKey({ api: { user_read: {} } })
    expect(await app.graphql(key, '{ offers { totalCount } }')).toMatchObject({
      status: 200,
      data: { offers: null },
      errors: [{ path: ['offers'], extensions: { code: 'FORBIDDEN' } }],
    })
    const mixed = await app.graphql(key, '{ offer(id: 1) { id } viewer { account { id } } }')
    expect(mixed).toMatchObject({
      status: 200,
      data: { offer: null, viewer: { account: {} } },
      errors: [{ extensions: { code: 'FORBIDDEN' } }],
    })
  })

  it('is refused for a missing permission before the input is parsed', async () => {
    const key = await app.newKey({ api: { misc: {} } })
    const forbidden = { status: 403, body: { error: 'forbidden' } }
    expect(await app.rest(key, 'PUT', '/asks/1/', '{')).toMatchObject(forbidden)
    expect(await app.rest(key, 'DELETE', '/instances/abc/')).toMatchObject(forbidden)
  })

  it('reads that it violates a constraint, not that a permission is missing', async () => {
    const rent = { 'instances.rent': { constraints: { offerId: { lte: 5 } } } }
    const key = await app.newKey({ api: { instance_write: rent } })
    const { status, body } = await app.rest(key, 'PUT', '/asks/6/', { image: 'ubuntu' })
    expect([status, body.msg]).toEqual([
      403,
      expect.stringMatching(
        /instance_write has constraints for instances.rent that .* not meet: offerId must be at most 5\.$/,
      ),
    ])
    expect((await app.rest(key, 'PUT', '/asks/5/', { image: 'ubuntu' })).status).toBe(404)
  })

  it('is refused on both faces when it has no permissions', async () => {
    const { rest, graphql } = await viewer(await app.newKey({ api: {} }))
    expect(rest.status).toBe(403)
    expect(graphql).toMatchObject({
      status: 200,
      data: { viewer: { account: null } },
      errors: [{ path: ['viewer', 'account'], extensions: { code: 'FORBIDDEN' } }],
    })
  })
})

it('the message for a far too long email address does not repeat the address', async () => {
  const refused = app.operations.accounts.create({ email: `a@${'b'.repeat(5_000)}` })
  await expect(refused).rejects.toThrow(/^email: has more than 254 characters\.$/)
})
