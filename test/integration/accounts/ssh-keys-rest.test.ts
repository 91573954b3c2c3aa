// SSH keys over REST: registration, replacement and instances.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const register = async (text: string, by = key): Promise<number> => {
  const { status, body } = await app.rest(by, 'POST', '/ssh/', { ssh_key: aPublicKey(text) })
  expect(status).toBe(200)
  return body.key.id
}
/** The keys that can log in to the container of an instance. */
const keysInContainer = async (id: number) => {
  await rentals.converge()
  const [row] = await app.sql(`SELECT ssh_keys FROM simulated_containers WHERE instance_id = ${id}`)
  return (row as { ssh_keys: string[] }).ssh_keys
}
const listedKeys = async (id: number) => {
  const { body } = await app.rest(key, 'GET', `/instances/${id}/ssh/`)
  expect(body).toEqual({ success: true, ssh_keys: expect.any(String) })
  return (JSON.parse(body.ssh_keys) as { id: number }[]).map(row => row.id)
}

describe('the keys of an account', () => {
  it('are a top-level list, with the key under both names that clients read', async () => {
    const by = await app.newKey()
    expect((await app.rest(by, 'GET', '/ssh/')).body).toEqual([])
    const line = aPublicKey('listed')
    const { body } = await app.rest(by, 'POST', '/ssh', { ssh_key: `${line} me@home\n` })
    const row = {
      id: expect.any(Number),
      user_id: expect.any(Number),
      name: 'me@home',
      public_key: line,
      ssh_key: line,
      fingerprint: expect.stringMatching(/^SHA256:/),
      created_at: app.clock.now().getTime() / 1000,
      deleted_at: null,
      default: null,
      private_key: null,
    }
    expect(body).toEqual({ success: true, key: row })
    expect((await app.rest(by, 'GET', '/ssh')).body).toEqual([body.key])
    expect((await app.rest(by, 'GET', '/users/current')).body).toMatchObject({ id: body.key.user_id, ssh_key: line })
  })

  it('contain each key once', async () => {
    await register('twice')
    const { status, body } = await app.rest(key, 'POST', '/ssh/', { ssh_key: aPublicKey('twice') })
    const msg = 'The SSH key already exists on this account'
    expect([status, body]).toEqual([400, { success: false, error: 'duplicate', msg }])
  })

  it.each([
    [{}, 'ssh_key: is required.'],
    [{ ssh_key: null }, 'ssh_key: is required.'],
    [{ ssh_key: 7 }, 'ssh_key: must be a string.'],
    [{ ssh_key: 'ssh-ed25519 AAAA' }, 'ssh_key: is damaged or cut off: send the whole line.'],
  ])('are not registered from the body %j', async (body, msg) => {
    const answer = await app.rest(key, 'POST', '/ssh/', body)
    expect([answer.status, answer.body]).toEqual([400, { success: false, error: 'invalid_args', msg }])
  })

  it('are deleted, with an empty body and a JSON content type', async () => {
    const id = await register('deleted')
    expect((await app.rest(key, 'DELETE', `/ssh/${id}`)).body).toEqual({ success: true })
    const again = await app.rest(key, 'DELETE', `/ssh/${id}/`, {})
    expect([again.status, again.body.error]).toEqual([404, 'not_found'])
  })

  it('are limited to 100 per account', async () => {
    const by = await app.newKey()
    await register('the first of many', by)
    await app.sql(`INSERT INTO ssh_keys (account_id, name, public_key, fingerprint, created_at)
      SELECT account_id, '', '', i::text, created_at FROM ssh_keys, generate_series(1, 99) i
      WHERE id = (SELECT max(id) FROM ssh_keys)`)
    const { status, body } = await app.rest(by, 'POST', '/ssh/', { ssh_key: aPublicKey('one too many') })
    expect([status, body.error]).toEqual([409, 'conflict'])
  })
})

describe('a key that is replaced', () => {
  it('keeps its id, and its new public key takes the place of the old one in containers', async () => {
    const id = await register('old')
    const instance = await rentals.rent(key)
    expect(await keysInContainer(instance)).toContain(aPublicKey('old'))
    const { body } = await app.rest(key, 'PUT', `/ssh/${id}/`, { id, ssh_key: aPublicKey('new') })
    expect(body).toMatchObject({ success: true, key: { id, public_key: aPublicKey('new') } })
    const inside = await keysInContainer(instance)
    expect([inside.includes(aPublicKey('old')), inside.includes(aPublicKey('new'))]).toEqual([false, true])
    expect(await listedKeys(instance)).toContain(id)
    const { data } = await app.graphql(key, '{ events(filter: { kinds: [SSH_KEY_UPDATED] }) { nodes { message } } }')
    expect(data.events.nodes).toEqual([{ message: 'SSH key replaced.' }])
  })

  it('stays in a virtual machine, which keeps its keys', async () => {
    const id = await register('of a machine')
    const instance = await rentals.rent(key, { vm: true }, { vmsEnabled: true })
    await app.rest(key, 'PUT', `/ssh/${id}/`, { ssh_key: aPublicKey('of no machine') })
    const inside = await keysInContainer(instance)
    expect(inside).toContain(aPublicKey('of a machine'))
    expect(inside).not.toContain(aPublicKey('of no machine'))
    const rows = (await app.rest(key, 'GET', '/ssh/')).body as { id: number; public_key: string }[]
    expect(rows.find(row => row.id === id)?.public_key).toBe(aPublicKey('of no machine'))
    expect(rows.map(row => row.public_key)).not.toContain(aPublicKey('of a machine'))
  })

  it('has no new event when its new public key equals the old one', async () => {
    const id = await register('same')
    const [before] = await app.sql('SELECT count(*) FROM events')
    const { status } = await app.rest(key, 'PUT', `/ssh/${id}/`, { ssh_key: aPublicKey('same') })
    expect([status, await app.sql('SELECT count(*) FROM events')]).toEqual([200, [before]])
  })

  it('cannot become a key that the account has already, and must belong to the account', async () => {
    const [id] = [await register('one'), await register('other')]
    const { status, body } = await app.rest(key, 'PUT', `/ssh/${id}/`, { ssh_key: aPublicKey('other') })
    expect([status, body.error]).toEqual([400, 'duplicate'])
    const missing = await app.rest(key, 'PUT', '/ssh/987654321/', { ssh_key: aPublicKey('nobody') })
    const msg = 'The SSH key does not exist on this account'
    expect([missing.status, missing.body]).toEqual([404, { success: false, error: 'not_found', msg }])
  })
})

