// One test per row of the tables of resources in the specification.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

type Field = [name: string, type: string, isOfType: (value: unknown) => boolean]

const isText = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => typeof value === 'number'

describe('Offer', () => {
  const fields: Field[] = [
    ['id', 'integer', Number.isInteger],
    ['num_gpus', 'integer', Number.isInteger],
    ['gpu_name', 'string', isText],
    ['dph_total', 'number', isNumber],
  ]

  it.each(fields)('has %s, of the type %s', async (name, _type, isOfType) => {
    await rentals.newOffer()
    const { body } = await app.rest(key, 'POST', '/bundles/', {})
    expect(body.offers.length).toBeGreaterThan(0)
    expect(body.offers.every((offer: Record<string, unknown>) => isOfType(offer[name]))).toBe(true)
  })

  it('id is used as {offer_id} in instance creation', async () => {
    await rentals.newOffer()
    const { body } = await app.rest(key, 'POST', '/bundles/', { limit: 1 })
    const answer = await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu' })
    expect(answer).toMatchObject({
      status: 200,
      body: { new_contract: expect.any(Number) },
    })
  })

  it('dph_total is the total price in $/hour, which the instance then costs', async () => {
    const offerId = await rentals.newOffer({ gpuNanos: 1_234_567_890n, diskPricePerGbMonthNanos: 350_000_000n })
    const { body } = await app.rest(key, 'POST', '/bundles/', { id: { eq: offerId } })
    const { body: made } = await app.rest(key, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu' })
    const { dph_total } = await rentals.read(key, made.new_contract)
    expect([body.offers[0].dph_total, dph_total]).toEqual([1.238456779, 1.238456779])
  })
})

describe('Instance', () => {
  it("ends when its offer's listing was due to end at the time of the rental, even if the listing is extended later", async () => {
    const listedUntil = new Date('2027-03-04T05:06:07.000Z')
    const offerId = await rentals.newOffer({ listedUntil })
    const { body } = await app.rest(key, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu' })
    await app.sql(`UPDATE machines SET listed_until = '2028-01-01' WHERE listed_until = '${listedUntil.toISOString()}'`)
    const { data } = await app.graphql(key, `{ instance(id: ${body.new_contract}) { endsAt } }`)
    expect(data.instance).toEqual({ endsAt: listedUntil.toISOString() })
    const { end_date, duration } = await rentals.read(key, body.new_contract)
    const ends = listedUntil.getTime() / 1000
    expect([end_date, duration]).toEqual([ends, ends - app.clock.now().getTime() / 1000])
  })

  const fields: Field[] = [
    ['id', 'integer', Number.isInteger],
    ['actual_status', 'string', isText],
    ['label', 'string', isText],
  ]

  it.each(fields)('has %s, of the type %s', async (name, _type, isOfType) => {
    const id = await rentals.rent(key, { label: 'mine' })
    expect(await rentals.read(key, id)).toSatisfy(row => isOfType(row[name]))
  })

  it('id is the value that its creation returned in new_contract, not in id', async () => {
    const { body } = await rentals.tryRent(key, { image: 'ubuntu' })
    expect(body).toEqual({
      success: true,
      new_contract: expect.any(Number),
      instance_api_key: expect.any(String),
    })
    expect((await rentals.read(key, body.new_contract)).id).toBe(body.new_contract)
  })

  it('label is the custom name', async () => {
    expect((await rentals.read(key, await rentals.rent(key, { label: 'mine' }))).label).toBe('mine')
    expect((await rentals.read(key, await rentals.rent(key))).label).toBeNull()
  })
})

describe('Account (current user)', () => {
  const fields: Field[] = [
    ['id', 'integer', Number.isInteger],
    ['email', 'string', isText],
    ['credit', 'number', isNumber],
    ['ssh_key', 'string', isText],
  ]

  it.each(fields)('has %s, of the type %s', async (name, _type, isOfType) => {
    const { body } = await app.rest(key, 'GET', '/users/current/')
    expect(body).toSatisfy(row => isOfType(row[name]))
  })

  it('credit is in $', async () => {
    const { body } = await app.rest(await app.newKey(null, { creditNanos: 1_500_000_000n }), 'GET', '/users/current/')
    expect(body.credit).toBe(1.5)
  })
})

describe('Units', () => {
  it('gpu_ram is in MB', async () => {
    await rentals.newOffer()
    const { body } = await app.rest(key, 'POST', '/bundles/', { limit: 1 })
    const instance = await rentals.read(key, await rentals.rent(key))
    expect([body.offers[0].gpu_ram, instance.gpu_ram]).toEqual([24_564, 24_564])
  })
})

describe('A row of an instance', () => {
  const recorded = JSON.parse(readFileSync(new URL('../../data/rest-rows.json', import.meta.url), 'utf8')).instance
  const typeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)
  /** Fields that Berth never fills: there is no notebook token. */
  const empty = { jupyter_token: 'null' }
  /** Null in the recorded row, whose machine did not say them. Clients know them as numbers, too. */
  const measured = { gpu_util: 'number', mem_limit: 'number', mem_usage: 'number', vmem_usage: 'number' }

  it('has every field of a recorded row, with its type', async () => {
    const id = await rentals.rentToStatus(key, 'running', {
      runtype: 'ssh_direct',
      env: { '-p 8000:8000': '1' },
      label: 'lbl',
    })
    const row = await rentals.read(key, id)
    const expected = Object.entries(recorded).map(([field, value]) => [field, typeOf(value)])
    const found = Object.keys(recorded).map(field => [field, typeOf(row[field])])
    expect(Object.fromEntries(found)).toEqual({ ...Object.fromEntries(expected), ...empty, ...measured })
  })

  it('has whole numbers where clients read integers', async () => {
    const row = await rentals.read(key, await rentals.rentToStatus(key, 'running', { runtype: 'ssh_direct' }))
    const names = ['id', 'ssh_port', 'num_gpus', 'gpu_ram', 'gpu_totalram', 'gpu_total_ram', 'cpu_cores', 'cpu_ram']
    const more = ['machine_id', 'host_id', 'bundle_id', 'hosting_type', 'direct_port_start', 'direct_port_end']
    expect([...names, ...more].filter(name => !Number.isInteger(row[name]))).toEqual([])
  })

  it('has start_date, extra_env, ports, label and status before the first start', async () => {
    const row = await rentals.read(key, await rentals.rent(key, { target_state: 'stopped' }))
    expect(row).toMatchObject({ start_date: expect.any(Number), extra_env: [], ports: {}, volume_info: [] })
    expect(row).toMatchObject({ label: null, actual_status: 'created', uptime_mins: null })
    expect(row.status_msg).toEqual(expect.any(String))
    expect(row.public_ipaddr).toEqual(expect.any(String))
  })

  it('has ports as docker prints them: lists of bindings by container port', async () => {
    const id = await rentals.rentToStatus(key, 'running', { runtype: 'ssh_direct', env: { '-p 53:53/udp': '1' } })
    const { ports, ssh_host, ssh_port, public_ipaddr } = await rentals.read(key, id)
    const binding = [{ HostIp: '0.0.0.0', HostPort: expect.stringMatching(/^\d+$/) }]
    expect(ports).toEqual({ '22/tcp': binding, '53/udp': binding })
    expect([ssh_host, String(ssh_port)]).toEqual([public_ipaddr, ports['22/tcp'][0].HostPort])
  })
})
