import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { DomainError } from '../../../src/domain/errors.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { type Faces, facesOf } from '../../support/faces/faces.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

// A GPU costs $0.4 an hour, and a GB of disk $0.0005. A rental with 8 GB needs $0.404 for an hour, then $0.004 for each of
// 48 hours.
const dollar = 1_000_000_000n
const slow = 'simulated/slow-pull:3600'

let app: TestApp
let rentals: Rentals
let faces: Faces
let volumes: ReturnType<typeof volumesOf>
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  faces = facesOf(app)
  volumes = volumesOf(app)
})

afterAll(() => app.close())

const lacks = (needed: number, available: unknown = 1) => ({
  status: 400,
  body: { success: false, error: 'insufficient_credit', needed, available },
})
const input = (offer: number) => ({ offerId: String(offer), spec: { source: { image: slow } } })

async function newOffers(count: number): Promise<number[]> {
  const offers: number[] = []
  for (let index = 0; index < count; index += 1) offers.push(await rentals.newOffer())
  return offers
}

describe('an account with $1', () => {
  beforeEach(async () => {
    key = await app.newKey(null, { creditNanos: dollar })
  })

  it('rents no more over REST than its dollar pays for, although GPUs cost nothing while images load', async () => {
    expect(await rentals.tryRent(key, { image: slow })).toMatchObject({ status: 200 })
    expect(await rentals.tryRent(key, { image: slow })).toMatchObject(lacks(1.192))
    await rentals.converge()
    const available = expect.closeTo(1, 2)
    expect(await rentals.tryRent(key, { image: slow })).toMatchObject(lacks(1.192, available))
  })

  it('rents no more over GraphQL than its dollar pays for, as a quote shows beforehand', async () => {
    expect(await faces.mutate(key, 'rentInstance', input(await rentals.newOffer()))).toHaveProperty('instance')
    const offer = await rentals.newOffer()
    const { data } = await app.graphql(
      key,
      `query ($input: RentInstanceInput!) { rentQuote(input: $input) { rentable
        blockers { code ... on InsufficientCreditError { needed available } } } }`,
      { input: input(offer) },
    )
    const blocker = { code: 'INSUFFICIENT_CREDIT', needed: '1.192', available: '1' }
    expect(data.rentQuote).toEqual({ rentable: false, blockers: [blocker] })
    const refused = await faces.mutate(key, 'rentInstance', input(offer))
    expect(refused).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
    const best = `mutation { rentBestOffer(input: { filter: {}, terms: { onDemand: { maxPricePerHour: "1" } }, spec: { source: { image: "${slow}" } } }) {
      ... on InsufficientCreditError { needed available } } }`
    expect((await app.graphql(key, best)).data.rentBestOffer).toEqual({ needed: '1.192', available: '1' })
  })

  it('rents only the first of many offers and gets an error for each of the others', async () => {
    const ids = await newOffers(8)
    const { status, body } = await app.rest(key, 'POST', '/asks/bulk/', { ids, image: slow })
    expect([status, body.created.length, body.failed]).toEqual([200, 1, ids.slice(1)])
    expect(body.results.slice(1).map(({ error }: { error: string }) => error)).toEqual(
      Array(7).fill('insufficient_credit'),
    )
    expect(await app.sql(`SELECT id FROM offers WHERE id = ANY('{${ids.slice(1)}}') AND NOT rentable`)).toEqual([])
  })

  it('rents nothing that it cannot pay for during an hour; the error says how much credit it needs', async () => {
    expect(await rentals.tryRent(key, { image: 'ubuntu' }, { gpuNanos: dollar })).toMatchObject(lacks(1.196))
    const penniless = await app.newKey()
    expect(await rentals.tryRent(penniless, { image: 'ubuntu' })).toMatchObject(lacks(0.596, 0))
  })

  it('creates no volume that it cannot pay for during the grace period', async () => {
    const machineId = await volumes.newMachine()
    expect(await app.rest(key, 'PUT', '/volumes/', { id: machineId, size: 41 })).toMatchObject(lacks(1.0045))
    await volumes.make(key, machineId, 40)
    expect(await app.rest(key, 'PUT', '/volumes/', { id: machineId, size: 1 })).toMatchObject(lacks(1.0045))
    const refused = await volumes.create(key, { offerId: `vof_${machineId}`, sizeGb: 1 })
    expect(refused).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
  })

  it('creates no volume with a rental that it cannot pay for', async () => {
    const spec = { ...input(0).spec, volumes: [{ source: { create: { sizeGb: 20 } }, mountPath: '/data' }] }
    const refused = await faces.mutate(key, 'rentInstance', { offerId: String(await rentals.newOffer()), spec })
    expect(refused).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
    expect(await app.sql('SELECT id FROM volumes WHERE size_mb = 20000')).toEqual([])
  })

  it('starts only the instances of a bulk request that it can pay for', async () => {
    const stopped: number[] = []
    for (let count = 0; count < 3; count += 1) stopped.push(await rentals.rent(key, { target_state: 'stopped' }))
    await rentals.converge()
    const start = { ids: stopped.map(String), targetState: 'RUNNING' }
    const steps = (outcome: string[]) => outcome.map(one => expect.objectContaining({ outcome: one }))
    expect((await faces.update(key, { ...start, dryRun: true })).items).toEqual(steps(['APPLIED', 'FAILED', 'FAILED']))
    const everything = { ...start, errorPolicy: 'REJECT_EVERYTHING' }
    expect((await faces.update(key, everything)).items).toEqual(steps(['SKIPPED', 'FAILED', 'FAILED']))
    const { items } = await faces.update(key, start)
    expect(items).toEqual(steps(['APPLIED', 'FAILED', 'FAILED']))
    expect(items[1].error).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
    const path = `/instances/${stopped[1]}/`
    expect(await app.rest(key, 'PUT', path, { state: 'running' })).toMatchObject({ status: 400 })
    const bulk = { ids: stopped.slice(1), state: 'running' }
    expect(await app.rest(key, 'PUT', '/instances/', bulk)).toMatchObject({
      status: 400,
      body: { error: 'insufficient_credit' },
    })
    expect(await faces.update(key, { id: String(stopped[1]), targetState: 'RUNNING' })).toMatchObject({
      code: 'INSUFFICIENT_CREDIT',
    })
  })

  it('bids no more than it can pay for an hour, even before its instance runs', async () => {
    const id = await rentals.rent(key, { price: 0.3 })
    const bid = (price: number) => app.rest(key, 'PUT', `/instances/bid_price/${id}/`, { price })
    expect(await bid(0.81)).toMatchObject(lacks(1.006))
    expect(await bid(0.8)).toMatchObject({ status: 200 })
    const input = { id: String(id), bidPerHour: '0.804000001' }
    expect(await faces.mutate(key, 'updateInstanceBid', input)).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
    expect(await bid(0.2)).toMatchObject({ status: 200 })
  })

  it('recreates a container only while its credit pays for another hour', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const recycle = () => app.rest(key, 'PUT', `/instances/recycle/${id}/`)
    const relaunch = { image: slow, recycle: true }
    app.clock.advance(2 * 3_600_000)
    expect(await recycle()).toMatchObject({ status: 400, body: { error: 'insufficient_credit' } })
    expect(await faces.mutate(key, 'recycleInstance', { id: String(id) })).toMatchObject({
      code: 'INSUFFICIENT_CREDIT',
    })
    const changed = await app.rest(key, 'PUT', `/instances/update_template/${id}/`, relaunch)
    expect(changed).toMatchObject({ status: 400, body: { error: 'insufficient_credit' } })
    expect(await app.rest(key, 'PUT', `/instances/reboot/${id}/`)).toMatchObject({ body: { success: true } })
  })
})

