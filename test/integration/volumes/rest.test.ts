// Volumes as REST clients search, create and delete them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let volumes: ReturnType<typeof volumesOf>
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  volumes = volumesOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const search = async (body: object) => (await app.rest(key, 'POST', '/volumes/search/', body)).body.offers
const create = (body: object, by = key) => app.rest(by, 'PUT', '/volumes/', body)
const listRows = async (by: string, query = '?owner=me') => (await app.rest(by, 'GET', `/volumes${query}`)).body.volumes

describe('a search for storage', () => {
  it('finds machines, cheapest first, priced for the size', async () => {
    const ids = [await volumes.newMachine({ diskPricePerGbMonthNanos: 200_000_000n }), await volumes.newMachine()]
    const offers = await search({
      verified: { eq: true },
      external: { eq: false },
      disk_space: { gte: 1, gt: '10' },
      machine_id: { in: ids },
      num_gpus: { gte: 1 },
      order: [['score', 'desc']],
      allocated_storage: 100.0,
    })
    const prices = offers.map((offer: { storage_total_cost: number }) => offer.storage_total_cost)
    expect(prices).toEqual(prices.toSorted((a: number, b: number) => a - b))
    expect(offers.map((offer: { id: number }) => offer.id).toSorted()).toEqual(ids.toSorted())
    const offer = offers.find(({ id }: { id: number }) => id === ids[0])
    const { data } = await app.graphql(
      key,
      `{ volumeOffers(sizeGb: 100, filter: { machineId: { eq: "${ids[0]}" } }) { nodes {
      price(sizeGb: 100) { pricePerHour } diskPricePerGbMonth maxSizeGb } } }`,
    )
    const [node] = data.volumeOffers.nodes
    expect(offer).toMatchObject({
      ask_contract_id: offer.id,
      machine_id: offer.id,
      allocated_storage: 100,
      storage_total_cost: Number(node.price.pricePerHour),
      dph_total: Number(node.price.pricePerHour),
      storage_cost: Number(node.diskPricePerGbMonth),
      disk_space: node.maxSizeGb,
      external: null,
    })
  })

  it.each([
    [[['storage_total_cost', 'desc']], (offer: Record<string, number>) => -(offer['storage_cost'] as number)],
    [[['unknown'], ['disk_space', 'asc']], (offer: Record<string, number>) => offer['disk_space'] as number],
    [[['reliability2', 'desc']], (offer: Record<string, number>) => -(offer['reliability'] as number)],
  ])('is sorted by %j', async (order, value) => {
    await volumes.newMachine({ diskPricePerGbMonthNanos: 50_000_000n, diskMb: 70_000, reliability: 0.5 })
    const values = (await search({ order })).map(value)
    expect(values.length).toBeGreaterThan(1)
    expect(values).toEqual(values.toSorted((a: number, b: number) => a - b))
  })

  it('obeys the limit, finds an offer by its id, and finds no offer that is too small', async () => {
    const id = await volumes.newMachine({ diskMb: 20_000 })
    expect(await search({ limit: 1 })).toHaveLength(1)
    expect(await search({ id: { eq: id } })).toMatchObject([{ id, disk_space: 20 }])
    expect(await search({ q: JSON.stringify({ ask_contract_id: { eq: id } }) })).toMatchObject([{ id }])
    expect(await search({ machine_id: { eq: id }, allocated_storage: 21 })).toEqual([])
  })

  it.each([
    [{ allocated_storage: 0.5 }, 'allocated_storage: must be a number of GB from 1'],
    [{ allocated_storage: 'much' }, 'allocated_storage: must be a number of GB'],
    [{ q: '[1]' }, 'Invalid query: must be dict of conditions'],
    [{ reliability: { gte: 'high' } }, 'reliability.gte: "high" is not a number.'],
  ])('is refused if the request body is %j', async (body, msg) => {
    const answer = await app.rest(key, 'POST', '/volumes/search', body)
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { error: 'invalid_args', msg: expect.stringContaining(msg) },
    ])
  })
})

