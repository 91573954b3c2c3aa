// Clients that only search, most of them without a key: an offer catalog, a dashboard and a price fetcher.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, startWireServer, type WireServer } from '../support/rest/wire.ts'
import { expectFields, type Shape } from '../support/rest/wire-fields.ts'

let wire: WireServer
let anybody: Client

const profile = {
  agent: 'python-requests/2.32.3',
  headers: { 'Accept-Encoding': 'gzip, deflate', Accept: '*/*', Connection: 'keep-alive' },
  bodyHeaders: { 'Content-Type': 'application/json' },
}

beforeAll(async () => {
  wire = await startWireServer()
  anybody = wire.createClient(profile)
  const machines = Array.from({ length: 66 }, () => ({}))
  await wire.listMachines({ country: 'KR', city: 'South Korea', numGpus: 2 }, { reliability: 0.5 }, ...machines)
})

afterAll(() => wire.close())

describe('an offer catalog', () => {
  const filters: Record<string, Record<string, string | number | boolean>> = {
    ...{ rentable: { eq: true }, rented: { eq: false }, disk_space: { gte: 100 }, reliability2: { gte: 0.9 } },
    ...{
      inet_down: { gt: 128 },
      cuda_max_good: { gte: 12.8 },
      compute_cap: { gte: 600 },
      direct_port_count: { gte: 1 },
    },
    ...{ cpu_cores: { gte: 2 }, cpu_ram: { gte: 8_000 }, gpu_ram: { gte: 16_000, lte: 100_000 }, num_gpus: { gte: 1 } },
    ...{ dph_total: { lte: 10 }, total_flops: { gte: 1 }, score: { gte: 0 } },
  }
  const fields = {
    ...{ id: 'integer', machine_id: 'integer', num_gpus: 'integer', gpu_name: 'words', gpu_ram: 'integer' },
    ...{ cpu_cores: 'integer', cpu_cores_effective: 'number', cpu_ram: 'integer', disk_space: 'number' },
    ...{ dph_base: 'number', dph_total: 'number', storage_cost: 'number', min_bid: 'number', geolocation: 'words' },
    ...{ rentable: 'boolean', rented: 'boolean', verification: 'words', gpu_arch: 'words', hosting_type: 'integer' },
  } satisfies Shape

  it('reads and prices every offer of the market', async () => {
    const query = { ...filters, compute_capability: { gte: '800' }, order: [['score', 'desc']], limit: 3000 }
    const { body } = await anybody.post('/bundles/', query)
    // One offer for each machine, and one bundled offer for the halves of the machine with two GPUs.
    expect(body.offers.length).toBe(68)
    expectFields(body.offers, [fields])
    for (const offer of body.offers) {
      const disk = 100
      const price = offer.dph_base + (disk * offer.storage_cost) / 30 / 24
      expect(price).toBeGreaterThan(offer.dph_base)
      expect(Math.round((offer.cpu_ram * offer.cpu_cores_effective) / offer.cpu_cores / 1000)).toBeGreaterThan(0)
      expect(offer.geolocation.split(',').at(-1).trim()).toMatch(/^[A-Z]{2}$/)
      expect([offer.rentable, offer.rented]).toEqual([true, false])
      expect(offer.min_bid).toBeGreaterThan(0)
      // The client applies the filter again, so no field may be null.
      for (const [name, conditions] of Object.entries(filters)) {
        for (const [operator, value] of Object.entries(conditions))
          expect(matchesCondition(offer[name], operator, value), name).toBe(true)
      }
    }
  })

  const matchesCondition = (value: unknown, operator: string, bound: string | number | boolean) => {
    if (operator === 'eq') return value === bound
    if (typeof value !== 'number' || typeof bound !== 'number') return false
    return { gte: value >= bound, gt: value > bound, lte: value <= bound, lt: value < bound }[operator]
  }
})

