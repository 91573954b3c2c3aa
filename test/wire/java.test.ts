// The Java client. Every request asks for an upgrade to HTTP/2, a GET declares an empty body, and unset fields of a record
// are sent as null.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let key: string
let java: Client

const upgradeHeaders = {
  Connection: 'Upgrade, HTTP2-Settings',
  'HTTP2-Settings': 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
  Upgrade: 'h2c',
}
const profile = { agent: 'Java-http-client/17.0.15', saysEmpty: true }

beforeAll(async () => {
  wire = await startWireServer()
  key = await wire.newKey()
  java = wire.createClient({
    ...profile,
    key,
    headers: upgradeHeaders,
    bodyHeaders: { 'Content-Type': 'application/json' },
  })
  await wire.listMachines({ numGpus: 2 }, {})
})

afterAll(() => wire.close())

/** Fields that the client declares as Long must be integers, and fields declared as String must be strings. */
const offerFields = {
  ...{ id: 'integer', ask_contract_id: 'integer', bundle_id: 'integer', machine_id: 'integer', host_id: 'integer' },
  ...{ num_gpus: 'integer', gpu_name: 'words', gpu_ram: 'integer', gpu_total_ram: 'integer', cpu_ram: 'integer' },
  ...{ cpu_cores: 'integer', cpu_cores_effective: 'number', compute_cap: 'integer', direct_port_count: 'integer' },
  ...{
    gpu_lanes: 'integer',
    hosting_type: 'integer',
    driver_version: 'text',
    driver_vers: 'integer',
    has_avx: 'integer',
  },
  ...{ dph_total: 'number', dph_base: 'number', reliability: 'number', reliability2: 'number', verification: 'words' },
  ...{ verified: 'boolean or nothing', datacenter: 'boolean or nothing', rentable: 'boolean', rented: 'boolean' },
  ...{ geolocation: 'text or null', external: 'boolean or null', webpage: 'text or null', logo: 'text' },
  search: { gpuCostPerHour: 'number', diskHour: 'number', totalHour: 'number', discountedTotalPerHour: 'number' },
} satisfies Shape
const instanceFields = {
  ...{ id: 'integer', machine_id: 'integer', host_id: 'integer', bundle_id: 'integer', num_gpus: 'integer' },
  ...{ actual_status: 'text or null', intended_status: 'text', cur_state: 'text', next_state: 'text' },
  ...{ status_msg: 'text or null', label: 'text or null', ssh_idx: 'text', ssh_host: 'text', ssh_port: 'integer' },
  ...{ machine_dir_ssh_port: 'integer', direct_port_start: 'integer', direct_port_end: 'integer' },
  ...{
    gpu_ram: 'integer',
    gpu_totalram: 'integer',
    gpu_total_ram: 'integer',
    cpu_ram: 'integer',
    cpu_cores: 'integer',
  },
  ...{
    uptime_mins: 'integer or null',
    hosting_type: 'integer',
    time_remaining: 'text',
    credit_balance: 'number or null',
  },
  ...{ credit_discount_max: 'number or null', webpage: 'text or null', logo: 'text', external: 'boolean or null' },
  ...{ start_date: 'number', end_date: 'number', duration: 'number', dph_total: 'number', ports: 'object' },
  ...{ image_uuid: 'text', image_args: 'list of text', image_runtype: 'text', extra_env: [['text']] },
  ...{ jupyter_token: 'text or null', local_ipaddrs: 'text', public_ipaddr: 'text', template_id: 'integer or null' },
  search: { totalHour: 'number' },
  instance: { totalHour: 'number' },
} satisfies Shape