describe('simultaneous requests of one account on two gateways', () => {
  let gateways: Gateway[]
  let actor: Actor

  beforeAll(() => {
    gateways = [1, 2].map(() => openGateway({ url: app.database.url, now: app.clock.now }))
  })
  afterAll(async () => {
    for (const gateway of gateways) await gateway.close()
  })
  beforeEach(async () => {
    const [first] = gateways as [Gateway, Gateway]
    actor = await first.newActor()
    await first.sql(creditSql(3n * dollar, `id = ${actor.accountId}`))
  })

  const atOnce = async (asks: ((gateway: Gateway) => Promise<unknown>)[]) => {
    const requests = asks.map((ask, index) => ask(gateways[index % 2] as Gateway).then(() => 'done'))
    const outcomes = await Promise.all(requests.map(one => one.catch((error: DomainError) => error.code)))
    return Object.fromEntries([...Map.groupBy(outcomes, one => one)].map(([name, all]) => [name, all.length]))
  }

  it('rent no more together than its credit pays for', async () => {
    await listMachines(app.operations, Array(12).fill({}))
    const rows = (await app.sql('SELECT id FROM offers ORDER BY machine_id DESC LIMIT 12')) as { id: string }[]
    const outcome = await atOnce(
      rows.map(
        ({ id }) =>
          gateway =>
            gateway.rent(actor, BigInt(id)),
      ),
    )
    expect(outcome).toEqual({ done: 5, INSUFFICIENT_CREDIT: 7 })
  })

  it('create no more volumes together than its credit pays for', async () => {
    const machineId = await volumes.newMachine()
    const make = (gateway: Gateway) => gateway.services.volumes.create(actor, { machineId, sizeGb: 20 })
    expect(await atOnce(Array(12).fill(make))).toEqual({ done: 6, INSUFFICIENT_CREDIT: 6 })
  })

  it('start no more together than its credit pays for', async () => {
    const [first] = gateways as [Gateway, Gateway]
    await listMachines(app.operations, Array(8).fill({}))
    const rows = (await app.sql('SELECT id FROM offers ORDER BY machine_id DESC LIMIT 8')) as { id: string }[]
    const ids: bigint[] = []
    for (const { id } of rows) {
      ids.push((await first.rent(actor, BigInt(id), { launch: { image: 'ubuntu', targetState: 'stopped' } })).id)
    }
    await Promise.all(
      ids.map((id, index) =>
        (gateways[index % 2] as Gateway).services.instances.update(actor, { ids: [id] }, { targetState: 'running' }),
      ),
    )
    // Disks need $1.568, so $1.432 remains for GPUs at $0.4.
    const running = await app.sql(
      `SELECT id FROM instances WHERE account_id = ${actor.accountId} AND target_state = 'running'`,
    )
    expect(running).toHaveLength(3)
  })
})
