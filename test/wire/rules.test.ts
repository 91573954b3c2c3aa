// The rules of the REST face that all clients rely on, one test for each rule.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { DomainError } from '../../src/domain/errors.ts'
import { errorResponse } from '../../src/rest/errors.ts'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import {
  type Client,
  type ClientProfile,
  startWireServer,
  type WireAnswer,
  type WireServer,
} from '../support/rest/wire.ts'
import { expectFields } from '../support/rest/wire-fields.ts'

let wire: WireServer
let publicWire: WireServer
let key: string
let client: Client

beforeAll(async () => {
  wire = await startWireServer({ publicSearch: false })
  publicWire = await startWireServer({ sharedApp: wire.app })
  key = await wire.newKey()
  client = createClient({ key })
  await wire.listMachines({ numGpus: 4 }, ...Array.from({ length: 90 }, () => ({})))
})

afterAll(async () => {
  await publicWire.close()
  await wire.close()
})

const createClient = (profile: Partial<ClientProfile>) => wire.createClient({ agent: 'anything', ...profile })
const findOffers = async (query: object = {}) =>
  (await client.post('/bundles/', { num_gpus: { eq: 1 }, gpu_frac: { eq: 1 }, ...query })).body.offers

async function rent(body: object = {}): Promise<number> {
  const [offer] = await findOffers({ limit: 1 })
  const created = await client.put(`/asks/${offer.id}/`, { image: 'ubuntu', ...body })
  expect(created.status).toBe(200)
  return created.body.new_contract
}

/** The shape of every failure. */
const failureShape = { success: false, error: expect.any(String), msg: expect.any(String) }
const statusAndBody = ({ status, body }: WireAnswer) => ({ status, body })

it('answers with the content type application/json without a charset (rule 1)', async () => {
  const answers = [
    client.post('/bundles/', {}),
    client.put('/search/asks/', {}),
    client.get('/ssh/'),
    client.get('/nowhere'),
  ]
  for (const { headers } of await Promise.all(answers)) expect(headers['content-type']).toBe('application/json')
})

it('serves paths with and without a final slash, without redirects (rule 2)', async () => {
  const id = await rent()
  for (const path of [
    '/users/current',
    '/volumes',
    '/machines',
    '/instances',
    `/instances/${id}`,
    '/ssh',
    '/template',
    '/secrets',
  ]) {
    const [bare, slash] = [await client.get(path), await client.get(`${path}/`)]
    expect(statusAndBody(bare)).toEqual(statusAndBody(slash))
    expect([bare.status, bare.headers['location']]).toEqual([200, undefined])
    expect((await client.get(`${path}/?owner=me`)).body).toEqual(bare.body)
    expect((await client.get(`${path}?owner=me`)).body).toEqual(bare.body)
  }
  for (const path of [`/instances/request_logs/${id}`, `/instances/request_logs/${id}/`]) {
    expect((await client.put(path, {})).body.success).toBe(true)
  }
})

it('takes the key as a bearer token or in the URL, and logs the URL without the key (rule 3)', async () => {
  for (const keyIn of ['header', 'url', 'both'] as const) {
    expect((await createClient({ key, keyIn }).get('/users/current')).status).toBe(200)
    expect((await createClient({ key: 'nobody', keyIn }).get('/users/current')).body.msg).toBe('Invalid user key')
  }
  expect(JSON.stringify(wire.app.logLines)).not.toContain(key)
  expect((await createClient({}).post('/bundles/', {})).status).toBe(401)
  expect(
    (await publicWire.createClient({ agent: 'anything' }).post('/bundles/', { limit: 1 })).body.offers,
  ).toHaveLength(1)
  expect((await publicWire.createClient({ agent: 'anything' }).get('/users/current')).status).toBe(401)
})

it('answers every failure with an object of one shape (rule 4)', async () => {
  const failures = [
    client.get('/nowhere/'),
    client.post('/users/current/', {}),
    client.post('/bundles/', '{'),
    client.post('/bundles/', '[]'),
    client.put('/asks/x/', {}),
    client.put('/asks/1/', `{"image":"${'x'.repeat(2_000_000)}"}`),
    createClient({}).get('/instances/'),
    client.put('/instances/prepay/987654/', { amount: 1 }),
  ]
  for (const { status, body } of await Promise.all(failures)) {
    expect(status).toBeGreaterThan(399)
    expect(body).toMatchObject(failureShape)
  }
})