describe('a volume', () => {
  it('is created, listed, attached and deleted', async () => {
    const by = await app.newKey(null, someCredit)
    const machineId = await volumes.newMachine()
    const { status, body } = await create({ id: machineId, size: 20, name: 'vol1' }, by)
    const { id } = body
    expect([status, body]).toEqual([200, { success: true, id, volume_id: id, volume_name: `V.${id}` }])
    const [row] = await listRows(by)
    expect(row).toMatchObject({
      ...{ id, label: 'vol1', disk_space: 20, status: 'available', instances: [], mount_path: null },
      ...{ machine_id: machineId, cluster_id: null, start_date: app.clock.now().getTime() / 1000 },
    })
    const { data } = await app.graphql(by, `{ volume(id: ${id}) { name sizeGb pricePerHour machine { id } } }`)
    expect(data.volume).toEqual({
      ...{ name: 'vol1', sizeGb: 20, pricePerHour: String(row.storage_total_cost) },
      machine: { id: `mch_${machineId}` },
    })

    const [offer] = (await app.rest(by, 'POST', '/bundles/', { machine_id: { eq: machineId } })).body.offers
    const volumeInfo = { volume_id: id, mount_path: '/x', create_new: false }
    const rented = await app.rest(by, 'PUT', `/asks/${offer.id}/`, { image: 'ubuntu', volume_info: volumeInfo })
    const instance = rented.body.new_contract
    expect(await listRows(by)).toMatchObject([{ status: 'attached', instances: [instance], mount_path: '/x' }])
    const held = await app.rest(by, 'DELETE', `/volumes/?id=${id}`, {})
    const failure = { success: false, error: 'volume in use', msg: 'existing instances use that volume!' }
    expect([held.status, held.body]).toEqual([409, failure])

    await app.rest(by, 'DELETE', `/instances/${instance}/`)
    await rentals.converge()
    expect((await app.rest(by, 'DELETE', `/volumes/?id=${id}`, {})).body).toEqual({ success: true })
    expect(await listRows(by)).toEqual([])
  })

  it.each([
    ['in the URL', (id: number) => [`/volumes?id=${id}`, undefined]],
    ['in the body', (id: number) => ['/volumes/', { id }]],
    ['in the body, as a string', (id: number) => ['/volumes', { id: String(id) }]],
    ['by its name', (id: number) => [`/volumes/?id=V.${id}`, {}]],
  ] as const)('is deleted by its id %s', async (_where, ask) => {
    const { id } = (await create({ id: await volumes.newMachine() })).body
    const [path, body] = ask(id)
    expect((await app.rest(key, 'DELETE', path as string, body)).body).toEqual({ success: true })
    const again = await app.rest(key, 'DELETE', path as string, body)
    const failure = { success: false, error: 'invalid id', msg: 'could not find a listed volume matching id' }
    expect([again.status, again.body]).toEqual([404, failure])
  })

  it('is not found by another account', async () => {
    const { id } = (await create({ id: await volumes.newMachine() })).body
    const stranger = await app.newKey(null, someCredit)
    const answers = [
      await app.rest(stranger, 'DELETE', `/volumes/?id=${id}`),
      await app.rest(stranger, 'DELETE', '/volumes/?id=987654321'),
    ]
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [404, answers[1]?.body],
      [404, answers[0]?.body],
    ])
    expect(await listRows(stranger)).toEqual([])
    const [row] = await app.sql(`SELECT deleted_at FROM volumes WHERE id = ${id}`)
    expect(row).toEqual({ deleted_at: null })
  })

  it.each(['', '?id=', '?id=x', '?id=-1', '?id=1.5'])('cannot be deleted with %j', async query => {
    const { status, body } = await app.rest(key, 'DELETE', `/volumes/${query}`)
    const failure = { success: false, error: 'invalid id', msg: 'id must refer to a valid volume id' }
    expect([status, body]).toEqual([400, failure])
  })

  it('has 15 GB by default', async () => {
    const { id } = (await create({ id: await volumes.newMachine(), name: null, size: null })).body
    expect((await listRows(key)).find((row: { id: number }) => row.id === id)).toMatchObject({
      disk_space: 15,
      label: 'volume',
    })
  })

  it('is created once per Idempotency-Key', async () => {
    const id = await volumes.newMachine()
    const ask = () => app.rest(key, 'PUT', '/volumes/', { id }, { 'idempotency-key': 'v1' })
    expect((await ask()).body).toEqual((await ask()).body)
  })

  it.each([
    [{}, 400, 'invalid_args', 'id: is required.'],
    [{ id: 'x' }, 400, 'invalid_args', 'id: must be a number.'],
    [{ id: 1, size: 0 }, 400, 'invalid_args', 'size: must be a number of GB from 1'],
    [{ id: 1, name: 'a b' }, 400, 'invalid_args', 'name: must have at most 64 characters'],
    [{ id: 987_654_321 }, 404, 'no_such_ask', 'is not on the market.'],
    [{ id: 2 ** 52 }, 404, 'no_such_ask', 'is not on the market.'],
  ])('is refused if the request body is %j', async (body, status, error, msg) => {
    const answer = await create(body)
    expect([answer.status, answer.body]).toMatchObject([status, { error, msg: expect.stringContaining(msg) }])
  })

  it('is refused without credit', async () => {
    const { status, body } = await create({ id: await volumes.newMachine() }, await app.newKey())
    expect([status, body.error]).toEqual([400, 'insufficient_credit'])
  })
})

describe('a list of volumes', () => {
  it('has the requested type', async () => {
    await create({ id: await volumes.newMachine() })
    const [all, local, network] = [
      await listRows(key, '?owner=me&type=all_volume'),
      await listRows(key, '/?type=local_volume'),
      await listRows(key, '?type=network_volume'),
    ]
    expect([all.length > 0, local, network]).toEqual([true, all, []])
    const { status, body } = await app.rest(key, 'GET', '/volumes/?type=tape')
    const msg = "type must be unspecified or one of: ['local_volume', 'network_volume', 'all_volume']"
    expect([status, body]).toEqual([400, { success: false, error: 'invalid_args', msg }])
  })
})

it('answers 501 to a copy of a volume', async () => {
  const { status, body } = await app.rest(key, 'POST', '/volumes/copy/', { src_id: 1, dst_id: 2 })
  expect([status, body]).toMatchObject([501, { success: false, error: 'not_implemented' }])
  const scoped = await app.newScopedKey(key, { api: {} })
  expect((await app.rest(scoped, 'POST', '/volumes/copy', {})).status).toBe(403)
})
