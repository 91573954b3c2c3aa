// Kills one of two gateways at a time, while renters and readers continue. The clocks of the gateways are wrong.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/client.ts'
import { createOperations } from '../../src/services/operations.ts'
import { aPublicKey } from '../support/accounts/ssh-keys.ts'
import { withoutQuotasSql } from '../support/accounts/unbounded.ts'
import { brokenLaws } from '../support/billing/ledger-laws.ts'
import { type GatewayFleet, startGatewayFleet } from '../support/crashes/gateway-fleet.ts'
import {
  expectCommandsOnce,
  expectConsistentEvents,
  expectEveryEventDelivered,
  expectMachinesMatchDesired,
  expectNoLeaseOrDueInstance,
  expectOneRentalPerKey,
  findUnsettledInstances,
} from '../support/crashes/invariants.ts'
import { expireLeasesSql } from '../support/crashes/leases.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { urlAs } from '../support/database/roles.ts'
import { type Reader, startReader, type Transport } from '../support/events/readers.ts'
import { listMachines } from '../support/factories.ts'
import { expectConverged, expectInvariants } from '../support/instances/rental-invariants.ts'
import { createRenters, type Renter } from '../support/instances/renters.ts'
import { findInstantsAhead } from '../support/instants-ahead.ts'
import { createWrongClocks, type WrongClocks } from '../support/processes/wrong-clocks.ts'
import { createSeededRandom, type SeededRandom } from '../support/seeded-random.ts'

