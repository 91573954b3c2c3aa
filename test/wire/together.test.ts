// Several clients on one account. Each sees in its own requests what the other clients did.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'

let wire: WireServer
let clients: Record<'cli' | 'old' | 'go' | 'java' | 'node' | 'terraform', Client>

beforeAll(async () => {
  wire = await startWireServer()
  const key = await wire.newKey()
  const typed = { 'Content-Type': 'application/json' }
  clients = {
    cli: wire.createClient({ agent: 'vastai-cli/0.0.0', key, bodyHeaders: typed }),
    old: wire.createClient({ agent: 'python-requests/2.28.1', key, keyIn: 'url', bodyHeaders: typed }),
    go: wire.createClient({ agent: 'vast-ai-go/0.1.0', key, bodyHeaders: typed }),
    java: wire.createClient({
      ...{ agent: 'Java-http-client/17.0.15', key, saysEmpty: true },
      headers: { Connection: 'Upgrade, HTTP2-Settings', 'HTTP2-Settings': 'AAMAAABkAAQCAAAAAAIAAAAA', Upgrade: 'h2c' },
    }),
    node: wire.createClient({ agent: 'axios/1.21.1', key, keyIn: 'both', headers: typed }),
    terraform: wire.createClient({ agent: 'terraform-provider-vastai/0.3.0', key, keyIn: 'both', bodyHeaders: typed }),
  }
  await wire.listMachines({}, {}, {}, {})
})

afterAll(() => wire.close())

type Row = { id: number; label: string | null; actual_status: string }
const sortById = (rows: Row[]) => rows.toSorted((one, other) => one.id - other.id)

/** Lists the instances with every client, expects equal rows, and returns them. */
async function readLists(): Promise<Row[]> {
  const { cli, old, go, java, node, terraform } = clients
  const all = [
    await cli.get('/api/v1/instances/?order_by=%5B%7B%22col%22%3A%22id%22%2C%22dir%22%3A%22asc%22%7D%5D&limit=25'),
    await old.get('/instances?owner=me'),
    await go.get('/api/v1/instances/?limit=25'),
    await java.get('/instances/?owner=me'),
    await node.get('/instances?owner=me'),
    await terraform.get('/instances/'),
  ].map(({ body }) => sortById(body.instances))
  for (const rows of all) expect(rows).toEqual(all[0])
  return all[0] as Row[]
}

it('lets only one of five clients rent the same offer at once', async () => {
  const { cli, go, java, node, terraform } = clients
  const { body } = await cli.post('/bundles/', { limit: 1, order: [['dph_total', 'asc']] })
  const path = `/asks/${body.offers[0].id}/`
  const answers = await Promise.all([
    cli.put(path, {
      client_id: 'me',
      image: 'ubuntu',
      disk: 10,
      label: null,
      price: null,
      runtype: 'ssh_direc ssh_proxy',
    }),
    go.put(path, { image: 'ubuntu', disk: 10, runtype: 'ssh_direct', target_state: 'running' }),
    java.put(path, { client_id: 'me', image: 'ubuntu', disk: 10.5, template_id: null, price: null }),
    node.put(path, { image: 'ubuntu', disk_space: 10, env: { _a: '1' } }),
    terraform.put(path, { image: 'ubuntu', disk: 10, runtype: '' }),
  ])
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404])
  expect(answers.filter(({ status }) => status === 404).map(({ body }) => body.error)).toEqual(
    Array(4).fill('no_such_ask'),
  )
  const [won] = answers.filter(({ status }) => status === 200)
  expect((await readLists()).map(({ id }) => id)).toEqual([won?.body.new_contract])
  await cli.delete(`/instances/${won?.body.new_contract}/`, {})
})

it('shows each client the changes of the other clients', async () => {
  const { cli, old, go, java, node, terraform } = clients
  const { body } = await old.post('/bundles/', { limit: 2 })
  const [first, second] = body.offers.map(({ id }: Row) => id)
  const { new_contract: id } = (
    await cli.put(`/asks/${first}/`, { client_id: 'me', image: 'ubuntu', disk: 10, label: 'cli' })
  ).body
  const { new_contract: other } = (await node.put(`/asks/${second}`, { image: 'ubuntu', disk_space: 10 })).body
  expect((await readLists()).map(({ id, label }) => [id, label])).toEqual([
    [id, 'cli'],
    [other, null],
  ])
  await wire.pollUntil(
    () => old.get(`/instances/${id}/`),
    ({ body }) => body.instances.actual_status === 'running',
  )
  expect(await readLists()).toMatchObject([{ actual_status: 'running' }, { actual_status: 'running' }])

  // Each request sets one field and sends null for the other.
  await java.put(`/instances/${id}/`, '{"state":"stopped","label":null}')
  await java.put(`/instances/${other}/`, '{"state":null,"label":"java"}')
  await wire.pollUntil(
    () => go.get(`/instances/${id}/`),
    ({ body }) => body.instances.actual_status === 'stopped',
  )
  expect(await readLists()).toMatchObject([
    { label: 'cli', actual_status: 'stopped' },
    { label: 'java', actual_status: 'running' },
  ])
  await node.put(`/instances/${id}/start`, {})
  await wire.pollUntil(
    () => terraform.get(`/instances/${id}/`),
    ({ body }) => body.instances.actual_status === 'running',
  )

  // Five clients destroy the instance at once: one succeeds, and the other four get 404.
  const path = `/instances/${id}/`
  const ends = await Promise.all([
    cli.delete(path, {}),
    go.delete(path),
    java.delete(path),
    node.delete(path),
    terraform.delete(path),
  ])
  expect(ends.map(({ status }) => status).toSorted()).toEqual([200, 404, 404, 404, 404])
  expect((await readLists()).map(({ id }) => id)).toEqual([other])
  expect((await cli.delete('/instances/', { instance_ids: [id, other] })).body).toEqual({ success: true })
  expect(await readLists()).toEqual([])
})

it('shows every client the same row of an instance', async () => {
  const { body } = await clients.go.post('/bundles/', { limit: 1 })
  const { new_contract: id } = (
    await clients.terraform.put(`/asks/${body.offers[0].id}/`, { image: 'ubuntu', disk: 10 })
  ).body
  const rows = await Promise.all(
    Object.values(clients).map(async client => (await client.get(`/instances/${id}/`)).body.instances),
  )
  for (const row of rows) expect(row).toEqual(rows[0])
  expect(await readLists()).toEqual([rows[0]])
})
