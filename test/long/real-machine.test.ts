// Kills the engine of a real machine, gateways, or both, while renters continue.

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/client.ts'
import { inspectEngine } from '../../src/providers/docker/inspect.ts'
import { engineOperations } from '../../src/services/machines/engines/connect.ts'
import { createOperations } from '../../src/services/operations.ts'
import { createSecrets } from '../../src/services/secrets.ts'
import { withoutQuotasSql } from '../support/accounts/unbounded.ts'
import { brokenLaws } from '../support/billing/ledger-laws.ts'
import { type GatewayFleet, startGatewayFleet } from '../support/crashes/gateway-fleet.ts'
import {
  expectCommandsOnce,
  expectConsistentEvents,
  expectOneRentalPerKey,
  findUnsettledInstances,
} from '../support/crashes/invariants.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { docker } from '../support/engine/docker.ts'
import { startEngine, type TestEngine } from '../support/engine/engine.ts'
import { engineObstacle } from '../support/engine/obstacle.ts'
import { listMachines } from '../support/factories.ts'
import { expectConverged } from '../support/instances/rental-invariants.ts'
import { createRenters, type Renter } from '../support/instances/renters.ts'
import { makeDataDir } from '../support/processes/programs.ts'
import { createSeededRandom, type SeededRandom } from '../support/seeded-random.ts'

// ENGINE_CRASH_SEED repeats the actions of a run, but not how they interleave. ENGINE_CRASH_ROUNDS sets its length.
const seed = Number(process.env['ENGINE_CRASH_SEED'] ?? Date.now() % 2 ** 31)
const rounds = Number(process.env['ENGINE_CRASH_ROUNDS'] ?? 20)
const secret = 'a secret of these tests'
/** The instances of a dead gateway stay leased for 30 s, and a silent machine is retried once a minute. */
const settleTimeoutMs = 120_000

let testDatabase: TestDatabase
let pool: pg.Pool
let engine: TestEngine & { stop(): Promise<void> }
let fleet: GatewayFleet
let renters: Renter[]
let removeFolder: () => Promise<void>

const obstacle = engineObstacle()
const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows

describe.skipIf(obstacle)('a real machine', () => {
  beforeAll(async () => {
    engine = await startEngine()
    testDatabase = await createDatabase()
    pool = new pg.Pool({ connectionString: testDatabase.url, max: 8, application_name: 'test' })
    renters = await fillMarket()
    const { dataDir, remove } = await makeDataDir()
    removeFolder = remove
    await copyFile(engine.toolbox, join(dataDir, 'toolbox.tar'))
    const env = { DATABASE_URL: testDatabase.url, BERTH_SECRET: secret, BERTH_DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
    fleet = await startGatewayFleet(env, 2)
  })

  afterAll(async () => {
    await fleet?.killAll()
    await engine?.stop()
    await pool?.end()
    await testDatabase?.drop()
    await removeFolder?.()
  })

  async function fillMarket(): Promise<Renter[]> {
    const database = openDatabase({ url: testDatabase.url, poolSize: 2, onIdleError: () => {} })
    const operations = createOperations({ database })
    await listMachines(operations, [
      {
        machine: {
          numGpus: 8,
          cpuCores: 1,
          cpuRamMb: 1_000,
          publicIp: '127.0.0.1',
          lastPort: 20_999,
          diskMb: 5_000_000,
        },
      },
    ])
    const engines = engineOperations({ database, secrets: async () => createSecrets(secret), inspectEngine })
    await engines.connect(1, { url: engine.url, tls: null, gpuAccess: 'none', gpuUuids: [] })
    const created: Renter[] = []
    for (const email of ['ada@example.com', 'bob@example.com']) {
      const { account, apiKey } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
      created.push({ accountId: account.id, apiKey })
    }
    for (const { accountId } of created) await database.pool.query(withoutQuotasSql(accountId))
    await database.close()
    return created
  }

  it(`agrees with the database after ${rounds} kills of its engine, of gateways and of both`, async () => {
    process.stdout.write(`ENGINE_CRASH_SEED=${seed} ENGINE_CRASH_ROUNDS=${rounds}\n`)
    const random = createSeededRandom(seed)
    const renterDriver = createRenters({ renters, pick: fleet.pickUrl, sql, images: [engine.images.tiny, 'not/there'] })
    let [kills, failed] = [0, false]
    const isOver = () => failed || kills >= rounds
    const killEngine = async (random: SeededRandom) => {
      await engine.killEngine()
      await sleep(random.between(0, 3_000))
      await engine.restartEngine()
    }
    const kill = async (random: SeededRandom) => {
      for (; !isOver(); kills += 1) {
        await sleep(random.between(500, 5_000))
        const kinds = [killEngine, fleet.killAndReplace]
        const victims = kills % 3 === 2 ? kinds : [kinds[kills % 3]]
        await Promise.all(victims.map(end => end?.(random)))
      }
    }
    const loops = renters.flatMap(renter => [1, 2].map(() => renterDriver.run(random.fork(), renter, isOver)))
    await Promise.all([kill(random.fork()), ...loops]).catch(error => {
      failed = true
      throw error
    })

    await expect.poll(() => findUnsettledInstances(sql), { timeout: settleTimeoutMs, interval: 250 }).toEqual([])
    // Containers of instances that are gone are removed when lists are compared, each 30 seconds.
    await expect.poll(disagreements, { timeout: 45_000, interval: 500 }).toEqual([])
    process.stdout.write(`${JSON.stringify({ ...renterDriver.counts, kills })}\n`)
    expect(await fleet.stop()).toEqual([0, 0])
    await expectConverged({ sql }, 1)
    await expectOneRentalPerKey(sql, renterDriver.records)
    await expectCommandsOnce(sql, renterDriver.records)
    await expectConsistentEvents(sql)
    expect(await brokenLaws(sql)).toEqual([])
    expect(fleet.logLinesFrom(50)).toEqual([])
  })

  /** Instances whose container and row differ: none may run that should not, be missing, double or left over. */
  async function disagreements(): Promise<string[]> {
    const format = '{{.Label "berth.instance"}} {{.State}}'
    const listed = await docker(engine.folder, ['ps', '-a', '--filter', 'label=berth.instance', '--format', format])
    const containers = listed.split('\n').filter(Boolean).toSorted()
    const rows = await sql(
      "SELECT id, status = 'running' AS runs FROM instances WHERE destroyed_at IS NULL ORDER BY id",
    )
    const running = rows.filter(({ runs }) => runs).map(({ id }) => `${id} running`)
    const living = new Set(rows.map(({ id }) => String(id)))
    const up = containers.filter(line => line.endsWith(' running'))
    return [
      ...running.filter(line => !up.includes(line)).map(line => `missing: ${line}`),
      ...up.filter(line => !running.includes(line)).map(line => `should not run: ${line}`),
      ...containers.filter(line => !living.has(line.split(' ')[0] ?? '')).map(line => `left over: ${line}`),
      ...containers.filter((line, place) => containers.indexOf(line) !== place).map(line => `twice: ${line}`),
    ]
  }
})
