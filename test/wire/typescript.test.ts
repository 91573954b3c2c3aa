// The TypeScript SDK. It sends paths without a final slash, the key in the URL and the header, and a content type on every
// request, even without a body.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let node: Client

const profile = {
  ...{ agent: 'axios/1.21.1', keyIn: 'both' as const },
  headers: {
    ...{ Accept: 'application/json, text/plain, */*', 'Content-Type': 'application/json' },
    ...{ 'Accept-Encoding': 'gzip, compress, deflate, br', Connection: 'keep-alive' },
  },
}

beforeAll(async () => {
  wire = await startWireServer()
  node = wire.createClient({ ...profile, key: await wire.newKey() })
  await wire.listMachines({ verification: 'unverified' }, {}, {})
})

afterAll(() => wire.close())

const offerFields = {
  ...{ id: 'integer', machine_id: 'integer', num_gpus: 'integer', gpu_name: 'words', gpu_ram: 'integer' },
  ...{ cpu_cores: 'integer', cpu_ram: 'integer', disk_space: 'number', dph_total: 'number', dph_base: 'number' },
  ...{ reliability2: 'number', inet_up: 'number', inet_down: 'number', cuda_max_good: 'number', geolocation: 'words' },
} satisfies Shape
const instanceFields = {
  ...{ id: 'integer', actual_status: 'text or null', intended_status: 'text', label: 'text or null' },
  ...{ ssh_host: 'text or null', ssh_port: 'integer or null', public_ipaddr: 'text', ports: 'object' },
  ...{ image_uuid: 'text', dph_total: 'number', start_date: 'number', extra_env: [['text']], machine_id: 'integer' },
} satisfies Shape

it('rents, runs and destroys an instance', async () => {
  const q = JSON.stringify({ gpu_ram: { gte: 20_000 } })
  const query = new URLSearchParams({ q, num_gpus: '1', order_by: 'dph_total', verified: 'true' })
  const { body: found } = await node.get(`/bundles?${query}`)
  expectFields(found.offers, [offerFields])
  expect(found.offers.map(({ verification }: { verification: string }) => verification)).toEqual([
    'verified',
    'verified',
  ])
  const created = await node.put(`/asks/${found.offers[0].id}`, { image: 'ubuntu', disk_space: 20, env: { _a: '1' } })
  expectFields(created.body, { success: 'boolean', new_contract: 'integer' })
  const id = created.body.new_contract

  const read = () => node.get(`/instances/${id}`)
  const { body } = await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  expectFields(body.instances, instanceFields)
  expect(body.instances).toMatchObject({ disk_space: 20, extra_env: [['_a', '1']] })

  expect((await node.put(`/instances/${id}/stop`, {})).body).toEqual({ success: true })
  await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'stopped')
  expect((await node.put(`/instances/${id}/start`, {})).body).toEqual({ success: true })
  await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  expect((await node.put(`/instances/${id}`, { label: 'node' })).body).toEqual({ success: true })
  const { body: list } = await node.get('/instances?owner=me')
  expectFields(list, { instances_found: 'integer', instances: [{ ...instanceFields, label: 'words' }] })
  expect(await wire.readLinkedResult(await node.put(`/instances/request_logs/${id}`, {}))).toContain('\n')
  // The client sends a content type without a body.
  expect((await node.delete(`/instances/${id}`)).body).toEqual({ success: true })
  expect(await node.delete(`/instances/${id}`)).toMatchObject({
    status: 404,
    body: { msg: `Instance ${id} is destroyed. Rent another one.` },
  })
})

it('reads its account with a content type but no body', async () => {
  const { body } = await node.get('/users/current')
  expectFields(body, { id: 'integer', email: 'words', credit: 'number', balance: 'number', ssh_key: 'text' })
  expectFields((await node.get('/ssh')).body, 'list')
})

it('is authorized by the key in the header when the key in the URL is invalid', async () => {
  expect((await wire.createClient(profile).get('/users/current?api_key=nobody')).body.msg).toBe('Invalid user key')
  expect((await node.get('/users/current?api_key=nobody')).status).toBe(200)
})
