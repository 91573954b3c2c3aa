// A cluster launcher on the Python SDK. It takes the first row of a search, reads the new instance at once, and indexes
// the rows of lists.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { launch, list, profile, search } from '../support/rest/cluster-launcher.ts'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let sky: Client

beforeAll(async () => {
  wire = await startWireServer()
  sky = wire.createClient({ ...profile, key: await wire.newKey() })
  const expensive = { gpuNanos: 900_000_000n, country: 'US' }
  await wire.listMachines({ ...expensive }, { country: 'US' }, { country: 'SE' }, { country: 'US', datacenter: false })
})

afterAll(() => wire.close())

const instanceFields = {
  ...{ id: 'integer', label: 'text or null', actual_status: 'text or null', status_msg: 'text or null' },
  ...{ ssh_port: 'integer or null', ssh_host: 'text or null', local_ipaddrs: 'text', public_ipaddr: 'text' },
  ...{ ports: 'object', intended_status: 'text' },
} satisfies Shape

const findOffer = async () => (await sky.post('/bundles/', search)).body.offers[0]

async function listInstances() {
  const { body } = await sky.get(list)
  // A missing key is fatal for the client.
  for (const row of body.instances) expect(Object.keys(row)).toEqual(expect.arrayContaining(['label', 'actual_status']))
  expectFields(body.instances, [instanceFields])
  return body.instances
}

it('rents, runs and destroys an instance', async () => {
  // The client registers its SSH key before it rents; without the key it cannot log in.
  expectFields((await sky.post('/ssh/', { ssh_key: aPublicKey('sky') })).body, { key: { id: 'integer' } })
  const offer = await findOffer()
  expectFields(offer, { id: 'integer', min_bid: 'number', geolocation: 'words', hosting_type: 'integer' })
  expect([offer.geolocation.slice(-2), offer.hosting_type, offer.dph_base]).toEqual(['US', 1, 0.4])
  const created = await sky.put(`/asks/${offer.id}/`, launch)
  expectFields(created.body, { new_contract: 'integer' })
  const id = created.body.new_contract
  const { body } = await sky.get(`/instances/${id}/`)
  expect(body.instances).toMatchObject({ id, label: 'sky-1-head', image_uuid: 'vastai/base:0.0.2' })
  expect(body.instances.extra_env).toEqual(
    expect.arrayContaining([
      ['A', '1'],
      ['-p 80:80', '1'],
    ]),
  )

  const row = async () => (await listInstances()).find((row: { id: number }) => row.id === id)
  await wire.pollUntil(
    () => sky.get(`/instances/${id}/`),
    ({ body }) => body.instances.actual_status === 'running',
  )
  const ready = await row()
  expect(ready.ssh_port).not.toBeNull()
  // The client combines ssh_host with the port in `ports`, so both must name the same endpoint.
  const port = Number(ready.ports['22/tcp']?.[0].HostPort ?? ready.ssh_port)
  expect([ready.ssh_host, port]).toEqual([ready.public_ipaddr, ready.ssh_port])
  expect(typeof ready.local_ipaddrs.trim()).toBe('string')

  expect((await sky.put(`/instances/${id}/`, { state: 'stopped' })).body).toEqual({ success: true })
  await wire.pollUntil(
    () => sky.get(`/instances/${id}/`),
    ({ body }) => ['exited', 'stopped'].includes(body.instances.actual_status),
  )
  expect((await sky.delete(`/instances/${id}/`, {})).body).toEqual({ success: true })
  expect(await listInstances()).toEqual([])
})

it('bids the minimum bid', async () => {
  const offer = await findOffer()
  const { body } = await sky.put(`/asks/${offer.id}/`, {
    image: 'ubuntu',
    disk: 80,
    env: '',
    price: offer.min_bid,
    label: 'spot',
  })
  const { body: read } = await sky.get(`/instances/${body.new_contract}/`)
  expect(read.instances).toMatchObject({ is_bid: true, min_bid: offer.min_bid, intended_status: 'running' })
  expect((await listInstances()).map(({ label }: { label: string }) => label)).toEqual(['spot'])
  await sky.delete(`/instances/${body.new_contract}/`, {})
})
