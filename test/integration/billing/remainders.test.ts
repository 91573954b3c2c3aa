// Remainders of a nano-dollar when a meter stops.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseUsd } from '../../../src/domain/money.ts'
import { newAccount, type TestAccount } from '../../support/accounts/accounts.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { type Rentals, rentalsOf } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals

beforeAll(async () => {
  app = await startApp({ simulatedDelay: 0 })
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

/** Prices and times that leave a remainder in every charge. */
const oddPrices = { gpuNanos: 333_333_337n, minBidGpuNanos: 100_000_007n, diskPricePerGbMonthNanos: 360_000_011n }
const oddMs = 1_234_567

const set = (key: string, id: number, state: string) => app.rest(key, 'PUT', `/instances/${id}/`, { state })
const destroy = (key: string, id: number) => app.rest(key, 'DELETE', `/instances/${id}/`)

/** The sum of the account's ledger, and the credit that the gateway returns. */
async function moneyOf(account: TestAccount) {
  const entries = await account.entries()
  const ledger = entries.reduce((sum, { amount }) => sum + amount, 0n)
  return { ledger, credit: parseUsd(await account.credit()) }
}

async function carriedBy({ id }: TestAccount): Promise<number> {
  const [row] = (await app.sql(`SELECT sum(carried)::int AS carried FROM meters WHERE account_id = ${id}`)) as {
    carried: number
  }[]
  return row?.carried ?? 0
}

/** Rents, runs and destroys instances, each for a time that leaves a remainder. */
async function rentAndDestroy(account: TestAccount, times: number): Promise<void> {
  for (let count = 1; count <= times; count += 1) {
    const { id } = await account.rentRunning({ disk: 8 + count }, oddPrices)
    app.clock.advance(oddMs + count)
    await destroy(account.key, id)
    await rentals.converge()
  }
}

describe('an account without running meters', () => {
  it('has exactly the sum of its ledger as credit after many rentals', async () => {
    const account = await newAccount(app, 100_000_000_000n)
    await rentAndDestroy(account, 12)
    // The remainders exceed three nano-dollars, so that rounding cannot hide them.
    expect(await carriedBy(account)).toBeGreaterThan(3 * 3_600_000)
    const { ledger, credit } = await moneyOf(account)
    expect(credit).toBe(ledger)
    expect(await brokenLaws(app.sql)).toEqual([])
  })

  it('has exactly the sum of its ledger as credit after its credit ended', async () => {
    const account = await newAccount(app, 10_000_000_007n)
    const { newMachine, make, remove } = volumesOf(app)
    const volume = await make(account.key, await newMachine(oddPrices), 13)
    const ids = []
    for (let count = 1; count <= 4; count += 1) ids.push((await account.rentRunning({}, oddPrices)).id)
    app.clock.advance(12 * 3_600_000 + 7)
    await rentals.converge()
    for (const id of ids) expect(await account.instance(id)).toMatchObject({ target_state: 'stopped' })
    expect(await account.eventsLike('ACCOUNT_CREDIT_ENDED')).toHaveLength(1)
    for (const id of ids) await destroy(account.key, id)
    await remove(account.key, volume)
    await rentals.converge()
    const { ledger, credit } = await moneyOf(account)
    expect(credit).toBe(ledger)
    expect(ledger).toBeLessThan(0n)
    expect(await brokenLaws(app.sql)).toEqual([])
  })
})

it('carries the remainder of an instance to its next run, so that stopping makes nothing cheaper', async () => {
  const account = await newAccount(app, 100_000_000_000n)
  const { id } = await account.rentRunning({}, oddPrices)
  for (let count = 1; count <= 7; count += 1) {
    app.clock.advance(oddMs + count)
    await set(account.key, id, 'stopped')
    await rentals.converge()
    await set(account.key, id, 'running')
    await rentals.converge()
  }
  await destroy(account.key, id)
  const entries = await account.entries("e.kind = 'gpu'")
  expect(entries.length).toBeGreaterThan(7)
  const ms = entries.reduce((sum, { start, end }) => sum + Number(end) - Number(start), 0)
  const charged = entries.reduce((sum, { amount }) => sum - amount, 0n)
  expect(charged).toBe((oddPrices.gpuNanos * BigInt(ms)) / 3_600_000n)
  const { ledger, credit } = await moneyOf(account)
  expect(credit).toBe(ledger)
})

it('returns the remainders of ended meters to existing accounts in a migration', async () => {
  const account = await newAccount(app, 100_000_000_000n)
  await rentAndDestroy(account, 3)
  const running = await account.rentRunning({}, oddPrices)
  const before = (await account.row())['gpu_origin']
  await app.sql(`
    SET session_replication_role = replica;
    UPDATE accounts SET gpu_origin = gpu_origin - gpu, disk_origin = disk_origin - disk FROM (
      SELECT account_id, sum(carried) FILTER (WHERE kind = 'gpu') AS gpu, sum(carried) FILTER (WHERE kind = 'disk') AS disk
      FROM meters WHERE rate_nanos = 0 GROUP BY account_id
    ) ended WHERE id = account_id;
    SET session_replication_role = origin`)
  expect((await account.row())['gpu_origin']).not.toBe(before)
  expect(await brokenLaws(app.sql)).not.toEqual([])
  const migration = '../../../prisma/migrations/20261122153600_remainders/migration.sql'
  const text = await readFile(new URL(migration, import.meta.url), 'utf8')
  // A later migration renamed what this one names.
  await app.sql(text.replaceAll('compute', 'gpu'))
  expect(await brokenLaws(app.sql)).toEqual([])
  expect((await account.row())['gpu_origin']).toBe(before)
  await destroy(account.key, running.id)
  await rentals.converge()
  const { ledger, credit } = await moneyOf(account)
  expect(credit).toBe(ledger)
})
