import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseUsd, printUsd } from '../../../src/domain/money.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const hour = 3_600_000
// GPUs at $0.4 an hour, and 8 GB of disk at $0.36 a GB for 720 hours.
const [gpu, disk] = [400_000_000n, 4_000_000n]
const usd = printUsd
const nanosOf = (text: string) => parseUsd(text) as bigint

const figures = 'accruedCost costPerHour costPerHourWhenStopped'
async function costs(id: number) {
  const { data } = await app.graphql(
    key,
    `{ instance(id: ${id}) { ${figures} } viewer { account { credit costPerHour runwaySeconds } } }`,
  )
  const { accruedCost, costPerHour, costPerHourWhenStopped } = data.instance
  return { now: [accruedCost, costPerHour, costPerHourWhenStopped], account: data.viewer.account }
}

/** Sets the credit of the account. */
async function setCredit(nanos: bigint): Promise<void> {
  const { data } = await app.graphql(key, '{ viewer { account { id credit } } }')
  await app.sql(`INSERT INTO ledger_entries (account_id, kind, amount_nanos, note, posted_at)
    VALUES (${data.viewer.account.id.slice('acc_'.length)}, 'adjustment', ${nanos - nanosOf(data.viewer.account.credit)}, 'a test', now())`)
}

/** How long the meter of this kind of an instance has run, in ms. */
async function ranFor(id: number, kind: string): Promise<bigint> {
  const [row] = await app.sql(`SELECT since FROM meters WHERE instance_id = ${id} AND kind = '${kind}'`)
  return BigInt(app.clock.now().getTime() - (row as { since: Date }).since.getTime())
}

it('shows in a quote how long the credit would last', async () => {
  const quote = async (spec: string) => {
    const input = `offerId: "${await rentals.newOffer()}", spec: { source: { image: "ubuntu" } ${spec} }`
    return (await app.graphql(key, `{ rentQuote(input: { ${input} }) { runwaySecondsAfter } }`)).data.rentQuote
      .runwaySecondsAfter
  }
  // $100 at $0.404 an hour.
  expect(await quote('')).toBe(891_089)
  expect(await quote('targetState: STOPPED')).toBe(90_000_000)
  // 20 GB more of disk cost $0.01 an hour.
  expect(await quote('volumes: [{ source: { create: { sizeGb: 20 } }, mountPath: "/data" }]')).toBe(869_565)
  expect(await quote('label: "\u0000"')).toBeNull()
  await rentals.rent(key, { target_state: 'stopped' })
  expect(await quote('')).toBe(882_352)
})

describe('the cost of an instance', () => {
  it('is the price of its disk, plus the price of its GPUs while it runs', async () => {
    const id = await rentals.rent(key)
    expect((await costs(id)).now).toEqual(['0', '0.004', '0.004'])
    await rentals.converge()
    const [gpus, disks] = [await ranFor(id, 'gpu'), await ranFor(id, 'disk')]
    expect(disks > gpus).toBe(true)
    app.clock.advance(12_345)
    const spent = (gpu * (gpus + 12_345n)) / 3_600_000n + (disk * (disks + 12_345n)) / 3_600_000n
    expect((await costs(id)).now).toEqual([usd(spent), '0.404', '0.004'])
    await app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    expect((await costs(id)).now).toEqual([usd(spent), '0.004', '0.004'])
    app.clock.advance(hour)
    expect((await costs(id)).now).toEqual([usd(spent + disk), '0.004', '0.004'])
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    app.clock.advance(hour)
    expect((await costs(id)).now).toEqual([usd(spent + disk), '0', '0'])
  })

  it('counts in the credit, burn rate and runway of the account', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    const { now, account } = await costs(id)
    const credit = 100_000_000_000n - nanosOf(now[0])
    expect(account.costPerHour).toBe('0.404')
    // A partly used nano-dollar is not charged yet: one for the GPUs and one for the disk.
    expect([credit - 1n, credit].map(usd)).toContain(account.credit)
    expect(account.runwaySeconds).toBe(Number((credit * 3600n) / (gpu + disk)))
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    expect((await costs(id)).account).toMatchObject({ costPerHour: '0', runwaySeconds: null })
  })

  it('includes no GPU costs after the GPUs were lost or the credit ended', async () => {
    const [outbid, id] = [
      await rentals.rentToStatus(key, 'running', { price: 0.25 }),
      await rentals.rentToStatus(key, 'running'),
    ]
    const before = await costs(outbid)
    await app.sql(`INSERT INTO meter_ends (meter_id, account_id, at)
      SELECT id, account_id, '${app.clock.now().toISOString()}' FROM meters WHERE instance_id = ${outbid} AND kind = 'gpu'`)
    app.clock.advance(hour)
    expect((await costs(outbid)).now).toEqual([usd(nanosOf(before.now[0]) + disk), '0.004', '0.004'])

    // This credit lasts half an hour for the running instance and both disks.
    await setCredit(gpu / 2n + disk + 10n)
    const half = await costs(id)
    expect(half.account.runwaySeconds).toBe(1800)
    app.clock.advance(10 * hour)
    const { now, account } = await costs(id)
    const usage = await app.graphql(
      key,
      '{ viewer { account { usage(groupBy: [INSTANCE]) { totals { keys { value } cost } } } } }',
    )
    type Group = { keys: [{ value: string }]; cost: string }
    const groups = usage.data.viewer.account.usage.totals as Group[]
    expect(groups.find(({ keys: [{ value }] }) => value === `ins_${id}`)?.cost).toBe(now[0])
    // Exact to the millisecond: in one, the GPUs and both disks cost about 113 nano-dollars.
    expect(nanosOf(now[0]) - nanosOf(half.now[0]) - gpu / 2n - disk * 10n).toBeLessThanOrEqual(1n)
    expect(now.slice(1)).toEqual(['0.004', '0.004'])
    expect(account).toMatchObject({ costPerHour: '0.008', runwaySeconds: 0 })
    expect(nanosOf(account.credit) + disk * 19n).toBeGreaterThanOrEqual(0n)
    expect(nanosOf(account.credit) + disk * 19n).toBeLessThanOrEqual(113n)
  })

  it('takes as many statements for 50 instances as for one', async () => {
    const few = await app.newKey(null, someCredit)
    await rentals.rent(few)
    for (let count = 1; count <= 50; count += 1) await rentals.rent(key)
    await rentals.converge()
    const ask = async (of: string, rows: number) => {
      await app.graphql(of, '{ viewer { account { id } } }')
      return await captureQueries(async () => {
        const { data } = await app.graphql(of, `{ instances(first: 50) { nodes { ${figures} } } }`)
        expect(data.instances.nodes).toHaveLength(rows)
        expect(data.instances.nodes.every((node: { costPerHour: string }) => node.costPerHour === '0.404')).toBe(true)
      })
    }
    expect((await ask(key, 50)).length).toBe((await ask(few, 1)).length)
  })
})
