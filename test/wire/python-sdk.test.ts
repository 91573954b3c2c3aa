// The Python SDK. It sends the key in a header, `Content-Length: 0` for an empty body, and rents several offers at once.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields } from '../support/rest/wire-fields.ts'

let wire: WireServer
let sdk: Client

beforeAll(async () => {
  wire = await startWireServer()
  sdk = wire.createClient({
    ...{ agent: 'vastai-sdk/0.3.1', key: await wire.newKey(), saysEmpty: true },
    headers: { 'Accept-Encoding': 'gzip, deflate', Accept: '*/*', Connection: 'keep-alive' },
    bodyHeaders: { 'Content-Type': 'application/json' },
  })
  await wire.listMachines({}, {}, {})
})

afterAll(() => wire.close())

const search = { verified: { eq: true }, rentable: { eq: true }, rented: { eq: false }, order: [['score', 'desc']] }
const settings = {
  ...{ client_id: 'me', image: 'ubuntu', env: { A: '1' }, price: null, disk: 10, label: 'many', extra: null },
  ...{ onstart: null, image_login: null, python_utf8: false, lang_utf8: false, use_jupyter_lab: false },
  ...{ jupyter_dir: null, force: false, cancel_unavail: false, template_hash_id: null, runtype: 'ssh_direc ssh_proxy' },
}

it('rents several offers and destroys the instances one by one', async () => {
  const { body: found } = await sdk.post('/bundles/', { ...search, limit: 2 })
  const ids = found.offers.map(({ id }: { id: number }) => id)
  const { body } = await sdk.post('/asks/bulk/', { ...settings, ids: [...ids, 987_654] })
  expectFields(body, {
    ...{ success: 'boolean', created: 'list of integer', failed: 'list of integer', elapsed: 'number' },
    results: [{ ask_id: 'integer', success: 'boolean' }],
  })
  expect(body.failed).toEqual([987_654])
  expectFields(body.results[0], { new_contract: 'integer', state: 'words' })
  expectFields(body.results[2], { error: 'words', msg: 'words' })
  expect(body.results[2].error).toBe('no_such_ask')

  for (const id of body.created) {
    await wire.pollUntil(
      () => sdk.get(`/instances/${id}/`),
      ({ body }) => body.instances.actual_status === 'running',
    )
  }
  const { body: list } = await sdk.get('/api/v1/instances/?limit=25')
  expect(list).toMatchObject({ total_instances: 2, label_counts: { many: 2 } })
  expect((await sdk.put('/instances/', { ids: body.created, state: 'stopped' })).body).toEqual({ success: true })
  expect((await sdk.put('/instances/', { ids: body.created, label: 'few' })).body).toEqual({ success: true })
  for (const id of body.created) {
    const { body } = await wire.pollUntil(
      () => sdk.get(`/instances/${id}/`),
      ({ body }) => body.instances.actual_status === 'stopped',
    )
    expect(body.instances.label).toBe('few')
    expect((await sdk.delete(`/instances/${id}/`)).body).toEqual({ success: true })
    expect((await sdk.delete(`/instances/${id}/`)).status).toBe(404)
  }
})

it('gets the reason when nothing was rented', async () => {
  const messages = []
  for (const body of [settings, { ...settings, ids: [] }, { ...settings, ids: Array(65).fill(1) }]) {
    const { status, body: failure } = await sdk.post('/asks/bulk/', body)
    messages.push([status, failure.error, failure.msg])
  }
  expect(messages).toEqual([
    [400, 'invalid_args', "error missings offer 'ids' parameter"],
    [400, 'invalid_args', 'no ask ids provided'],
    [400, 'invalid_args', 'too many ask ids provided; max is 64'],
  ])
  const none = await sdk.post('/asks/bulk/', { ...settings, ids: [987_654] })
  expect(none).toMatchObject({ status: 400, body: { error: 'no_such_ask', created: [], failed: [987_654] } })
})

it('reads the audit log', async () => {
  const { body } = await sdk.get('/audit_logs/')
  expectFields(body, [
    {
      ip_address: 'text or null',
      api_key_id: 'integer or null',
      created_at: 'number',
      api_route: 'text or null',
      args: 'object',
    },
  ])
  expect(body.length).toBeGreaterThan(2)
})