describe('the keys of an instance', () => {
  it('include a key of the account once a client adds it', async () => {
    const instance = await rentals.rent(key)
    const id = await register('later')
    expect(await listedKeys(instance)).not.toContain(id)
    const { body } = await app.rest(key, 'POST', `/instances/${instance}/ssh/`, { ssh_key: aPublicKey('later') })
    expect(body).toEqual({ success: true, msg: 'SSH key added to instance.', key: expect.any(String) })
    expect(JSON.parse(body.key)).toMatchObject({ id, public_key: aPublicKey('later') })
    expect(await listedKeys(instance)).toContain(id)
    expect(await keysInContainer(instance)).toContain(aPublicKey('later'))
    const again = await app.rest(key, 'POST', `/instances/${instance}/ssh`, { ssh_key: aPublicKey('later') })
    const msg = 'SSH key already associated with instance.'
    expect([again.status, again.body]).toEqual([200, { success: false, error: 'already_associated', msg }])
  })

  it('include an added key that was not registered: adding the key registers it', async () => {
    const instance = await rentals.rent(key)
    await app.rest(key, 'POST', `/instances/${instance}/ssh/`, { ssh_key: aPublicKey('nowhere') })
    expect(await keysInContainer(instance)).toContain(aPublicKey('nowhere'))
    const { body } = await app.rest(key, 'GET', '/ssh/')
    expect(body.at(-1).public_key).toBe(aPublicKey('nowhere'))
  })

  it('include an added key that another account has too, under a separate id', async () => {
    const theirs = await register('shared', await app.newKey())
    const instance = await rentals.rent(key)
    const { body } = await app.rest(key, 'POST', `/instances/${instance}/ssh/`, { ssh_key: aPublicKey('shared') })
    expect(body).toMatchObject({ success: true })
    const { id } = JSON.parse(body.key)
    expect(id).not.toBe(theirs)
    expect(await listedKeys(instance)).toContain(id)
  })

  it('include no new key from a caller that may not register keys', async () => {
    const instance = await rentals.rent(key)
    const scoped = await app.newScopedKey(key, { api: { instance_write: {} } })
    const add = (text: string) => app.rest(scoped, 'POST', `/instances/${instance}/ssh/`, { ssh_key: aPublicKey(text) })
    await register('of the account')
    expect((await add('of the account')).status).toBe(200)
    const { status, body } = await add('of a stranger')
    expect([status, body.error, body.msg]).toEqual([403, 'forbidden', expect.stringContaining('user_write')])
    expect(await keysInContainer(instance)).not.toContain(aPublicKey('of a stranger'))
  })

  it('no longer include a removed key', async () => {
    const id = await register('taken')
    const instance = await rentals.rent(key)
    const { body } = await app.rest(key, 'DELETE', `/instances/${instance}/ssh/${id}/`)
    expect(body).toEqual({ success: true, msg: 'SSH key removed from instance.' })
    expect(await keysInContainer(instance)).not.toContain(aPublicKey('taken'))
    for (const missing of [id, 987_654_321]) {
      const answer = await app.rest(key, 'DELETE', `/instances/${instance}/ssh/${missing}`)
      const failure = { success: false, error: 'no_such_ssh_key', msg: 'SSH key not found.' }
      expect([answer.status, answer.body]).toEqual([404, failure])
    }
  })

  it.each([{}, { ssh_key: null }, { ssh_key: '' }])('are not changed by %j', async body => {
    const instance = await rentals.rent(key)
    const answer = await app.rest(key, 'POST', `/instances/${instance}/ssh/`, body)
    const failure = { success: false, error: 'no_ssh_key', msg: 'No ssh key provided to add to instance.' }
    expect([answer.status, answer.body]).toEqual([400, failure])
  })

  it('are refused when the instance does not exist, was destroyed, or takes no keys', async () => {
    const gone = await rentals.rent(key)
    await app.rest(key, 'DELETE', `/instances/${gone}/`)
    for (const id of [gone, 987_654_321]) {
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['DELETE', '1/'],
      ] as const) {
        const body = method === 'POST' ? { ssh_key: aPublicKey('later') } : undefined
        const answer = await app.rest(key, method, `/instances/${id}/ssh/${path}`, body)
        expect([answer.status, answer.body]).toMatchObject([404, { error: 'no_such_instance', instances: null }])
      }
    }
    const closed = await rentals.rent(key, { runtype: 'args' })
    const { status, body } = await app.rest(key, 'POST', `/instances/${closed}/ssh/`, { ssh_key: aPublicKey('later') })
    expect([status, body.error]).toEqual([400, 'invalid_state'])
  })
})
