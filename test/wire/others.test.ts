// Clients whose code is little known. Each sends requests in its own form and completes a rental.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Client, type ClientProfile, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields } from '../support/rest/wire-fields.ts'

let wire: WireServer
let key: string

beforeAll(async () => {
  wire = await startWireServer()
  key = await wire.newKey()
  await wire.listMachines({}, {}, {}, {})
})

afterAll(() => wire.close())

type ClientCase = {
  profile: ClientProfile
  find: (client: Client) => ReturnType<Client['get']>
  create: object
  list: string
  lastSlash: string
}

const q = { verified: { eq: true }, rentable: { eq: true }, num_gpus: { eq: '1' } }
const jsonType = { 'Content-Type': 'application/json' }

it.each<[string, ClientCase]>([
  [
    'a .NET client that sends chunked bodies with a charset',
    {
      profile: { agent: 'dotnet', chunked: true, bodyHeaders: { 'Content-Type': 'application/json; charset=utf-8' } },
      find: client => client.post('/bundles/', { ...q, type: 'ondemand', limit: 1 }),
      create: { image: 'ubuntu', disk: 10, label: null, runtype: 'ssh_direct' },
      list: '/api/v1/instances/?limit=25',
      lastSlash: '/',
    },
  ],
  [
    'a price shopper that sends args as one string',
    {
      profile: { agent: 'python-requests/2.31.0', keyIn: 'url', bodyHeaders: jsonType },
      find: client => client.get(`/bundles?${new URLSearchParams({ q: JSON.stringify(q) })}`),
      create: { image: 'ubuntu', disk: 10, runtype: 'args', args: "bash -c 'sleep 60'" },
      list: '/instances/',
      lastSlash: '/',
    },
  ],
  [
    'a Go client that searches through /search/asks/ and compares error codes',
    {
      profile: { agent: 'Go-http-client/1.1', bodyHeaders: jsonType },
      find: client => client.put('/search/asks/', { q }),
      create: { client_id: 'me', image: 'ubuntu', disk: 10, args_str: 'sleep 60', runtype: 'args' },
      list: '/instances',
      lastSlash: '',
    },
  ],
  [
    'a shell script',
    {
      profile: {
        agent: 'curl/8.5.0',
        headers: { Accept: '*/*' },
        bodyHeaders: { 'Content-Type': 'application/x-www-form-urlencoded' },
      },
      find: client => client.post('/bundles/', { ...q, gpu_name: { in: ['RTX_4090'] }, limit: 1 }),
      create: { image: 'ubuntu', disk: 10, onstart: 'true', runtype: 'ssh' },
      list: '/instances',
      lastSlash: '',
    },
  ],
])('serves %s', async (_name, { profile, find, create, list, lastSlash }) => {
  const client = wire.createClient({ ...profile, key })
  const found = await find(client)
  expectFields(found.body.offers, [{ id: 'integer', dph_total: 'number', gpu_name: 'words', num_gpus: 'integer' }])
  const { body } = await client.put(`/asks/${found.body.offers[0].id}${lastSlash}`, create)
  expectFields(body, { success: 'boolean', new_contract: 'integer' })
  const gone = await client.put(`/asks/${found.body.offers[0].id}${lastSlash}`, create)
  expect([gone.status, gone.body.error]).toEqual([404, 'no_such_ask'])
  const path = `/instances/${body.new_contract}${lastSlash}`
  await wire.pollUntil(
    () => client.get(path),
    ({ body }) => body.instances.actual_status === 'running',
  )
  expect((await client.get(list)).body.instances.map(({ id }: { id: number }) => id)).toEqual([body.new_contract])
  expect((await client.put(path, { state: 'stopped' })).body).toEqual({ success: true })
  await wire.pollUntil(
    () => client.get(path),
    ({ body }) => body.instances.actual_status === 'stopped',
  )
  expect(
    await wire.readLinkedResult(
      await client.put(`/instances/request_logs/${body.new_contract}${lastSlash}`, { tail: '10' }),
    ),
  ).toContain('\n')
  expect((await client.delete(path)).body).toEqual({ success: true })
  expect((await client.delete(path)).body).toMatchObject({ error: 'no_such_instance' })
})
