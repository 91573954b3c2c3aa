// Terraform. It decodes into typed structures, waits for states, and treats only 404 as deleted.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { type Client, startWireServer, type WireAnswer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let terraform: Client

const profile = {
  ...{ agent: 'terraform-provider-vastai/0.3.0', keyIn: 'both' as const },
  headers: { 'Accept-Encoding': 'gzip' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

beforeAll(async () => {
  wire = await startWireServer()
  terraform = wire.createClient({ ...profile, key: await wire.newKey() })
  await wire.listMachines({ country: 'US', datacenter: true }, { country: 'US', datacenter: true }, { country: 'SE' })
})

afterAll(() => wire.close())

/** The text of an error, undefined after a success. */
function errorOf({ status, body }: WireAnswer): string | undefined {
  if (status === 200 && body.success !== false) return undefined
  return typeof body.error === 'string' && status !== 200 ? body.error : body.msg
}

const offerFields = {
  ...{ id: 'integer', machine_id: 'integer', host_id: 'integer', num_gpus: 'integer', gpu_name: 'words' },
  ...{ gpu_ram: 'integer', gpu_total_ram: 'integer', cpu_cores: 'integer', cpu_ram: 'integer', disk_space: 'number' },
  ...{ dph_total: 'number', dph_base: 'number', storage_cost: 'number', min_bid: 'number', inet_up: 'number' },
  ...{
    inet_down: 'number',
    reliability2: 'number',
    geolocation: 'text',
    hosting_type: 'integer',
    verification: 'text',
  },
  ...{ static_ip: 'boolean', direct_port_count: 'integer', cuda_max_good: 'number', driver_version: 'text' },
} satisfies Shape
const instanceFields = {
  ...{ id: 'integer', actual_status: 'text or null', intended_status: 'text', cur_state: 'text', next_state: 'text' },
  ...{ status_msg: 'text or null', label: 'text or null', image_uuid: 'text', image_runtype: 'text' },
  ...{ onstart: 'text or null', template_hash_id: 'text or null', jupyter_token: 'text or null' },
  ...{ ssh_host: 'text or null', ssh_port: 'integer or null', public_ipaddr: 'text', extra_env: [['text']] },
  ...{ num_gpus: 'integer', gpu_name: 'text', gpu_ram: 'integer', gpu_totalram: 'integer', cpu_ram: 'integer' },
  ...{ cpu_cores: 'integer', disk_space: 'number', dph_total: 'number', is_bid: 'boolean', min_bid: 'number' },
  ...{ machine_id: 'integer', start_date: 'number', end_date: 'number', geolocation: 'text', ports: 'object' },
} satisfies Shape

const search = {
  ...{ verified: { eq: true }, external: { eq: false }, rentable: { eq: true }, rented: { eq: false } },
  ...{ hosting_type: { eq: 1 }, geolocation: { in: 'US' }, order: [['dph_total', 'desc']], type: 'on-demand' },
}
const findOffers = async (more: object = {}) =>
  (await terraform.post('/bundles/', { ...search, limit: 10, ...more })).body.offers

it('creates, updates and destroys an instance', async () => {
  const offers = await findOffers()
  expectFields(offers, [offerFields])
  expect(offers).toHaveLength(2)
  const raw = { q: JSON.stringify(search), limit: 1, allocated_storage: 20 }
  const { body } = await terraform.post('/bundles/', raw)
  expect(body.offers).toHaveLength(1)
  expect(body.offers[0].storage_total_cost).toBeCloseTo((body.offers[0].storage_cost * 20) / 720)

  const create = {
    image: 'ubuntu:22.04',
    disk: 20,
    label: 'tf',
    runtype: '',
    env: { A: '1', '-p 80:80': '1' },
    onstart: 'true',
  }
  const created = await terraform.put(`/asks/${offers[0].id}/`, create)
  expect(errorOf(created)).toBeUndefined()
  expectFields(created.body, { new_contract: 'integer' })
  const again = await terraform.put(`/asks/${offers[0].id}/`, create)
  expect([again.status, errorOf(again)]).toEqual([404, 'no_such_ask'])
  const id = created.body.new_contract
  const read = () => terraform.get(`/instances/${id}/`)
  const running = await wire.pollUntil(read, ({ body }) => {
    expect(['exited', 'offline', 'unknown', 'stopped']).not.toContain(body.instances.actual_status)
    return body.instances.actual_status === 'running'
  })
  expectFields(running.body.instances, instanceFields)

  expect(errorOf(await terraform.put(`/instances/${id}/`, { label: 'changed' }))).toBeUndefined()
  expect(errorOf(await terraform.put(`/instances/${id}/`, { state: 'stopped' }))).toBeUndefined()
  await wire.pollUntil(read, ({ body }) => {
    expect(body.instances.actual_status).not.toBe('exited')
    return body.instances.actual_status === 'stopped'
  })
  const { body: list } = await terraform.get('/instances/')
  expectFields(list.instances, [{ ...instanceFields, label: 'words' }])
  expect(errorOf(await terraform.put(`/instances/${id}/`, { state: 'running' }))).toBeUndefined()
  await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  expect(errorOf(await terraform.delete(`/instances/${id}/`))).toBeUndefined()
  expect((await read()).status).toBe(404)
  expect((await terraform.delete(`/instances/${id}/`)).status).toBe(404)
})

it('sees that an instance lost its GPUs to an on-demand rental', async () => {
  const [offer] = await findOffers({ type: 'bid' })
  const { body } = await terraform.put(`/asks/${offer.id}/`, { image: 'ubuntu', disk: 10, price: offer.min_bid })
  const read = () => terraform.get(`/instances/${body.new_contract}/`)
  await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  const rival = wire.createClient({ ...profile, key: await wire.newKey() })
  const rivals = await rival.post('/bundles/', { machine_id: { eq: offer.machine_id }, type: 'on-demand' })
  await rival.put(`/asks/${rivals.body.offers[0].id}/`, { image: 'ubuntu', disk: 10 })
  await wire.pollUntil(read, ({ body: { instances: row } }) => {
    const isPreempted = ['stopped', 'offline'].includes(row.actual_status)
    return row.is_bid && row.intended_status === 'running' && isPreempted
  })
  await terraform.delete(`/instances/${body.new_contract}/`)
})

it('manages the SSH keys of the account and of an instance', async () => {
  const [first, second] = [aPublicKey('first'), aPublicKey('second')]
  const { body: saved } = await terraform.post('/ssh/', { ssh_key: first })
  expectFields(saved, { key: { id: 'integer', created_at: 'number', public_key: 'words', ssh_key: 'words' } })
  const [offer] = await findOffers({ geolocation: { in: 'SE' } })
  const { body } = await terraform.put(`/asks/${offer.id}/`, { image: 'ubuntu', disk: 10, runtype: 'ssh_direct' })
  const path = `/instances/${body.new_contract}/ssh/`

  const rows = (await terraform.get('/ssh/')).body
  const row = rows.find(({ id }: { id: number }) => id === saved.key.id)
  const attached = await terraform.post(path, { ssh_key: row.ssh_key })
  expect(attached).toMatchObject({ status: 200, body: { msg: 'SSH key already associated with instance.' } })
  const added = await terraform.post(path, { ssh_key: second })
  expectFields(added.body, { success: 'boolean', msg: 'words', key: 'words' })
  expectFields(JSON.parse((await terraform.get(path)).body.ssh_keys), [{ id: 'integer', public_key: 'words' }])
  const { id } = JSON.parse(added.body.key)
  expectFields((await terraform.delete(`${path}${id}/`)).body, { success: 'boolean', msg: 'words' })
  expect(errorOf(await terraform.delete(`/ssh/${id}/`))).toBeUndefined()
  const other = await terraform.put(`/ssh/${saved.key.id}/`, { id: saved.key.id, ssh_key: second })
  expectFields(other.body, { success: 'boolean', key: { id: 'integer' } })
  expect(errorOf(await terraform.delete(`/ssh/${saved.key.id}/`))).toBeUndefined()
  expect((await terraform.get('/ssh/')).body).toEqual([])
  await terraform.delete(`/instances/${body.new_contract}/`)
})

it('manages API keys', async () => {
  const permissions = { api: { misc: {}, user_read: {}, instance_read: {}, instance_write: {} } }
  const { body } = await terraform.post('/auth/apikeys/', { name: 'ci', permissions })
  expectFields(body, { success: 'boolean', id: 'integer', key: 'words', created_at: 'number' })
  expect(body.permissions).toEqual(permissions)
  const { body: row } = await terraform.get(`/auth/apikeys/${body.id}/`)
  expectFields(row, { id: 'integer', name: 'words', created_at: 'number', permissions: 'object', key: 'null' })
  expect((await terraform.delete(`/auth/apikeys/${body.id}/`)).body).toBe('Successfully Deleted API Key')
  expect((await terraform.get(`/auth/apikeys/${body.id}/`)).status).toBe(404)
})

it('manages templates', async () => {
  const settings = {
    ...{ name: 'tf', image: 'ubuntu', tag: '22.04', env: '-e A=1 -p 80:80', onstart: 'true', runtype: 'ssh' },
    ...{ ssh_direct: true, use_ssh: true, private: true, recommended_disk_space: 16, desc: '', readme: 'Read.' },
  }
  const row = {
    ...{ id: 'integer', hash_id: 'words', name: 'words', image: 'words', tag: 'text', created_at: 'number' },
    ...{ count_created: 'integer', env: 'text', onstart: 'text', ssh_direct: 'boolean', jup_direct: 'boolean' },
    ...{
      use_ssh: 'boolean',
      use_jupyter_lab: 'boolean',
      private: 'boolean',
      readme_visible: 'boolean',
      readme: 'text',
    },
    ...{ runtype: 'words', desc: 'text', recommended_disk_space: 'number', docker_login_repo: 'text', href: 'text' },
    ...{ repo: 'text', creator_id: 'integer', jupyter_dir: 'text or null', extra_filters: 'text' },
  } satisfies Shape
  const { body } = await terraform.post('/template/', settings)
  expectFields(body, { success: 'boolean', template: row })
  expect(body.template).toMatchObject(settings)
  const find = async (hash: string) => {
    const query = new URLSearchParams({
      select_cols: '["*"]',
      select_filters: JSON.stringify({ hash_id: { eq: hash } }),
    })
    return await terraform.get(`/template/?${query}`)
  }
  expectFields((await find(body.template.hash_id)).body.templates, [row])
  const changed = await terraform.put('/template/', { ...settings, name: 'other', hash_id: body.template.hash_id })
  expectFields(changed.body, { success: 'boolean', hash_id: 'words', msg: 'words', template: row })
  expect(changed.body.template.id).toBe(body.template.id)
  // An empty result is not an error; the client would report an error to its user.
  const none = await find(body.template.hash_id)
  expect([errorOf(none), none.body.templates]).toEqual([undefined, []])
  expect(errorOf(await terraform.delete('/template/', { hash_id: changed.body.hash_id }))).toBeUndefined()
  expect(errorOf(await terraform.delete('/template/', { hash_id: changed.body.hash_id }))).toBe('not_found')
})

it('manages volumes', async () => {
  const asked = {
    verified: { eq: true },
    external: { eq: false },
    disk_space: { gte: 1, gt: '10' },
    allocated_storage: 1.0,
  }
  const { body: found } = await terraform.post('/volumes/search/', { ...asked, order: [['score', 'desc']] })
  expectFields(found.offers, [{ id: 'integer', disk_space: 'number', storage_cost: 'number', machine_id: 'integer' }])
  const { body } = await terraform.put('/volumes/', { id: found.offers[0].id, size: 20, name: 'vol1' })
  expectFields(body, { success: 'boolean', id: 'integer', volume_id: 'integer', volume_name: 'words' })
  const { body: list } = await terraform.get('/volumes?owner=me&type=all_volume')
  const [volume] = list.volumes
  expectFields(volume, { id: 'integer', label: 'words', disk_space: 'number', status: 'words', start_date: 'number' })
  expectFields(volume, {
    machine_id: 'integer',
    instances: 'list of integer',
    verification: 'words',
    geolocation: 'words',
  })
  expect(errorOf(await terraform.delete(`/volumes/?id=${body.id}`, {}))).toBeUndefined()
  expect((await terraform.delete(`/volumes/?id=${body.id}`, {})).status).toBe(404)
})
