// Two gateways of which one at a time is killed, while renters and readers go on, and whose own clocks are wrong.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/client.ts'
import { createOperations } from '../../src/services/operations.ts'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { withoutQuotasSql } from '../support/accounts/unbounded.ts'
import { brokenLaws } from '../support/billing/ledger-laws.ts'
import { instantsAhead } from '../support/clock-laws.ts'
import { type CrashingFleet, startCrashingFleet } from '../support/crashes/fleet.ts'
import {
  expectAllTold,
  expectDeedsOnce,
  expectHistoriesWhole,
  expectNothingLeft,
  expectRentalsOnce,
  expectWorldAsWished,
  unrestIn,
} from '../support/crashes/laws.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { type Reader, startReader, type Transport } from '../support/events/readers.ts'
import { listMachines } from '../support/factories.ts'
import { expectNothingShared, expectSettled } from '../support/instances/rentals-laws.ts'
import { createRenters, type Renter } from '../support/instances/renters.ts'
import { type WrongClocks, wrongClocks } from '../support/processes/wrong-clocks.ts'
import { type Chance, chanceOf } from '../support/seeded-random.ts'

// CRASH_SEED repeats what is tried, though not how it interleaves; CRASH_RENTALS makes it shorter or longer.
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31)
const rentals = Number(process.env['CRASH_RENTALS'] ?? 200)
const isShort = rentals < 100
const kills = Math.max(2, Math.floor(rentals / 20))
const machineIds = [1, 2, 3]
/** What a dead gateway was looking at is left alone for 30 s. */
const restMs = 75_000
const hasGoneBy = "UPDATE instances SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL"
/** As when the database is started anew; but for what has not started yet, which would give up. */
const loseConnections = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name IN ('berth', 'berth signals')`

let test: TestDatabase
let pool: pg.Pool
let fleet: CrashingFleet
let clocks: WrongClocks | undefined
let renters: Renter[]

const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows

beforeAll(async () => {
  test = await createDatabase()
  pool = new pg.Pool({ connectionString: test.url, max: 8, application_name: 'test' })
  renters = await fillMarket()
  const env = { DATABASE_URL: test.url, DATABASE_POOL_SIZE: '6', BERTH_SECRET: 'a secret of these tests' }
  const quick = { DEMO_MARKET: 'false', GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'warn' }
  clocks = await wrongClocks()
  fleet = await startCrashingFleet({ ...env, ...quick }, 2, place => clocks?.env(place) ?? {})
})

afterAll(async () => {
  await fleet?.killAll()
  await pool?.end()
  await test?.drop()
  await clocks?.remove()
})

async function fillMarket(): Promise<Renter[]> {
  const database = openDatabase({ url: test.url, poolSize: 2, onIdleError: () => {} })
  const operations = createOperations({ database })
  await listMachines(
    operations,
    machineIds.map(() => ({ machine: { numGpus: 8 } })),
  )
  const made: Renter[] = []
  for (const email of ['ada@example.com', 'bob@example.com']) {
    const { account, apiKey } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
    made.push({ accountId: account.id, apiKey })
  }
  for (const { accountId } of made) await database.pool.query(withoutQuotasSql(accountId))
  await database.close()
  return made
}

it(`loses nothing when gateways are killed ${kills} times during ${rentals} rentals`, async () => {
  process.stdout.write(`CRASH_SEED=${seed} CRASH_RENTALS=${rentals}\n`)
  if (!clocks) process.stdout.write('There is no libfaketime: the clocks of the gateways are right in this run.\n')
  const began = Date.now()
  const chance = chanceOf(seed)
  const driver = createRenters({ renters, pick: fleet.pick, sql })
  const readers: Reader[] = []
  const startReaders = async (transports: Transport[]) => {
    for (const renter of renters) {
      for (const transport of transports)
        readers.push(await startReader({ renter, transport, chance: chance.branch(), pick: fleet.pick }))
    }
  }
  await startReaders(['sse', 'websocket'])
  let [killed, cuts, jumps] = [0, 0, 0]
  let failed = false
  const isOver = () => failed || (killed >= kills && driver.figures.rentals >= rentals)
  const storm = async (own: Chance) => {
    for (; !isOver(); killed += 1) {
      await sleep(own.between(0, isShort ? 1_500 : 4_000))
      await fleet.replace(own)
    }
  }
  const cut = async (own: Chance) => {
    for (; !isOver(); cuts += 1) {
      await sleep(own.between(300, 2_500))
      await sql(loseConnections)
    }
  }
  const mislead = async (own: Chance) => {
    for (; clocks && !isOver(); jumps += 1) {
      await sleep(own.between(300, 2_500))
      await clocks.jump(own)
    }
  }
  const watch = async () => {
    for (; !isOver(); await sleep(100))
      for (const machineId of machineIds) await expectNothingShared({ sql }, machineId, new Date())
  }
  const crowd = renters.flatMap(renter => [1, 2, 3].map(() => driver.rage(chance.branch(), renter, isOver)))
  const late = sleep(3_000).then(() => startReaders(['websocket']))
  await Promise.all([
    storm(chance.branch()),
    cut(chance.branch()),
    mislead(chance.branch()),
    watch(),
    late,
    ...crowd,
  ]).catch(error => {
    failed = true
    throw error
  })
  const stormMs = Date.now() - began

  // What takes a lease to end is not waited for where that would take longer than all else.
  if (isShort) await fleet.replaceAll(async () => void (await sql(hasGoneBy)))
  await expect.poll(() => unrestIn(sql), { timeout: restMs, interval: 250 }).toEqual([])
  const restedAt = new Date(Date.now() - 1_000)
  const restMsTaken = Date.now() - began - stormMs
  for (const renter of renters) await driver.register(chance, renter, aPublicKey(`of ${renter.accountId}`))
  await Promise.race([Promise.all(readers.map(({ heard }) => heard('SSH_KEY_REGISTERED'))), sleep(15_000)])
  const closing = readers.map(({ close }) => close())
  expect(await fleet.stop()).toEqual([0, 0])
  await Promise.all(closing)

  const events = readers.reduce((sum, { ids }) => sum + ids.length, 0)
  const resumed = readers.reduce((sum, reader) => sum + reader.resumed, 0)
  const figures = {
    ...driver.figures,
    killed,
    cuts,
    jumps,
    events,
    readers: readers.length,
    resumed,
    warnings: fleet.logged(40).length,
  }
  const times = { stormMs, restMs: restMsTaken, inAllMs: Date.now() - began }
  process.stdout.write(`${JSON.stringify({ ...figures, ...times })}\n`)

  await expectNothingLeft(sql, restedAt)
  for (const machineId of machineIds) {
    await expectNothingShared({ sql }, machineId, new Date())
    await expectSettled({ sql }, machineId)
  }
  await expectWorldAsWished(sql)
  await expectRentalsOnce(sql, driver.deeds)
  await expectDeedsOnce(sql, driver.deeds)
  await expectHistoriesWhole(sql)
  expect(await instantsAhead(sql)).toEqual([])
  expect(await brokenLaws(sql)).toEqual([])
  for (const reader of readers) await expectAllTold(sql, reader)
  expect(fleet.logged(50)).toEqual([])
})