it('ignores nulls and unknown keys, and reads strings in filters as numbers (rule 5)', async () => {
  const nulls = {
    label: null,
    price: null,
    onstart: null,
    image_login: null,
    volume_info: null,
    runtype: null,
    env: null,
  }
  const extra = {
    client_id: 'me',
    extra: null,
    force: true,
    user: 'root',
    create_from: '',
    apikey_id: 1,
    entrypoint: 'x',
  }
  const id = await rent({ ...nulls, ...extra, ssh_key: 'x', ports: [1], id: 7, owner: 'me' })
  await client.put(`/instances/${id}/`, { label: 'kept' })
  expect((await client.put(`/instances/${id}/`, { state: 'stopped', label: null })).body).toEqual({ success: true })
  expect((await client.get(`/instances/${id}/`)).body.instances).toMatchObject({
    label: 'kept',
    is_bid: false,
    onstart: null,
  })
  const texts = {
    num_gpus: { gte: '4' },
    reliability: { gt: '0.9' },
    rentable: { eq: 'true' },
    external: { eq: 'false' },
  }
  expect((await client.post('/bundles/', texts)).body.offers).toHaveLength(1)
  expect((await client.post('/bundles/', { ...texts, num_gpus: { gte: '5' } })).body.offers).toEqual([])
})

it('accepts a content type without a body, and a body that it does not read (rule 6)', async () => {
  const typed = createClient({ key, headers: { 'Content-Type': 'application/json' } })
  const empty = createClient({ key, saysEmpty: true })
  for (const asks of [typed, empty]) {
    const id = await rent()
    expect((await asks.get('/users/current')).status).toBe(200)
    expect((await asks.get('/users/current/', '{"owner":"me"}')).status).toBe(200)
    expect((await asks.put(`/instances/${id}/stop/`)).body).toEqual({ success: true })
    expect((await asks.delete(`/instances/${id}/`)).body).toEqual({ success: true })
  }
})

it('lists instances in both API versions, and returns the values to filter them by (rule 7)', async () => {
  await rent()
  const [v0, v1] = [(await client.get('/instances/')).body, (await client.get('/api/v1/instances/')).body]
  expectFields(v0, { instances_found: 'integer', instances: [{ id: 'integer' }] })
  expectFields(v1, {
    success: 'boolean',
    total_instances: 'integer',
    label_counts: 'object',
    instances_found: 'integer',
  })
  expect(v1.next_token).toBeNull()
  expect(v1.instances.toReversed()).toEqual(v0.instances)
  const { filters } = (await client.get('/instances/filters/')).body
  expectFields(filters, [{ actual_status: 'text', verification: 'text', gpu_name: 'text' }])
})

it('answers 404 with instances null for an unknown instance (rule 8)', async () => {
  const msg = 'Instance 987654 not found.'
  const missing = { status: 404, body: { success: false, error: 'no_such_instance', msg, instances: null } }
  expect(statusAndBody(await client.get('/instances/987654/'))).toEqual(missing)
  expect(statusAndBody(await client.get('/instances/987654/?owner=me'))).toEqual(missing)
})

it('gives rows every field that clients require (rule 9)', async () => {
  const { body } = await client.get(`/instances/${await rent({ runtype: 'args' })}/`)
  expect(Object.keys(body.instances)).toEqual(expect.arrayContaining(['label', 'actual_status']))
  expect(body.instances).toMatchObject({ extra_env: [], ports: {}, label: null })
  expectFields(body.instances, {
    start_date: 'number',
    gpu_ram: 'integer',
    cpu_ram: 'integer',
    gpu_total_ram: 'integer',
  })
})

it('answers a successful change with {"success":true} and nothing more (rule 10)', async () => {
  const id = await rent()
  const answers = [
    await client.put(`/instances/${id}/`, { label: 'x' }),
    await client.put(`/instances/${id}/`, { state: 'stopped' }),
    await client.put('/instances/', { ids: [id], state: 'stopped' }),
    await client.put(`/instances/${id}/`, { state: 'running' }),
    await client.delete(`/instances/${id}/`),
  ]
  expect(answers.map(({ text }) => text)).toEqual(Array(5).fill('{"success":true}'))
})