describe('a dashboard', () => {
  it('reads the machines of a host', async () => {
    const { apiKey } = await wire.app.operations.accounts.createApiKey('host@example.com', { permissions: null })
    const host = wire.createClient({ ...profile, agent: 'Go-http-client/1.1', key: apiKey, keyIn: 'url' })
    const { body } = await host.get('/machines?owner=me')
    const fields = {
      ...{ id: 'integer', machine_id: 'integer', hostname: 'text or null', num_gpus: 'integer', gpu_name: 'words' },
      ...{ listed: 'boolean', listed_gpu_cost: 'number', min_bid_price: 'number', gpu_occupancy: 'words' },
      ...{ reliability2: 'number', verification: 'words', public_ipaddr: 'words', current_rentals_running: 'integer' },
    } satisfies Shape
    expectFields(body.machines, [fields])
    expect(body.machines).toHaveLength(68)
    expectFields((await host.get(`/machines/${body.machines[0].id}`)).body, [fields])
  })
})

describe('a price fetcher', () => {
  const q = { verified: { eq: true }, external: { eq: 'false' }, rentable: { eq: true }, order: [['dph_total', 'asc']] }

  it.each(['/bundles/', '/bundles'])('gets 64 rows from %s with the search in the URL', async path => {
    const { body } = await anybody.get(`${path}?${new URLSearchParams({ q: JSON.stringify(q) })}`)
    expect(body.offers).toHaveLength(64)
    expectFields(body.offers, [{ id: 'integer', gpu_name: 'words', dph_total: 'number', verification: 'words' }])
  })

  it('sends its key in the URL', async () => {
    const dashboard = wire.createClient({
      ...profile,
      agent: 'Go-http-client/1.1',
      key: await wire.newKey(),
      keyIn: 'url',
    })
    const { body } = await dashboard.get(`/bundles?${new URLSearchParams({ q: JSON.stringify({ ...q, limit: 2 }) })}`)
    expect(body.offers).toHaveLength(2)
    expectFields((await dashboard.get('/instances?owner=me')).body, { instances: 'list' })
    expectFields((await dashboard.get('/users/current')).body, { credit: 'number' })
  })

  it('searches through /search/asks/', async () => {
    const { body } = await anybody.put('/search/asks/', {
      q: { ...q, geolocation: { eq: 'KR' }, disable_bundling: true },
    })
    expect(body.offers.map(({ geolocation }: { geolocation: string }) => geolocation)).toEqual(
      Array(3).fill('South Korea, KR'),
    )
  })

  it('reads the GPU names', async () => {
    expect((await anybody.get('/gpu_names/unique/')).body).toEqual({ gpu_names: ['RTX 4090'] })
  })
})

describe('a search filter', () => {
  const count = async (filter: object) =>
    (await anybody.post('/bundles/', { limit: 3000, disable_bundling: false, ...filter })).body.offers.length

  it.each<[object, number]>([
    [{ gpu_name: { eq: 'RTX_4090' } }, 69],
    [{ gpu_name: { in: ['RTX_4090', 'H100_SXM'] } }, 69],
    [{ gpu_name: { eq: 'any' } }, 69],
    [{ geolocation: { in: 'KR' } }, 2],
    [{ geolocation: { in: ['KR', 'US'] } }, 2],
    [{ geolocation: { notin: ['SE'] } }, 2],
    [{ geolocation: { eq: 'South Korea, KR' } }, 2],
    [{ driver_version: { gte: 570_172_008 } }, 69],
    [{ driver_version: { gt: '570.172.08' } }, 0],
    [{ reliability: { gt: '0.98' } }, 68],
    [{ reliability: { gte: 0.4, lt: '0.6' } }, 1],
    [{ num_gpus: { gte: '2' } }, 1],
    [{ duration: { gte: 86_400.0 } }, 69],
    [{ gpu_ram: { gte: 24_000.0 } }, 69],
    [{ datacenter: { eq: true }, hosting_type: { gte: 1 } }, 69],
    [{ verified: { eq: 'true' }, external: { eq: false } }, 69],
    [{ chunked: { eq: true }, nothing_known: { eq: 1 } }, 69],
    [{ rentable: { eq: null }, rented: null, num_gpus: { gte: null } }, 69],
    [{ q: '{"num_gpus":{"gte":"2"}}' }, 1],
  ])('applies %j and finds %i offers', async (filter, expected) => {
    expect(await count(filter)).toBe(expected)
  })
})
