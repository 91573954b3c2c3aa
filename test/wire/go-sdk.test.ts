// The Go SDK. It decodes typed numbers, reads pages, and classifies errors by status, code and text.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, startWireServer, type WireAnswer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let key: string
let sdk: Client

const profile = {
  agent: 'vast-ai-go/0.1.0',
  headers: { Accept: 'application/json', 'Accept-Encoding': 'gzip' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

beforeAll(async () => {
  wire = await startWireServer()
  key = await wire.newKey()
  sdk = wire.createClient({ ...profile, key })
  await wire.listMachines({}, {}, {})
})

afterAll(() => wire.close())

const search = {
  ...{ rentable: { eq: true }, rented: { eq: false }, external: { eq: false } },
  ...{ type: 'on-demand', order: [['dph_total', 'asc']], limit: 64 },
}

/** Classifies errors as the SDK does. */
function errorOf({ status, body }: WireAnswer): string | undefined {
  if (status === 200 && body.success !== false) return undefined
  const message = `${body.error} ${body.msg ?? body.detail}`.toLowerCase()
  if (status === 401 || status === 403) return 'Unauthorized'
  if (status === 402 || /insufficient_credit|insufficient credit|add credit/.test(message)) return 'InsufficientCredit'
  if (status === 410 || /no longer available|no_such_ask|already rented|unavailable/.test(message)) return 'OfferGone'
  return status === 404 ? 'NotFound' : 'Error'
}

/** The types that the SDK decodes. It fails on any other type. */
const offerFields = {
  ...{ id: 'integer', ask_contract_id: 'integer', machine_id: 'integer', host_id: 'integer', num_gpus: 'integer' },
  ...{ gpu_name: 'words', gpu_ram: 'number', gpu_total_ram: 'number', cpu_ram: 'number', cpu_cores: 'integer' },
  ...{ cpu_cores_effective: 'number', disk_space: 'number', dph_base: 'number', dph_total: 'number' },
  ...{ storage_cost: 'number', min_bid: 'number', reliability2: 'number', cuda_max_good: 'number' },
  ...{ compute_cap: 'integer', verification: 'words', hosting_type: 'integer', geolocation: 'text', is_bid: 'boolean' },
  ...{ inet_up: 'number', inet_down: 'number', rentable: 'boolean', rented: 'boolean', static_ip: 'boolean' },
} satisfies Shape
const instanceFields = {
  ...{ id: 'integer', actual_status: 'text or null', intended_status: 'text', cur_state: 'text', next_state: 'text' },
  ...{ status_msg: 'text or null', label: 'text or null', image_uuid: 'text', ssh_host: 'text or null' },
  ...{ ssh_port: 'integer or null', public_ipaddr: 'text', ports: 'object', num_gpus: 'integer', gpu_name: 'text' },
  ...{ machine_id: 'integer', dph_total: 'number', start_date: 'number', end_date: 'number', is_bid: 'boolean' },
  ...{ extra_env: 'list', image_args: 'list of text', volume_info: 'list' },
} satisfies Shape

it('rents, runs and destroys an instance', async () => {
  const { body: account } = await sdk.get('/users/current/')
  expectFields(account, { id: 'integer', email: 'words', credit: 'number', balance: 'number', ssh_key: 'text' })
  const { body: found } = await sdk.post('/bundles/', { ...search, num_gpus: { gte: 1 }, reliability2: { gte: 0.9 } })
  expectFields(found.offers, [offerFields])
  expect(found.offers[0].verification).toBe('verified')

  const create = {
    ...{ image: 'ubuntu:22.04', disk: 32, label: 'sdk', runtype: 'ssh_direct', target_state: 'running' },
    ...{ env: { A: '1' }, onstart: 'echo hi', args: [] },
  }
  const created = await sdk.put(`/asks/${found.offers[0].id}/`, create)
  expect(errorOf(created)).toBeUndefined()
  expectFields(created.body, { success: 'boolean', new_contract: 'integer', instance_api_key: 'words' })
  const id = created.body.new_contract
  expect(id).toBeGreaterThan(0)
  expect(errorOf(await sdk.put(`/asks/${found.offers[0].id}/`, create))).toBe('OfferGone')

  const read = () => sdk.get(`/instances/${id}/`)
  const { body } = await wire.pollUntil(read, ({ body }) => {
    expect(['exited', 'offline', 'unknown']).not.toContain(body.instances.actual_status)
    return body.instances.actual_status === 'running' && body.instances.ssh_port > 0
  })
  expectFields(body.instances, instanceFields)

  for (const change of [{ state: 'stopped' }, { label: 'renamed' }]) {
    expect(errorOf(await sdk.put(`/instances/${id}/`, change))).toBeUndefined()
  }
  const stopped = await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'stopped')
  expect(stopped.body.instances.label).toBe('renamed')
  expect(errorOf(await sdk.put(`/instances/${id}/`, { state: 'running' }))).toBeUndefined()
  await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  expect(await wire.readLinkedResult(await sdk.put(`/instances/request_logs/${id}/`, { tail: '100' }))).toContain('\n')

  expect(errorOf(await sdk.delete(`/instances/${id}/`))).toBeUndefined()
  expect(errorOf(await sdk.delete(`/instances/${id}/`))).toBe('NotFound')
  expect(errorOf(await read())).toBe('NotFound')
})

it('reads pages until next_token is empty', async () => {
  const { body } = await sdk.post('/bundles/', search)
  await sdk.put(`/asks/${body.offers[0].id}/`, { image: 'ubuntu', disk: 10 })
  const page = await sdk.get('/api/v1/instances/?limit=25')
  expectFields(page.body, { success: 'boolean', total_instances: 'integer', instances_found: 'integer' })
  expectFields(page.body.instances, [instanceFields])
  expect(page.body.next_token ?? '').toBe('')
})

it('distinguishes its error classes', async () => {
  expect(errorOf(await wire.createClient({ ...profile, key: 'nobody' }).get('/users/current/'))).toBe('Unauthorized')
  const scoped = await wire.app.newScopedKey(key, { api: { instance_read: {} } })
  expect(errorOf(await wire.createClient({ ...profile, key: scoped }).get('/users/current/'))).toBe('Unauthorized')
  const poor = wire.createClient({ ...profile, key: await wire.app.newKey(null, { creditNanos: 0n }) })
  const { body } = await poor.post('/bundles/', search)
  const refused = await poor.put(`/asks/${body.offers[0].id}/`, { image: 'ubuntu', disk: 10 })
  expect(errorOf(refused)).toBe('InsufficientCredit')
  expect(errorOf(await sdk.put('/asks/987654/', { image: 'ubuntu', disk: 10 }))).toBe('OfferGone')
  expect(errorOf(await sdk.put(`/asks/${body.offers[0].id}/`, { image: 'ubuntu', disk: 1 }))).toBe('Error')
  expect(errorOf(await sdk.get('/instances/987654/'))).toBe('NotFound')
})