// CRASH_SEED repeats the actions of a run, but not how they interleave. CRASH_RENTALS sets its length.
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31)
const rentalCount = Number(process.env['CRASH_RENTALS'] ?? 200)
const isShort = rentalCount < 100
const killCount = Math.max(2, Math.floor(rentalCount / 20))
const machineIds = [1, 2, 3]
/** The instances of a dead gateway stay leased for 30 s. */
const settleTimeoutMs = 75_000
/** Cuts connections as a database restart does, except those of starting gateways, which would give up. */
const terminateConnectionsSql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name ~ '^berth (\\d{14}|wake-ups)$'`

let testDatabase: TestDatabase
let pool: pg.Pool
let fleet: GatewayFleet
let clocks: WrongClocks | undefined
let renters: Renter[]

const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows

beforeAll(async () => {
  testDatabase = await createDatabase()
  pool = new pg.Pool({ connectionString: testDatabase.url, max: 8, application_name: 'test' })
  renters = await fillMarket()
  const env = { DATABASE_URL: testDatabase.url, DATABASE_POOL_SIZE: '6', BERTH_SECRET: 'a secret of these tests' }
  const fastEnv = { DEMO_MARKET: 'false', GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'warn' }
  clocks = await createWrongClocks()
  fleet = await startGatewayFleet({ ...env, ...fastEnv }, 2, place => clocks?.envOf(place) ?? {})
})

afterAll(async () => {
  await fleet?.killAll()
  await pool?.end()
  await testDatabase?.drop()
  await clocks?.remove()
})

async function fillMarket(): Promise<Renter[]> {
  const database = openDatabase({ url: urlAs('app', testDatabase.url), poolSize: 2, onIdleError: () => {} })
  const operations = createOperations({ database })
  await listMachines(
    operations,
    machineIds.map(() => ({ machine: { numGpus: 8 } })),
  )
  const created: Renter[] = []
  for (const email of ['ada@example.com', 'bob@example.com']) {
    const { account, apiKey } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
    created.push({ accountId: account.id, apiKey })
  }
  for (const { accountId } of created) await sql(withoutQuotasSql(accountId))
  await database.close()
  return created
}

it(`loses nothing when gateways are killed ${killCount} times during ${rentalCount} rentals`, async () => {
  process.stdout.write(`CRASH_SEED=${seed} CRASH_RENTALS=${rentalCount}\n`)
  if (!clocks) process.stdout.write('libfaketime is not installed: the clocks of the gateways are right in this run.\n')
  const startedAt = Date.now()
  const random = createSeededRandom(seed)
  const renterDriver = createRenters({ renters, pick: fleet.pickUrl, sql })
  const readers: Reader[] = []
  const startReaders = async (transports: Transport[]) => {
    for (const renter of renters) {
      for (const transport of transports)
        readers.push(await startReader({ renter, transport, chance: random.fork(), pick: fleet.pickUrl }))
    }
  }
  await startReaders(['sse', 'websocket'])
  let [killed, cuts, jumps] = [0, 0, 0]
  let failed = false
  const isOver = () => failed || (killed >= killCount && renterDriver.counts.rentals >= rentalCount)
  const killGateways = async (random: SeededRandom) => {
    for (; !isOver(); killed += 1) {
      await sleep(random.between(0, isShort ? 1_500 : 4_000))
      await fleet.killAndReplace(random)
    }
  }
  const cutConnections = async (random: SeededRandom) => {
    for (; !isOver(); cuts += 1) {
      await sleep(random.between(300, 2_500))
      await sql(terminateConnectionsSql)
    }
  }
  const jumpClocks = async (random: SeededRandom) => {
    for (; clocks && !isOver(); jumps += 1) {
      await sleep(random.between(300, 2_500))
      await clocks.jump(random)
    }
  }
  const checkSharing = async () => {
    for (; !isOver(); await sleep(100))
      for (const machineId of machineIds) await expectInvariants({ sql }, machineId, new Date())
  }
  const renterLoops = renters.flatMap(renter => [1, 2, 3].map(() => renterDriver.run(random.fork(), renter, isOver)))
  const lateReaders = sleep(3_000).then(() => startReaders(['websocket']))
  await Promise.all([
    killGateways(random.fork()),
    cutConnections(random.fork()),
    jumpClocks(random.fork()),
    checkSharing(),
    lateReaders,
    ...renterLoops,
  ]).catch(error => {
    failed = true
    throw error
  })
  const stormMs = Date.now() - startedAt

  // A short run expires the leases instead of waiting for their end.
  if (isShort) await fleet.killAndReplaceAll(async () => void (await sql(expireLeasesSql)))
  await expect.poll(() => findUnsettledInstances(sql), { timeout: settleTimeoutMs, interval: 250 }).toEqual([])
  const settledAt = new Date(Date.now() - 1_000)
  const settledAfterMs = Date.now() - startedAt - stormMs
  for (const renter of renters) await renterDriver.register(random, renter, aPublicKey(`of ${renter.accountId}`))
  await Promise.race([Promise.all(readers.map(({ waitForEvent }) => waitForEvent('SSH_KEY_CREATED'))), sleep(15_000)])
  const closing = readers.map(({ close }) => close())
  expect(await fleet.stop()).toEqual([0, 0])
  await Promise.all(closing)

  const events = readers.reduce((sum, { ids }) => sum + ids.length, 0)
  const resumed = readers.reduce((sum, reader) => sum + reader.resumed, 0)
  const figures = {
    ...renterDriver.counts,
    killed,
    cuts,
    jumps,
    events,
    readers: readers.length,
    resumed,
    warnings: fleet.logLinesFrom(40).length,
  }
  const times = { stormMs, restMs: settledAfterMs, inAllMs: Date.now() - startedAt }
  process.stdout.write(`${JSON.stringify({ ...figures, ...times })}\n`)

  await expectNoLeaseOrDueInstance(sql, settledAt)
  for (const machineId of machineIds) {
    await expectInvariants({ sql }, machineId, new Date())
    await expectConverged({ sql }, machineId)
  }
  await expectMachinesMatchDesired(sql)
  await expectOneRentalPerKey(sql, renterDriver.records)
  await expectCommandsOnce(sql, renterDriver.records)
  await expectConsistentEvents(sql)
  expect(await findInstantsAhead(sql)).toEqual([])
  expect(await brokenLaws(sql)).toEqual([])
  for (const reader of readers) await expectEveryEventDelivered(sql, reader)
  expect(fleet.logLinesFrom(50)).toEqual([])
})
