// One test per row of the specification's tables of endpoints and of authentication.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp({ publicSearch: false })
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const updateInBulk = (body: object) => app.rest(key, 'PUT', '/instances/', body)
const search = async (body: object) => (await app.rest(key, 'POST', '/bundles/', body)).body.offers
const readIntendedStatus = async (id: number) => (await rentals.read(key, id)).intended_status

describe('1. Update instances in bulk', () => {
  it('ids: an array of integers', async () => {
    const ids = [await rentals.rent(key), await rentals.rent(key)]
    expect(await updateInBulk({ ids, state: 'stopped' })).toMatchObject({ status: 200, body: { success: true } })
    for (const wrong of [['one'], [1.5], 1, 'all', { 0: 1 }])
      expect(await updateInBulk({ ids: wrong, state: 'stopped' })).toMatchObject({
        status: 400,
        body: { error: 'invalid_args' },
      })
  })

  it('state: running or stopped, applied to all listed instances', async () => {
    const ids = [await rentals.rent(key), await rentals.rent(key)]
    await updateInBulk({ ids, state: 'stopped' })
    expect(await Promise.all(ids.map(readIntendedStatus))).toEqual(['stopped', 'stopped'])
    await updateInBulk({ ids, state: 'running' })
    expect(await Promise.all(ids.map(readIntendedStatus))).toEqual(['running', 'running'])
    expect(await updateInBulk({ ids, state: 'paused' })).toMatchObject({ status: 400, body: { error: 'invalid_args' } })
  })

  it('changes the label of several instances', async () => {
    const ids = [await rentals.rent(key), await rentals.rent(key)]
    expect((await updateInBulk({ ids, label: 'batch' })).body).toEqual({ success: true })
    const rows = await Promise.all(ids.map(id => rentals.read(key, id)))
    expect(rows.map(row => [row.label, row.intended_status])).toEqual([
      ['batch', 'running'],
      ['batch', 'running'],
    ])
  })

  it('200: success is true when at least one instance was updated', async () => {
    const [id, ended] = [await rentals.rent(key), await rentals.rentToStatus(key, 'exited')]
    expect((await updateInBulk({ ids: [987_654, id], state: 'stopped' })).body).toEqual({ success: true })
    expect((await updateInBulk({ ids: [ended, id], state: 'running' })).body).toEqual({ success: true })
    expect(await readIntendedStatus(id)).toBe('running')
    expect((await updateInBulk({ ids: [ended], state: 'running' })).body).toEqual({ success: false })
  })

  it('400: an error object', async () => {
    const { status, body } = await updateInBulk({ ids: [], state: 'stopped' })
    expect([status, body]).toEqual([400, { success: false, error: expect.any(String), msg: expect.any(String) }])
  })

  it('404: an error object when no listed instance matches', async () => {
    const { status, body } = await updateInBulk({ ids: [987_654], state: 'stopped' })
    expect([status, body]).toEqual([404, { success: false, error: expect.any(String), msg: expect.any(String) }])
  })
})

describe('2. Create an instance from an offer', () => {
  it('offer_id is the id of an offer from search', async () => {
    const id = await rentals.newOffer({ city: 'Luleå' })
    const [offer] = await search({ id: { eq: id } })
    const { body } = await app.rest(key, 'PUT', `/asks/${offer.id}/`, { image: 'ubuntu' })
    expect(await rentals.read(key, body.new_contract)).toMatchObject({
      machine_id: offer.machine_id,
      geolocation: 'Luleå, SE',
    })
  })

  it('either image or template_hash_id must be supplied', async () => {
    expect(await rentals.tryRent(key, { label: 'x' })).toMatchObject({ status: 400, body: { error: 'invalid_args' } })
  })

  it('a success carries new_contract, the integer ID of the new instance', async () => {
    const { body } = await rentals.tryRent(key, { image: 'ubuntu' })
    expect(Number.isInteger(body.new_contract)).toBe(true)
    expect(await rentals.read(key, body.new_contract)).toMatchObject({ id: body.new_contract })
  })

  it('POST does the same on this path', async () => {
    const id = await rentals.newOffer()
    expect(await app.rest(key, 'POST', `/asks/${id}/`, { image: 'ubuntu' })).toMatchObject({ status: 200 })
  })

  it.each(['PUT', 'POST'])('a %s fails if someone else has rented the machine', async method => {
    const id = await rentals.newOffer()
    const other = await app.newKey(null, someCredit)
    await app.rest(other, 'PUT', `/asks/${id}/`, { image: 'ubuntu' })
    expect(await app.rest(key, method, `/asks/${id}/`, { image: 'ubuntu' })).toMatchObject({
      status: 404,
      body: { success: false, error: 'no_such_ask' },
    })
  })
})

