// The current Python command line. It sends the key in a header, reads lists in pages, and sends `{}` as an empty body.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, startWireServer, type WireAnswer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let key: string
let cli: Client

const profile = {
  agent: 'vastai-cli/0.0.0',
  headers: { 'Accept-Encoding': 'gzip, deflate', Accept: '*/*', Connection: 'keep-alive' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

beforeAll(async () => {
  wire = await startWireServer({ sshProxy: { host: 'ssh.example.com', port: 2222 } })
  key = await wire.newKey()
  cli = wire.createClient({ ...profile, key })
  await wire.listMachines({ numGpus: 2, country: 'KR' }, { numGpus: 1 }, { numGpus: 1 }, { numGpus: 1 })
})

afterAll(() => wire.close())

const successBody = { success: true }
/** The client checks the content type before it reads rows. */
const isJson = ({ headers }: WireAnswer) => headers['content-type'] === 'application/json'

const search = {
  ...{ verified: { eq: true }, external: { eq: false }, rentable: { eq: true } },
  ...{ order: [['score', 'desc']], type: 'on-demand', allocated_storage: 5.0 },
}

/** Fields of a row that `search offers` prints, with the types that the command can format. */
const offerFields = {
  ...{ id: 'integer', ask_contract_id: 'integer', bundle_id: 'integer', machine_id: 'integer', host_id: 'integer' },
  ...{ num_gpus: 'integer', gpu_name: 'words', gpu_ram: 'integer', gpu_total_ram: 'integer', cpu_ram: 'integer' },
  ...{
    cpu_cores: 'integer',
    cpu_cores_effective: 'number',
    cpu_ghz: 'number',
    disk_space: 'number',
    disk_bw: 'number',
  },
  ...{ dph_base: 'number', dph_total: 'number', storage_cost: 'number', min_bid: 'number', score: 'number' },
  ...{ reliability: 'number', reliability2: 'number', dlperf: 'number', dlperf_per_dphtotal: 'number' },
  ...{ flops_per_dphtotal: 'number', total_flops: 'number', cuda_max_good: 'number', compute_cap: 'integer' },
  ...{ driver_version: 'words', inet_up: 'number', inet_down: 'number', inet_up_cost: 'number' },
  ...{ inet_down_cost: 'number', duration: 'number', pcie_bw: 'number', pci_gen: 'number', bw_nvlink: 'number' },
  ...{ gpu_mem_bw: 'number', gpu_frac: 'number', direct_port_count: 'integer', geolocation: 'words' },
  ...{ verification: 'words', hosting_type: 'integer', static_ip: 'boolean', rentable: 'boolean', rented: 'boolean' },
  ...{ cpu_name: 'text', cpu_arch: 'text', gpu_arch: 'text', mobo_name: 'text', os_version: 'text', disk_name: 'text' },
  ...{ has_avx: 'integer', public_ipaddr: 'text', end_date: 'number', vms_enabled: 'boolean' },
  ...{ avail_vol_ask_id: 'integer', avail_vol_size: 'number', avail_vol_dph: 'number' },
  ...{ discounted_dph_total: 'number', vram_costperhour: 'number', credit_discount_max: 'number' },
  search: { gpuCostPerHour: 'number', diskHour: 'number', totalHour: 'number', discountTotalHour: 'number' },
  instance: { gpuCostPerHour: 'number', diskHour: 'number', totalHour: 'number', discountTotalHour: 'number' },
} satisfies Shape

/** Fields of a row that `show instance` prints. */
const instanceFields = {
  ...{ id: 'integer', machine_id: 'integer', actual_status: 'text or null', label: 'text or null' },
  ...{ intended_status: 'words', cur_state: 'words', next_state: 'words', status_msg: 'text or null' },
  ...{ start_date: 'number', extra_env: [['text']], ports: 'object', public_ipaddr: 'text', local_ipaddrs: 'text' },
  ...{ ssh_host: 'text', ssh_port: 'integer', ssh_idx: 'text', image_runtype: 'words', image_uuid: 'words' },
  ...{ image_args: 'list of text', onstart: 'text or null', template_id: 'integer or null' },
  ...{ template_hash_id: 'text or null', template_name: 'text or null', jupyter_token: 'text or null' },
  ...{ num_gpus: 'integer', gpu_name: 'words', gpu_util: 'number or null', gpu_temp: 'number or null' },
  ...{ gpu_ram: 'integer', gpu_totalram: 'integer', gpu_frac: 'number', cpu_cores: 'integer', cpu_ram: 'integer' },
  ...{ cpu_cores_effective: 'number', cpu_util: 'number', mem_usage: 'number or null', mem_limit: 'number or null' },
  ...{ disk_space: 'number', disk_usage: 'number', disk_util: 'number', disk_name: 'text', disk_bw: 'number' },
  ...{ dph_base: 'number', dph_total: 'number', storage_cost: 'number', storage_total_cost: 'number' },
  ...{ inet_up: 'number', inet_down: 'number', inet_up_cost: 'number', inet_down_cost: 'number' },
  ...{ is_bid: 'boolean', min_bid: 'number', verification: 'words', geolocation: 'words', reliability2: 'number' },
  ...{ driver_version: 'words', cuda_max_good: 'number', uptime_mins: 'integer or null', duration: 'number' },
  ...{ end_date: 'number', volume_info: 'list', static_ip: 'boolean', host_id: 'integer', hosting_type: 'integer' },
} satisfies Shape

it('rents, runs and destroys an instance', async () => {
  const found = await cli.post('/bundles/', { ...search, num_gpus: { gte: '2' }, reliability: { gt: '0.9' } })
  expect(isJson(found)).toBe(true)
  expectFields(found.body.offers, [offerFields])
  expect(found.body.offers).toHaveLength(1)
  const [offer] = found.body.offers

  const created = await cli.put(
    `/asks/${offer.id}/`,
    '{"client_id":"me","image":"ubuntu:22.04","env":{"A":"1","-p 8000:8000":"1","-p 53:53/udp":"1"},"price":null,' +
      '"disk":20.0,"label":"my","extra":null,"onstart":"echo hi","image_login":null,"python_utf8":false,' +
      '"lang_utf8":false,"use_jupyter_lab":false,"jupyter_dir":null,"force":false,"cancel_unavail":false,' +
      '"template_hash_id":null,"user":null,"runtype":"ssh_direc ssh_proxy"}',
  )
  expectFields(created.body, { success: 'boolean', new_contract: 'integer', instance_api_key: 'words' })
  const id = created.body.new_contract
  const show = () => cli.get(`/instances/${id}/?owner=me`)

  const seen: unknown[] = []
  const running = await wire.pollUntil(show, ({ body }) => {
    seen.push(body.instances.actual_status)
    return body.instances.actual_status === 'running'
  })
  expect([...new Set(seen)]).toEqual(['created', 'loading', 'running'])
  const row = running.body.instances
  expectFields(row, instanceFields)
  expect(row).toMatchObject({ id, label: 'my', disk_space: 20, onstart: 'echo hi', image_uuid: 'ubuntu:22.04' })
  expect(Object.fromEntries(row.extra_env)).toMatchObject({ A: '1', '-p 8000:8000': '1', '-p 53:53/udp': '1' })
  expectFields(row.ports, {
    '22/tcp': [{ HostIp: 'text', HostPort: 'digits' }],
    '8000/tcp': [{ HostIp: 'text', HostPort: 'digits' }],
    '53/udp': [{ HostIp: 'text', HostPort: 'digits' }],
  })
  expect(sshUrl(row)).toBe(`ssh://root@${row.public_ipaddr}:${row.ssh_port}`)
  expect(row.ssh_host).toBe(row.public_ipaddr)

  expect((await cli.put(`/instances/${id}/`, { label: 'other' })).body).toEqual(successBody)
  expect((await cli.put(`/instances/${id}/`, { state: 'stopped' })).body).toEqual(successBody)
  await wire.pollUntil(show, ({ body }) => body.instances.actual_status === 'stopped')
  expect((await show()).body.instances).toMatchObject({ label: 'other', intended_status: 'stopped', ports: {} })
  expect((await cli.put(`/instances/${id}/`, { state: 'running' })).body).toEqual(successBody)
  await wire.pollUntil(show, ({ body }) => body.instances.actual_status === 'running')
  expect((await cli.put(`/instances/reboot/${id}/`, {})).body).toEqual(successBody)
  await wire.pollUntil(show, ({ body }) => body.instances.actual_status === 'running')
  expect((await cli.put(`/instances/recycle/${id}/`, {})).body).toEqual(successBody)
  await wire.pollUntil(show, ({ body }) => body.instances.actual_status === 'running')

  expect(await wire.readLinkedResult(await cli.put(`/instances/request_logs/${id}/`, {}))).toContain('\n')
  const few = { tail: '10', filter: 'hi', daemon_logs: 'true' }
  expect(typeof (await wire.readLinkedResult(await cli.put(`/instances/request_logs/${id}/`, few)))).toBe('string')
  const ran = await cli.put(`/instances/command/${id}/`, { command: 'ls -l' })
  expectFields(ran.body, { writeable_path: 'text' })
  expect((await wire.readLinkedResult(ran)).replace(ran.body.writeable_path, '')).toContain('\n')

  const changed = {
    id,
    template_hash_id: null,
    template_id: null,
    image: 'ubuntu:24.04',
    args: null,
    env: null,
    onstart: null,
  }
  expect((await cli.put(`/instances/update_template/${id}/`, changed)).body).toEqual(successBody)
  expect((await show()).body.instances.image_uuid).toBe('ubuntu:24.04')

  expect((await cli.delete(`/instances/${id}/`, {})).body).toEqual(successBody)
  const again = await cli.delete(`/instances/${id}/`, {})
  expect(printedError(again)).toBe(`Failed with error 404: Instance ${id} is destroyed. Rent another one.`)
  expect((await show()).body.instances).toBeNull()
})

it('lists instances page by page, until the last page', async () => {
  const ids = [await rent({ label: 'a' }), await rent({ label: 'b' })]
  const columns = [
    ...['id', 'actual_status', 'label', 'num_gpus', 'gpu_name', 'gpu_util', 'disk_space', 'disk_usage', 'disk_util'],
    ...['volume_info', 'dph_total', 'image_uuid', 'start_date', 'verification', 'machine_id', 'template_id'],
    ...['template_name', 'geolocation', 'inet_up', 'inet_down', 'ssh_host', 'ssh_port', 'status_msg'],
  ]
  const query = (more: object) =>
    new URLSearchParams({ order_by: '[{"col":"id","dir":"asc"}]', select_cols: JSON.stringify(columns), ...more })
  const first = await cli.get(`/api/v1/instances/?${query({ limit: '1' })}`)
  expectFields(first.body, {
    ...{ success: 'boolean', total_instances: 'integer', instances_found: 'integer', next_token: 'words' },
    label_counts: { a: 'integer', b: 'integer' },
    instances: [{ ...{ id: 'integer', start_date: 'number', volume_info: 'list', disk_util: 'number' } }],
  })
  expect(Object.keys(first.body.instances[0])).toEqual(columns)
  const second = await cli.get(`/api/v1/instances/?${query({ limit: '1', after_token: first.body.next_token })}`)
  expect([first, second].map(({ body }) => body.instances[0].id)).toEqual(ids)
  expect(second.body.next_token).toBeNull()

  const select_filters = JSON.stringify({
    ...{ actual_status: { in: ['created', 'loading'] }, label: { in: ['b', null] }, gpu_name: { in: ['RTX 4090'] } },
  })
  const filtered = await cli.get(`/api/v1/instances/?${query({ limit: '25', select_filters })}`)
  expect(filtered.body).toMatchObject({ total_instances: 1, label_counts: { b: 1 }, next_token: null })
  const filters = await cli.get('/instances/filters/')
  expectFields(filters.body, { filters: [{ actual_status: 'words', verification: 'words', gpu_name: 'words' }] })

  expect((await cli.put('/instances/', { state: 'stopped', ids })).body).toEqual(successBody)
  expect((await cli.delete('/instances/', { instance_ids: ids })).body).toEqual(successBody)
  // The client repeats the request five times, whatever the answer.
  for (let turn = 1; turn <= 5; turn += 1) {
    expect((await cli.delete('/instances/', { instance_ids: ids })).body.error).toBe('instances_not_found')
  }
  expect((await cli.get('/api/v1/instances/?limit=25')).body).toMatchObject({ instances: [], next_token: null })
})

it('searches through its other endpoints', async () => {
  const asks = await cli.put('/search/asks/', { select_cols: ['*'], q: { ...search, limit: 1 } })
  expect(isJson(asks)).toBe(true)
  expectFields(asks.body.offers, [offerFields])
  expectFields((await cli.get('/gpu_names/unique/')).body, { gpu_names: 'list of words' })
  const q = { ...search, num_gpus: { eq: '1' }, gpu_name: { eq: 'RTX 4090' }, limit: 3 }
  const launched = await cli.put('/launch_instance/', {
    ...{ client_id: 'me', image: 'ubuntu', disk: 16, q, env: {}, label: null, extra: null, onstart: null },
    ...{ image_login: null, python_utf8: false, lang_utf8: false, use_jupyter_lab: false, jupyter_dir: null },
    ...{ force: false, cancel_unavail: false, template_hash_id: null, runtype: 'jupyter_proxy ssh_proxy' },
  })
  expectFields(launched.body, { success: 'boolean', new_contract: 'integer' })
  // For a notebook through the proxy the client adds 1 to ssh_port to get the SSH port.
  const { body } = await wire.pollUntil(
    () => cli.get(`/instances/${launched.body.new_contract}/?owner=me`),
    ({ body }) => body.instances.actual_status === 'running',
  )
  expect(sshUrl(body.instances)).toBe('ssh://root@ssh.example.com:2222')
  expect((await cli.delete(`/instances/${launched.body.new_contract}/`, {})).body).toEqual(successBody)
})

it('bids and changes its bid', async () => {
  const { body } = await cli.post('/bundles/', { ...search, type: 'bid', limit: 1 })
  const [offer] = body.offers
  expect(offer.is_bid).toBe(true)
  const id = await rent({ price: offer.min_bid }, offer.id)
  expect((await cli.put(`/instances/bid_price/${id}/`, { client_id: 'me', price: offer.min_bid + 0.1 })).body).toEqual(
    successBody,
  )
  expect((await cli.put(`/instances/bid_price/${id}/`, { client_id: 'me', price: null })).body).toEqual(successBody)
  expect((await cli.get(`/instances/${id}/`)).body.instances).toMatchObject({ is_bid: true })
  await cli.delete(`/instances/${id}/`, {})
  const onDemand = await rent({})
  const refused = await cli.put(`/instances/bid_price/${onDemand}/`, { client_id: 'me', price: 0.3 })
  expect(printedError(refused)).toBe("Failed with error 400: Can't change price of on-demand contract.")
  await cli.delete(`/instances/${onDemand}/`, {})
})

it('prints errors', async () => {
  const stranger = wire.createClient({ ...profile, key: 'nobody' })
  const refused = await stranger.get('/users/current?owner=me')
  expect([refused.status, refused.body.msg]).toEqual([401, 'Invalid user key'])
  const gone = await cli.put('/asks/987654/', { client_id: 'me', image: 'ubuntu', price: null })
  expect([gone.status, gone.body.error]).toEqual([404, 'no_such_ask'])
  expect(printedError(await cli.put('/instances/', { state: 'stopped', ids: [] }))).toBe(
    'Failed with error 400: ids list required',
  )
  expect(printedError(await cli.post('/bundles/', '[1]'))).toBe('Failed with error 400: Invalid json body')
  const id = await rent({})
  for (const asked of [
    cli.put(`/instances/prepay/${id}/`, { amount: 10.0 }),
    cli.get(`/instances/balance/${id}/?owner=me`),
    cli.put('/commands/copy_direct/', {
      client_id: 'me',
      src_id: `${id}`,
      dst_id: '2',
      src_path: '/a',
      dst_path: '/b',
    }),
    cli.put('/commands/rsync/', { client_id: 'me', src_id: null, dst_id: `${id}`, src_path: '/a', dst_path: '/b' }),
  ]) {
    expect(printedError(await asked)).toMatch(/^Failed with error 501: \w/)
  }
})

/** Builds the URL as `ssh-url` does. */
// biome-ignore lint/suspicious/noExplicitAny: as the client does
function sshUrl(row: any): string {
  const [direct] = row.ports['22/tcp'] ?? []
  if (direct) return `ssh://root@${row.public_ipaddr}:${direct.HostPort}`
  return `ssh://root@${row.ssh_host}:${row.ssh_port + (row.image_runtype.includes('jupyter') ? 1 : 0)}`
}

function printedError({ status, body }: WireAnswer): string {
  return `Failed with error ${status}: ${body.msg}`
}

async function rent(body: object, offer?: number): Promise<number> {
  const id = offer ?? (await cli.post('/bundles/', { ...search, limit: 1 })).body.offers[0].id
  const { body: created } = await cli.put(`/asks/${id}/`, {
    client_id: 'me',
    image: 'ubuntu',
    disk: 10,
    price: null,
    ...body,
  })
  expect(created.success).toBe(true)
  return created.new_contract
}
