// A container orchestrator. It runs its own entrypoint, reads the port forwarded to it, and indexes every field that it
// reads, so a missing field is fatal.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let key: string
let dstack: Client

const profile = {
  agent: 'python-requests/2.32.3',
  headers: { 'Accept-Encoding': 'gzip, deflate', Accept: '*/*', Connection: 'keep-alive' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

beforeAll(async () => {
  wire = await startWireServer()
  key = await wire.newKey()
  dstack = wire.createClient({ ...profile, key })
  await wire.listMachines({}, {})
})

afterAll(() => wire.close())

/** The search conditions of the orchestrator's offer catalog. */
const search = {
  ...{ rentable: { eq: true }, rented: { eq: false }, disk_space: { gte: 100 }, direct_port_count: { gte: 1 } },
  ...{ reliability2: { gte: 0.9 }, inet_down: { gt: 128 }, verified: { eq: true }, cuda_max_good: { gte: 12.8 } },
  ...{ compute_cap: { gte: 600 }, order: [['score', 'desc']], limit: 3000 },
}
const instanceFields = {
  ...{ actual_status: 'text or null', status_msg: 'text or null', cur_state: 'words', intended_status: 'words' },
  ...{ next_state: 'words', ports: 'object', public_ipaddr: 'text' },
} satisfies Shape

async function rent(body: object = {}) {
  const { body: found } = await dstack.post('/bundles/', search)
  const created = await dstack.put(`/asks/${found.offers[0].id}/`, {
    ...{ client_id: 'me', image: 'dstackai/base:py3.12', disk: 100, label: 'run-1', env: { '-p 10022:10022': '1' } },
    ...{ user: null, runtype: 'args', onstart: '/bin/sh', args: ['-c', 'mkdir -p ~/.ssh && sshd -p 10022'] },
    ...{ entrypoint: null, image_login: null, python_utf8: false, lang_utf8: false, use_jupyter_lab: false },
    ...{ jupyter_dir: null, create_from: '', template_hash_id: null, force: false, price: null, ...body },
  })
  return created.body.new_contract as number
}

it('distinguishes a valid key from an invalid key', async () => {
  expect((await dstack.get('/api/v1/instances/')).status).toBe(200)
  expect((await wire.createClient({ ...profile, key: 'nobody' }).get('/api/v1/instances/')).status).toBe(401)
})

it('rents, runs and destroys an instance', async () => {
  const id = await rent()
  const read = () => dstack.get(`/instances/${id}/`)
  const { body } = await wire.pollUntil(read, ({ body }) => {
    expectFields(body.instances, instanceFields)
    if (body.instances.actual_status === 'created') expect(body.instances.status_msg).not.toContain('OCI runtime')
    return body.instances.actual_status === 'running'
  })
  const row = body.instances
  expect(row.public_ipaddr.trim()).toMatch(/^\d+(\.\d+){3}$/)
  expect(Number(row.ports['10022/tcp'][0].HostPort)).toBeGreaterThan(1024)
  expect(row).toMatchObject({ image_args: ['-c', 'mkdir -p ~/.ssh && sshd -p 10022'], onstart: '/bin/sh' })
  expect((await dstack.delete(`/instances/${id}/`)).body).toEqual({ success: true })
  // The orchestrator retries the deletion until the instance is not found.
  expect(await dstack.delete(`/instances/${id}/`)).toMatchObject({ status: 404, body: { error: 'no_such_instance' } })
})

it('sees that a stopped instance is stopped', async () => {
  const id = await rent()
  await dstack.put(`/instances/${id}/`, { state: 'stopped' })
  const { body } = await wire.pollUntil(
    () => dstack.get(`/instances/${id}/`),
    ({ body }) => body.instances.actual_status !== 'running' && body.instances.next_state === 'stopped',
  )
  expect(body.instances).toMatchObject({ cur_state: 'stopped', intended_status: 'stopped', next_state: 'stopped' })
  await dstack.delete(`/instances/${id}/`)
})

it('recognizes an offer that is gone', async () => {
  const gone = await dstack.put('/asks/987654/', { client_id: 'me', image: 'ubuntu', disk: 100 })
  expect(gone).toMatchObject({ status: 404, body: { success: false, error: 'no_such_ask' } })
  expect(gone.body).not.toHaveProperty('new_contract')
})