describe('3. Search offers', () => {
  const rows: [string, object, machine: object][] = [
    ['gpu_name in: array of strings', { gpu_name: { in: ['RTX 4090', 'H100'] } }, {}],
    ['num_gpus gte: integer', { num_gpus: { gte: 4 } }, { numGpus: 4 }],
    ['reliability gte: number (0 to 1)', { reliability: { gte: 0.995 } }, { reliability: 0.996 }],
    ['gpu_ram gte: number, MB', { gpu_ram: { gte: 24_564 } }, {}],
    ['verified eq: boolean', { verified: { eq: false } }, { verification: 'unverified' }],
    ['rentable eq: boolean', { rentable: { eq: true } }, {}],
  ]
  it.each(rows)('%s', async (_row, filter, machine) => {
    const id = await rentals.newOffer(machine)
    const idsOf = async (body: object) => (await search(body)).map((offer: { id: number }) => offer.id)
    expect(await idsOf({ id: { eq: id }, ...filter })).toEqual([id])
    const [[field, operators]] = Object.entries(filter) as [[string, Record<string, unknown>]]
    const others = { in: ['RTX 3060'], gte: 1_000_000, eq: operators['eq'] !== true }
    const no = Object.fromEntries(Object.keys(operators).map(name => [name, others[name as keyof typeof others]]))
    expect(await idsOf({ id: { eq: id }, [field]: no })).toEqual([])
  })

  it.each([
    ['ondemand', 0.4, false],
    ['bid', 0.2, true],
  ])('type: %s', async (type, dph_base, is_bid) => {
    const id = await rentals.newOffer()
    expect(await search({ id: { eq: id }, type })).toMatchObject([{ id, dph_base, is_bid }])
  })

  it('limit: maximum number of offers returned', async () => {
    expect(await search({ limit: 3 })).toHaveLength(3)
  })
})

describe('4. Get one instance', () => {
  it('instances is an object holding the instance', async () => {
    const id = await rentals.rent(key, { label: 'mine' })
    const { status, body } = await app.rest(key, 'GET', `/instances/${id}/`)
    expect([status, Object.keys(body)]).toEqual([200, ['instances']])
    expect(body.instances).toMatchObject({ id, actual_status: 'created', label: 'mine' })
  })
})

describe('5. Get current user', () => {
  it('answers the account object, which confirms that the key is valid', async () => {
    const { status, body } = await app.rest(await app.newKey(null, someCredit), 'GET', '/users/current/')
    expect([status, body]).toMatchObject([200, { email: expect.stringContaining('@'), credit: 100, ssh_key: '' }])
    expect((await app.rest('wrong', 'GET', '/users/current/')).status).toBe(401)
  })
})

describe('Authentication', () => {
  it('rule 1: every request carries the header Authorization: Bearer <API_KEY>', async () => {
    const endpoints = [
      ['PUT', '/instances/'],
      ['PUT', '/asks/1/'],
      ['POST', '/bundles/'],
      ['GET', '/instances/1/'],
      ['GET', '/users/current/'],
    ] as const
    for (const [method, path] of endpoints) {
      const body = method === 'GET' ? undefined : {}
      expect(await app.rest(undefined, method, path, body)).toMatchObject({
        status: 401,
        body: { error: 'auth_error' },
      })
    }
  })

  it('rule 3: the default key has full access, and a scoped key only its categories', async () => {
    const reader = await app.newScopedKey(key, { api: { misc: {}, user_read: {}, instance_read: {} } })
    const id = await rentals.rent(key)
    expect((await app.rest(reader, 'GET', `/instances/${id}/`)).status).toBe(200)
    expect((await app.rest(reader, 'GET', '/users/current/')).status).toBe(200)
    expect((await app.rest(reader, 'PUT', `/instances/${id}/`, { state: 'stopped' })).status).toBe(403)
  })

  it('rule 4: a key can be revoked at any time', async () => {
    const revoked = await app.newKey()
    expect((await app.rest(revoked, 'GET', '/users/current/')).status).toBe(200)
    await app.sql(`UPDATE api_keys SET revoked_at = now() WHERE public_id = '${revoked.split('_')[1]}'`)
    expect((await app.rest(revoked, 'GET', '/users/current/')).status).toBe(401)
  })

  it('rule 4: keys do not expire by default', async () => {
    const old = await app.newKey()
    app.clock.advance(100 * 24 * 60 * 60 * 1000)
    expect((await app.rest(old, 'GET', '/users/current/')).status).toBe(200)
  })

  it('rule 5: 403 means a scoped key without the permission the endpoint needs, and names it', async () => {
    const writer = await app.newKey({ api: { instance_write: {} } })
    const { status, body } = await app.rest(writer, 'GET', '/instances/1/')
    expect([status, body.error]).toEqual([403, 'forbidden'])
    expect(body.msg).toContain('instance_read')
  })
})

describe('Versioning', () => {
  it('paths begin with /api/v0/, and the interface description carries the version 1.0.0', async () => {
    const { body } = await app.rest(undefined, 'GET', '/openapi.json')
    expect(body.info.version).toBe('1.0.0')
    // Every path of version 1 exists in version 0, too.
    const others = Object.keys(body.paths).filter(path => !path.startsWith('/api/v0/'))
    expect(others.filter(path => !body.paths[path.replace('/api/v1/', '/api/v0/')])).toEqual([])
  })
})