it('rents, runs and destroys an instance', async () => {
  const filters = { verified: { eq: true }, external: { eq: false }, rentable: { eq: true }, rented: { eq: false } }
  const q = { ...filters, num_gpus: { gte: 2 }, order: [['score', 'desc']], type: 'on-demand', allocated_storage: 5.0 }
  const aliases = { cuda_vers: { gte: 12 }, display_active: { eq: false }, dph: { lt: 5 }, flops_usd: { gt: 0 } }
  const found = await java.post('/bundles/', { ...q, ...aliases, dlperf_usd: { gt: 0 } })
  expectFields(found.body.offers, [offerFields])
  expect(found.body.offers).toHaveLength(1)
  const { body: asks } = await java.put('/search/asks/', { select_cols: ['*'], q })
  expect(asks.offers).toEqual(found.body.offers)

  const created = await java.put(
    `/asks/${found.body.offers[0].id}/`,
    '{"client_id":"me","image":"ubuntu","env":{},"price":null,"disk":16.5,"label":"java","extra":null,"onstart":null,' +
      '"args":null,"template_id":null,"template_hash_id":null,"image_login":null,"python_utf8":null,"lang_utf8":null,' +
      '"use_jupyter_lab":null,"jupyter_dir":null,"force":null,"cancel_unavail":null,"user":null,' +
      '"runtype":"jupyter_direc ssh_direc ssh_proxy","volume_info":null,"vm":null}',
  )
  expectFields(created.body, { success: 'boolean', new_contract: 'integer' })
  const id = created.body.new_contract
  const read = () => java.get(`/instances/${id}/`)
  const { body } = await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  expectFields(body.instances, instanceFields)
  expect(body.instances).toMatchObject({ disk_space: 16.5, label: 'java', image_runtype: 'jupyter_direct' })
  expect(Object.keys(body.instances.ports).toSorted()).toEqual(['22/tcp', '8080/tcp'])

  expect((await java.put(`/instances/${id}/`, '{"state":"stopped","label":null}')).body).toEqual({ success: true })
  const stopped = await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'stopped')
  expect(stopped.body.instances).toMatchObject({ label: 'java', intended_status: 'stopped' })
  expect((await java.put(`/instances/${id}/`, '{"state":null,"label":"x"}')).body).toEqual({ success: true })
  expect((await read()).body.instances).toMatchObject({ label: 'x', intended_status: 'stopped' })
  await java.put(`/instances/${id}/`, '{"state":"running","label":null}')
  await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  // The client sends no body here.
  expect((await java.put(`/instances/reboot/${id}/`)).body).toEqual({ success: true })
  await wire.pollUntil(read, ({ body }) => body.instances.actual_status === 'running')
  expect((await java.put(`/instances/recycle/${id}/`)).body).toEqual({ success: true })

  const { body: list } = await java.get('/instances/?owner=me')
  expectFields(list, { instances_found: 'integer', instances: [instanceFields] })
  expect(
    await wire.readLinkedResult(await java.put(`/instances/request_logs/${id}/`, { tail: '10', filter: null })),
  ).toContain('\n')
  expect((await java.delete(`/instances/${id}/`)).body).toEqual({ success: true })
  expect(await java.delete(`/instances/${id}/`)).toMatchObject({ status: 404, body: { error: 'no_such_instance' } })
})

it.each(['GET', 'POST', 'PUT', 'DELETE'] as const)(
  'gets the same answer with and without the upgrade headers: %s',
  async method => {
    const ask = (headers: Record<string, string>) => {
      const client = wire.createClient({ ...profile, key, headers })
      const path = { GET: '/users/current', POST: '/bundles', PUT: '/instances/987654', DELETE: '/instances/987654/' }[
        method
      ]
      return client[method.toLowerCase() as 'get'](path, method === 'POST' ? { limit: 1 } : undefined)
    }
    const [plain, asked] = [await ask({}), await ask(upgradeHeaders)]
    expect(asked).toMatchObject({ status: plain.status, body: plain.body })
    expect([200, 400, 404]).toContain(asked.status)
  },
)

it('reads error answers to requests with upgrade headers', async () => {
  const nobody = wire.createClient({ ...profile, key: 'nobody', headers: upgradeHeaders })
  expect(await nobody.get('/users/current/')).toMatchObject({ status: 401, body: { msg: 'Invalid user key' } })
  expect(await java.get('/nowhere/')).toMatchObject({ status: 404 })
})
