// Machines on which a start failed are passed over by rentBestOffer, for the account whose start it was.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'

const hour = 3_600_000

let app: TestApp
let rentals: Rentals
let key: string
let country: string
let [cheap, dear] = [0, 0]
let tests = 0

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  tests += 1
  country = `${String.fromCharCode(65 + tests)}X`
  key = await app.newKey(null, someCredit)
  ;[cheap, dear] = [await newMachine(0.2), await newMachine(0.3)]
})

async function newMachine(dollars: number): Promise<number> {
  const offerId = await rentals.newOffer({ country, gpuNanos: BigInt(dollars * 1e9) })
  const [row] = await app.sql(`SELECT machine_id FROM offers WHERE id = ${offerId}`)
  return (row as { machine_id: number }).machine_id
}

async function rentBest({ by = key, image = 'ubuntu', filter = {} } = {}) {
  const input = {
    filter: { country: { eq: country }, ...filter },
    terms: { onDemand: { maxPricePerHour: '1' } },
    spec: { source: { image } },
  }
  const query = `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) {
    ... on RentBestOfferSuccess { instance { id machine { id } } } ... on Error { code message } } }`
  const { data, errors } = await app.graphql(by, query, { input })
  expect(errors).toBeUndefined()
  return data.rentBestOffer
}

const onMachine = (id: number) => ({ instance: { machine: { id: `mch_${id}` } } })
const idOf = ({ instance }: { instance: { id: string } }) => Number(instance.id.slice('ins_'.length))

async function offersOf(machineId: number, by = key): Promise<{ id: string }[]> {
  const { data } = await app.graphql(by, `{ offers(filter: { machineId: { eq: "${machineId}" } }) { nodes { id } } }`)
  return data.offers.nodes
}

/** Rents the cheap machine, which does not answer until the start has failed. */
async function failOnCheapMachine(): Promise<void> {
  await app.operations.machines.unplug(cheap)
  const rented = await rentBest()
  expect(rented).toMatchObject(onMachine(cheap))
  for (let minute = 1; minute <= 7; minute += 1) {
    await app.runUntilIdle()
    app.clock.advance(60_000)
  }
  expect(await rentals.read(key, idOf(rented))).toMatchObject({ actual_status: 'offline' })
  await giveBack(idOf(rented))
}

/** Destroys the instance, and waits until its machine is on the market again. */
async function giveBack(id: number): Promise<void> {
  await app.rest(key, 'DELETE', `/instances/${id}/`)
  await app.operations.machines.plug(cheap)
  for (let turn = 1; turn <= 30 && (await offersOf(cheap)).length === 0; turn += 1) {
    app.clock.advance(60_000)
    await app.runUntilIdle()
  }
  expect(await offersOf(cheap)).toHaveLength(1)
}

it('passes over a machine that did not answer, for 24 hours, and only for the same account', async () => {
  await failOnCheapMachine()
  expect(await rentBest()).toMatchObject(onMachine(dear))
  const other = await app.newKey(null, someCredit)
  expect(await offersOf(cheap, other)).toEqual(await offersOf(cheap))
  expect(await rentBest({ by: other })).toMatchObject(onMachine(cheap))
})

it('says that machines were passed over when nothing else is left, and rents them by ID', async () => {
  await failOnCheapMachine()
  const filter = { machineId: { eq: String(cheap) } }
  expect(await rentBest({ filter })).toMatchObject({
    code: 'NO_OFFER_RENTED',
    message: expect.stringContaining('One machine was passed over'),
  })
  const [offer] = await offersOf(cheap)
  const query = `mutation { rentInstance(input: { offerId: "${offer?.id}", spec: { source: { image: "ubuntu" } } }) {
    ... on RentInstanceSuccess { instance { machine { id } } } } }`
  expect((await app.graphql(key, query)).data.rentInstance).toMatchObject(onMachine(cheap))
})

it('tries a machine again after 24 hours', async () => {
  await failOnCheapMachine()
  app.clock.advance(24 * hour)
  expect(await rentBest()).toMatchObject(onMachine(cheap))
})

it('passes over a machine on which nothing came up in time', async () => {
  const id = idOf(await rentBest({ image: 'simulated/slow-start:86400' }))
  await rentals.converge()
  app.clock.advance(31 * 60_000)
  await app.runUntilIdle()
  expect(await rentals.read(key, id)).toMatchObject({ actual_status: 'exited' })
  await giveBack(id)
  expect(await rentBest()).toMatchObject(onMachine(dear))
})

it.each(['simulated/not-found', 'simulated/no-start', 'simulated/exit'])(
  'does not pass over a machine because of the image %s',
  async image => {
    const id = idOf(await rentBest({ image }))
    await rentals.converge()
    expect(await rentals.read(key, id)).toMatchObject({ actual_status: 'exited' })
    await giveBack(id)
    expect(await rentBest()).toMatchObject(onMachine(cheap))
  },
)

it('rents on no machine and no host that the filter excludes', async () => {
  expect(await rentBest({ filter: { machineId: { nin: [`mch_${cheap}`] } } })).toMatchObject(onMachine(dear))
  const { data } = await app.graphql(
    key,
    `{ offers(filter: { machineId: { eq: "${cheap}" } }) { nodes { machine { host { id } } } } }`,
  )
  const hostId = data.offers.nodes[0].machine.host.id
  expect(await rentBest({ filter: { hostId: { nin: [hostId] } } })).toMatchObject({ code: 'NO_OFFER_RENTED' })
  expect(await rentBest({ filter: { hostId: { eq: hostId } } })).toMatchObject(onMachine(cheap))
})