it('names the new instance, and says when the offer is gone (rule 11)', async () => {
  const [offer] = await findOffers({ limit: 1 })
  const { body } = await client.put(`/asks/${offer.id}/`, { image: 'ubuntu' })
  expect(Object.keys(body).toSorted()).toEqual(['instance_api_key', 'new_contract', 'success'])
  expectFields(body, { success: 'boolean', new_contract: 'integer', instance_api_key: 'words' })
  for (const cancel_unavail of [true, false]) {
    const gone = await client.put(`/asks/${offer.id}/`, { image: 'ubuntu', cancel_unavail })
    expect(statusAndBody(gone)).toEqual({
      status: cancel_unavail ? 410 : 404,
      body: { ...failureShape, error: 'no_such_ask' },
    })
  }
  expect((await client.put('/asks/987654/', { image: 'ubuntu' })).body.error).toBe('no_such_ask')
})

it('serves results on the host of the request without a key (rule 12)', async () => {
  expect(await wire.readLinkedResult(await client.put(`/instances/request_logs/${await rent()}/`, {}))).toBeTypeOf(
    'string',
  )
  expect(statusAndBody(await createClient({}).get('/results/?token=never'))).toMatchObject({
    status: 404,
    body: failureShape,
  })
})

it('lists SSH keys as an array and API keys in apikeys, and confirms a revocation (rule 13)', async () => {
  await client.post('/ssh/', { ssh_key: aPublicKey('rules') })
  expectFields((await client.get('/ssh/')).body, [{ id: 'integer', public_key: 'words' }])
  const { body } = await client.post('/auth/apikeys/', { name: 'x', permissions: { api: {} } })
  expectFields((await client.get('/auth/apikeys/')).body, { apikeys: [{ id: 'integer', key: 'null' }] })
  expect((await client.delete(`/auth/apikeys/${body.id}/`)).text).toBe('"Successfully Deleted API Key"')
})

it('gives the id of a new volume in three forms (rule 14)', async () => {
  const { body: found } = await client.post('/volumes/search/', { limit: 1 })
  const { body } = await client.put('/volumes/', { id: found.offers[0].id, size: 15 })
  expect(body).toEqual({ success: true, id: expect.any(Number), volume_id: body.id, volume_name: `V.${body.id}` })
})

it('answers a request to upgrade to HTTP/2 in HTTP/1.1 (rule 15)', async () => {
  const headers = {
    Connection: 'Upgrade, HTTP2-Settings',
    Upgrade: 'h2c',
    'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA',
  }
  expect((await createClient({ key, headers }).post('/bundles/', { limit: 2 })).body.offers).toHaveLength(2)
})

it('answers 404 to a repeated destruction and changes nothing (rule 16)', async () => {
  const [id, other] = [await rent(), await rent()]
  expect((await client.delete('/instances/', { instance_ids: [id] })).body).toEqual({ success: true })
  for (let turn = 1; turn <= 5; turn += 1)
    expect((await client.delete('/instances/', { instance_ids: [id] })).status).toBe(404)
  expect((await client.get(`/instances/${other}/`)).status).toBe(200)
})

it('answers too many requests with 429 and Retry-After (rule 17)', async () => {
  const answer = errorResponse(new DomainError('TOO_MANY_STREAMS', 'Too much.')) as Response
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
  expect(await answer.json()).toMatchObject({ ...failureShape, error: 'rate_limited', detail: 'Too much.' })
})

it('lists 64 offers or up to the limit, at prices that add up (rule 18)', async () => {
  expect(await findOffers()).toHaveLength(64)
  expect((await findOffers({ limit: 3_000 })).length).toBeGreaterThan(64)
  for (const allocated_storage of [undefined, 100]) {
    for (const offer of await findOffers({ limit: 5, allocated_storage })) {
      const disk = (offer.storage_cost * (allocated_storage ?? 8)) / 720
      expect(offer.dph_total).toBeCloseTo(offer.dph_base + disk, 9)
      expect([offer.reliability2, offer.ask_contract_id]).toEqual([offer.reliability, offer.id])
    }
  }
})
