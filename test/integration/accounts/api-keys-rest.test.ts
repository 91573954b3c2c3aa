// API keys over REST: creation, reset and deletion.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
})

afterAll(() => app.close())

const permissions = { api: { misc: {}, user_read: {}, user_write: {} } }
const create = (body: object, by = key, headers = {}) => app.rest(by, 'POST', '/auth/apikeys/', body, headers)
const works = async (secret: string) => (await app.rest(secret, 'GET', '/users/current')).status === 200

describe('an API key over REST', () => {
  it('is shown once and has the permissions that it was created with', async () => {
    const { status, body } = await create({ name: 'ci', permissions, key_params: null })
    const created = { id: expect.any(Number), key: expect.stringMatching(/^berth_/), name: 'ci', permissions }
    expect([status, body]).toEqual([200, { success: true, ...created, created_at: app.clock.now().getTime() / 1000 }])
    expect((await app.rest(body.key, 'GET', '/users/current')).status).toBe(200)
    expect((await app.rest(body.key, 'GET', '/instances/')).status).toBe(403)

    const { body: list } = await app.rest(key, 'GET', '/auth/apikeys')
    const row = {
      ...{ id: body.id, user_id: expect.any(Number), key: null, key_type: 'api', name: 'ci', permissions },
      ...{ created_at: body.created_at, expires_at: null, last_used: body.created_at },
      ...{ team_id: null, team_name: null, team_owner: null },
    }
    expect(list.apikeys[0]).toEqual(row)
    expect((await app.rest(key, 'GET', `/auth/apikeys/${body.id}`)).body).toEqual(row)
    expect(JSON.stringify(list)).not.toContain(body.key.split('_')[2])
  })

  it.each([{}, { permissions: null }])('has full access if created with %j, as REST clients expect', async input => {
    const { body: made } = await create({ name: 'all', ...input })
    expect([made.permissions, await works(made.key)]).toEqual([null, true])
  })

  it('cannot create a key with more permissions than it has', async () => {
    const { body: narrow } = await create({ name: 'narrow', permissions })
    const { status, body } = await create({ name: 'wide' }, narrow.key)
    expect([status, body.error]).toEqual([403, 'forbidden'])
    expect((await create({ name: 'same', permissions }, narrow.key)).status).toBe(200)
  })

  it.each([
    [{ name: 7 }, 'name: must be a string.'],
    [{ name: 'x'.repeat(257) }, 'name: must have at most 256 characters, not 257.'],
    [{ permissions: {} }, 'permissions: must have the key "api"'],
    [{ permissions: 'all' }, 'permissions: must be an object.'],
    [{ permissions: '' }, 'permissions: must be an object.'],
    [{ permissions: { api: { everything: {} } } }, 'permissions.api.everything'],
  ])('is not created from the body %j', async (body, msg) => {
    const answer = await create(body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_args'])
    expect(answer.body.msg).toContain(msg)
  })

  it('is created once per Idempotency-Key', async () => {
    const [one, other] = [
      await create({ name: 'once', permissions }, key, { 'idempotency-key': 'k1' }),
      await create({ name: 'once', permissions }, key, { 'idempotency-key': 'k1' }),
    ]
    expect(other.body).toEqual(one.body)
    const { status, body } = await create({ name: 'twice', permissions }, key, { 'idempotency-key': 'k1' })
    expect([status, body.error]).toEqual([422, 'idempotency_key_reused'])
  })

  it('is deleted, and the answer is a string', async () => {
    const { body: made } = await create({ name: 'deleted' })
    const { status, body } = await app.rest(key, 'DELETE', `/auth/apikeys/${made.id}/`, {})
    expect([status, body, await works(made.key)]).toEqual([200, 'Successfully Deleted API Key', false])
    for (const method of ['GET', 'DELETE']) {
      const again = await app.rest(key, method, `/auth/apikeys/${made.id}`)
      const failure = { success: false, error: 'not_found', msg: 'API Key not found.' }
      expect([again.status, again.body]).toEqual([404, failure])
    }
  })

  it("deletes itself, but only with force if it is the account's last one with full access", async () => {
    const owner = await app.newKey()
    const { body: made } = await create({ name: 'second' }, owner)
    expect((await app.rest(made.key, 'DELETE', `/auth/apikeys/${made.id}/`)).status).toBe(200)
    const { body: list } = await app.rest(owner, 'GET', '/auth/apikeys/')
    const path = `/auth/apikeys/${list.apikeys[0].id}/`
    const { status, body } = await app.rest(owner, 'DELETE', path)
    const msg = expect.stringMatching(/^You cannot delete your primary key: .* add force=true\.$/)
    expect([status, body, await works(owner)]).toEqual([400, { success: false, error: 'invalid_args', msg }, true])
    expect((await app.rest(owner, 'DELETE', `${path}?force=true`)).status).toBe(200)
    expect(await works(owner)).toBe(false)
  })

  it('resets itself and no other key', async () => {
    const [one, other] = [await create({ name: 'one', permissions }), await create({ name: 'other', permissions })]
    const { status, body } = await app.rest(one.body.key, 'PUT', '/commands/reset_apikey/', { client_id: 'me' })
    expect([status, body]).toEqual([200, { success: true, id: one.body.id, key: expect.stringMatching(/^berth_/) }])
    expect([await works(one.body.key), await works(body.key), await works(other.body.key)]).toEqual([false, true, true])
  })

  it('resets itself only with the permission for it', async () => {
    const { body: reader } = await create({ name: 'reader', permissions: { api: { user_read: {} } } })
    const { status } = await app.rest(reader.key, 'PUT', '/commands/reset_apikey/', {})
    expect([status, await works(reader.key)]).toEqual([403, true])
  })

  it('is not found by DELETE, and is invalid for GET, with an id beyond the range of key ids', async () => {
    const { status, body } = await app.rest(key, 'DELETE', `/auth/apikeys/${'9'.repeat(18)}/`)
    expect([status, body.error]).toEqual([404, 'not_found'])
    expect((await app.rest(key, 'GET', `/auth/apikeys/${'9'.repeat(18)}/`)).status).toBe(400)
  })
})
