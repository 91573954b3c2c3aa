// Earlier Python clients and libraries around them. They send the key in the URL; requests that write also send the key
// in the header.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { type Client, startWireServer, type WireAnswer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let key: string
/** `readClient` sends the key in the URL only, `writeClient` in the URL and the header. */
let readClient: Client
let writeClient: Client

const profile = {
  agent: 'python-requests/2.28.1',
  headers: { 'Accept-Encoding': 'gzip, deflate', Accept: '*/*', Connection: 'keep-alive' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

beforeAll(async () => {
  wire = await startWireServer()
  key = await wire.newKey()
  readClient = wire.createClient({ ...profile, key, keyIn: 'url' })
  writeClient = wire.createClient({ ...profile, key, keyIn: 'both' })
  await wire.listMachines({}, {}, {})
})

afterAll(() => wire.close())

const search = {
  ...{ verified: { eq: true }, external: { eq: false }, rentable: { eq: true }, rented: { eq: false } },
  ...{ order: [['score', 'desc']], type: 'on-demand', allocated_storage: 5.0 },
}
const instanceFields = {
  ...{ id: 'integer', machine_id: 'integer', actual_status: 'text or null', num_gpus: 'integer', gpu_name: 'words' },
  ...{ gpu_util: 'number or null', cpu_cores_effective: 'number', cpu_ram: 'integer', disk_space: 'number' },
  ...{ ssh_host: 'text or null', ssh_port: 'integer or null', dph_total: 'number', image_uuid: 'words' },
  ...{ inet_up: 'number', inet_down: 'number', reliability2: 'number', label: 'text or null', start_date: 'number' },
  ...{ extra_env: [['text']], status_msg: 'text', next_state: 'words', direct_port_start: 'integer' },
  direct_port_end: 'integer',
} satisfies Shape

async function create(body: object = {}): Promise<number> {
  const { body: found } = await writeClient.post('/bundles/', {
    ...search,
    num_gpus: { gte: '1' },
    dph_total: { lt: '1' },
  })
  const { body: created } = await writeClient.put(`/asks/${found.offers[0].id}/`, {
    ...{ client_id: 'me', image: 'ubuntu', env: {}, price: null, disk: 10, label: null, extra: null, onstart: null },
    ...{ image_login: null, python_utf8: false, lang_utf8: false, use_jupyter_lab: false, jupyter_dir: null },
    ...{ force: false, cancel_unavail: false, template_hash_id: null, runtype: 'ssh', ...body },
  })
  expectFields(created, { success: 'boolean', new_contract: 'integer' })
  return created.new_contract
}

describe('the earlier command line', () => {
  it('rents, runs and destroys an instance', async () => {
    const id = await create()
    const show = async () => {
      const { body } = await readClient.get('/instances?owner=me')
      expectFields(body.instances, [instanceFields])
      return body.instances.find((row: { id: number }) => row.id === id)
    }
    await wire.pollUntil(
      () => readClient.get(`/instances/${id}/?owner=me`),
      ({ body }) => body.instances.actual_status === 'running',
    )
    const row = await show()
    expect(row.actual_status).toBe('running')
    // The client computes the age of an instance from start_date.
    expect(wire.app.clock.now().getTime() / 1000 - row.start_date).toBeGreaterThan(0)
    expect((await writeClient.put(`/instances/${id}/`, { label: 'old' })).body).toEqual({ success: true })
    expect((await writeClient.put(`/instances/${id}/`, { state: 'stopped' })).body).toEqual({ success: true })
    await wire.pollUntil(
      () => readClient.get(`/instances/${id}/`),
      ({ body }) => body.instances.actual_status === 'stopped',
    )
    expect((await writeClient.put(`/instances/${id}/`, { state: 'running' })).body).toEqual({ success: true })
    await wire.pollUntil(
      () => readClient.get(`/instances/${id}/`),
      ({ body }) => body.instances.actual_status === 'running',
    )
    expect(
      await wire.readLinkedResult(await writeClient.put(`/instances/request_logs/${id}/`, { tail: '1000' })),
    ).toContain('\n')
    expect((await writeClient.delete(`/instances/${id}/`, {})).body).toEqual({ success: true })
    expect((await writeClient.delete(`/instances/${id}/`, {})).status).toBe(404)
    expect(await show()).toBeUndefined()
  })

  it('reads its account, machines, keys, secrets and templates', async () => {
    const { body } = await readClient.get('/users/current?owner=me')
    expectFields(body, { ...{ id: 'integer', email: 'words', username: 'words', fullname: 'text', credit: 'number' } })
    // The client deletes this field before it prints the others, and fails if the field is missing.
    expectFields(body, { api_key: 'null' })
    expectFields(body, { balance: 'number', ssh_key: 'text', can_pay: 'boolean', has_billing: 'boolean', sid: 'text' })
    expectFields(body, { balance_threshold: 'number', balance_threshold_enabled: 'boolean', email_verified: 'boolean' })
    expectFields((await readClient.get('/machines?owner=me')).body, { machines: 'list' })
    await writeClient.post('/ssh/', { ssh_key: aPublicKey('old') })
    expectFields((await writeClient.get('/ssh/')).body, [
      { ...{ id: 'integer', user_id: 'integer', public_key: 'words', created_at: 'number' }, deleted_at: 'null' },
    ])
    expectFields((await writeClient.get('/secrets/')).body, { success: 'boolean', secrets: 'object' })
    const { body: templates } = await writeClient.get(
      `/template/?${new URLSearchParams({ select_cols: '["*"]', select_filters: '{}' })}`,
    )
    expectFields(templates, { templates: 'list' })
  })

  it('recognizes a bad key by the message', async () => {
    const { status, body } = await wire
      .createClient({ ...profile, key: 'nobody', keyIn: 'url' })
      .get('/instances?owner=me')
    expect([status, body.msg]).toEqual([401, 'Invalid user key'])
  })
})

describe('a library that treats every answer with msg as a failure', () => {
  const isFailure = ({ status, body }: WireAnswer) => status !== 200 || 'msg' in body

  it('rents, runs and destroys an instance', async () => {
    const anybody = wire.createClient({ ...profile })
    const q = JSON.stringify({
      ...search,
      geolocation: { eq: 'SE' },
      gpu_name: { eq: 'RTX_4090' },
      num_gpus: { gte: '1' },
    })
    const { body: found } = await anybody.get(`/bundles?${new URLSearchParams({ q })}`)
    expectFields(found.offers, [{ id: 'integer', gpu_name: 'words', dph_total: 'number', geolocation: 'words' }])
    expectFields((await anybody.get('/gpu_names/unique/')).body, { gpu_names: 'list of words' })
    const { body: created } = await readClient.put(`/asks/${found.offers[0].id}/`, {
      image: 'ubuntu',
      disk: 10,
      runtype: 'ssh_direct',
    })
    const path = `/instances/${created.new_contract}/`
    await wire.pollUntil(
      () => readClient.get(path),
      ({ body }) => body.instances.actual_status === 'running',
    )
    expect(isFailure(await readClient.put(path, { state: 'stopped' }))).toBe(false)
    expect(isFailure(await readClient.put(path, { label: 'k' }))).toBe(false)
    const { body } = await wire.pollUntil(
      () => readClient.get(path),
      ({ body }) => body.instances.next_state === 'stopped',
    )
    expectFields(body.instances, {
      machine_dir_ssh_port: 'integer',
      direct_port_start: 'integer',
      direct_port_end: 'integer',
    })
    expect(
      await wire.readLinkedResult(
        await readClient.put(`/instances/request_logs/${created.new_contract}/`, { tail: 50 }),
      ),
    ).toContain('\n')
    expect(isFailure(await readClient.delete(path))).toBe(false)
    expect(isFailure(await readClient.delete(path))).toBe(true)
  })
})
