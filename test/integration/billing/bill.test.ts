// Compares the bill of a month with lines calculated by hand: seconds times rate.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { transaction } from '../../../src/database/transaction.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { chargeMeters } from '../../../src/services/billing/meters.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let gateway: Gateway
let rentals: Rentals
let key: string

beforeAll(async () => {
  // Containers start without a delay.
  app = await startApp({ simulatedDelay: 0 })
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(async () => {
  await gateway.close()
  await app.close()
})

async function at(time: string): Promise<void> {
  app.clock.advance(Date.parse(`2026-12-${time}Z`) - app.clock.now().getTime())
  await app.runUntilIdle()
}

/** Makes the daily charge of all running meters. */
async function daily(): Promise<void> {
  const { data } = await app.graphql(key, '{ viewer { account { id } } }')
  const accountId = Number(data.viewer.account.id.slice('acc_'.length))
  await transaction(gateway.database, async tx => {
    await chargeMeters(tx, await lockAccount(tx, accountId, app.clock.now()), Prisma.sql`true`)
  })
}

async function rent(body: object = {}): Promise<number> {
  const id = await rentals.rent(key, body)
  await app.runUntilIdle()
  expect((await rentals.read(key, id)).actual_status).toBe('running')
  return id
}

it('bills every cost with a line, and the lines add up to the remaining credit', async () => {
  await at('01T06:00:00')
  const trained = await rent()
  await at('01T18:30:00')
  await app.rest(key, 'PUT', `/instances/${trained}/`, { state: 'stopped' })
  await at('02T00:00:00')
  await daily()

  await at('02T07:00:00')
  const volumes = volumesOf(app)
  const volume = await volumes.make(key, await volumes.newMachine(), 7)
  await at('02T09:00:00')
  const bidding = await rent({ price: 0.25 })
  await at('02T09:20:07')
  const raised = await app.graphql(
    key,
    `mutation { updateInstanceBid(input: { id: "${bidding}", bidPerHour: "0.31" }) { __typename } }`,
  )
  expect(raised.data.updateInstanceBid.__typename).toBe('UpdateInstanceBidSuccess')
  await at('02T10:00:00')
  await app.rest(key, 'DELETE', `/instances/${bidding}/`)

  await at('02T23:00:00')
  const lost = await rent()
  const { machine_id } = await rentals.read(key, lost)
  await at('02T23:58:00')
  await app.operations.machines.unplug(machine_id)
  await at('03T00:00:00')
  await daily()
  await at('03T00:01:10')
  await at('03T00:10:00')
  expect((await rentals.read(key, lost)).actual_status).toBe('offline')

  await at('03T01:00:00')
  await app.rest(key, 'DELETE', `/instances/${trained}/`)
  expect(await volumes.remove(key, volume)).toMatchObject({ __typename: 'DeleteVolumeSuccess' })
  await at('31T23:00:00')

  const { data } = await app.graphql(
    key,
    `{ viewer { account { credit costPerHour runwaySeconds
      ledger(first: 100) { nodes { kind amount balanceAfter subjectId startsAt endsAt costPerHour } }
      usage(startsAt: "2026-12-01T00:00:00Z", endsAt: "2027-01-01T00:00:00Z", bucket: DAY) { cost buckets { startsAt cost } } } } }`,
  )
  type Line = Record<'kind' | 'amount' | 'balanceAfter' | 'subjectId', string> &
    Record<'startsAt' | 'endsAt' | 'costPerHour', string | null>
  const names = { [`ins_${trained}`]: 'trained', [`ins_${bidding}`]: 'bidding', [`ins_${lost}`]: 'lost' }
  const lines = (data.viewer.account.ledger.nodes as Line[]).map(line => {
    const { kind, amount, balanceAfter, subjectId, costPerHour } = line
    const seconds = line.startsAt && line.endsAt ? (Date.parse(line.endsAt) - Date.parse(line.startsAt)) / 1000 : null
    const what = subjectId.startsWith('vol_') ? 'volume' : (names[subjectId] ?? null)
    return [kind, what, line.startsAt?.slice(8, 19) ?? null, seconds, costPerHour, amount, balanceAfter]
  })
  expect(lines.reverse()).toEqual([
    ['TOP_UP', null, null, null, null, '100', '100'],
    // 45,000 s x $0.4 / 3,600 s
    ['GPU', 'trained', '01T06:00:00', 45_000, '0.4', '-5', '95'],
    // 8 GB at $0.36 a month of 720 hours are $0.004 an hour: 64,800 s x $0.004 / 3,600 s
    ['DISK', 'trained', '01T06:00:00', 64_800, '0.004', '-0.072', '94.928'],
    // 1,207 s x $0.25 / 3,600 s = $0.083819444 and 4/9 of a nano-dollar, which is carried
    ['GPU', 'bidding', '02T09:00:00', 1_207, '0.25', '-0.083819444', '94.844180556'],
    // 2,393 s x $0.31 / 3,600 s = $0.206063888 and 8/9 of a nano-dollar. With the carried 4/9: $0.206063889 and 1/3
    ['GPU', 'bidding', '02T09:20:07', 2_393, '0.31', '-0.206063889', '94.638116667'],
    ['DISK', 'bidding', '02T09:00:00', 3_600, '0.004', '-0.004', '94.634116667'],
    // A day of the disk of a stopped instance: 86,400 s x $0.004 / 3,600 s
    ['DISK', 'trained', '02T00:00:00', 86_400, '0.004', '-0.096', '94.538116667'],
    // 7 GB cost $0.0035 an hour: 61,200 s x $0.0035 / 3,600 s
    ['DISK', 'volume', '02T07:00:00', 61_200, '0.0035', '-0.0595', '94.478616667'],
    // An hour
    ['GPU', 'lost', '02T23:00:00', 3_600, '0.4', '-0.4', '94.078616667'],
    ['DISK', 'lost', '02T23:00:00', 3_600, '0.004', '-0.004', '94.074616667'],
    // For 120 s of this hour its machine was not seen: 120 s x $0.4 / 3,600 s = $0.013333333 and 1/3 of a
    // nano-dollar. The other 3,480 s cost $0.386666666 in whole nano-dollars.
    ['REFUND', 'lost', '02T23:58:00', 120, null, '0.013333334', '94.087950001'],
    // 120 s x $0.004 / 3,600 s = $0.000133333 and 1/3
    ['REFUND', 'lost', '02T23:58:00', 120, null, '0.000133334', '94.088083335'],
    ['DISK', 'trained', '03T00:00:00', 3_600, '0.004', '-0.004', '94.084083335'],
    ['DISK', 'volume', '03T00:00:00', 3_600, '0.0035', '-0.0035', '94.080583335'],
  ])
  // Nothing runs, so credit is the sum of the ledger: $100 less $5.919416665.
  expect(data.viewer.account).toMatchObject({ credit: '94.080583335', costPerHour: '0', runwaySeconds: null })
  const { cost, buckets } = data.viewer.account.usage
  expect(cost).toBe('5.919416665')
  // The second day: 0.083819444 + 0.206063889 + 0.004 + 0.096 + 0.0595 + 0.404 dollars, less refunds of $0.013466668.
  expect(buckets.slice(0, 4).map((bucket: { cost: string }) => bucket.cost)).toEqual([
    '5.072',
    '0.839916665',
    '0.0075',
    '0',
  ])
  expect(buckets).toHaveLength(31)
  expect((await app.rest(key, 'GET', '/users/current/')).body.credit).toBe(94.080583335)
})
