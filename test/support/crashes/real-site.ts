// A market on a real engine: gateways reach machine 1 themselves, and machine 2 by its host's agent. Each is a process of its own.

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openDatabase } from '../../../src/database/client.ts'
import { inspectEngine } from '../../../src/providers/docker/inspection/engine-facts.ts'
import { engineOperations } from '../../../src/services/machines/engines/connect.ts'
import { createOperations, type Operations } from '../../../src/services/operations.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { withoutQuotasSql } from '../accounts/unbounded.ts'
import { createDatabase } from '../database/database.ts'
import { urlAs } from '../database/roles.ts'
import { startEngine } from '../engine/engine.ts'
import { listMachines } from '../factories.ts'
import type { Renter } from '../instances/renters.ts'
import { startTcpBalancer } from '../machines/tcp-balancer.ts'
import { makeDataDir } from '../processes/programs.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { startAgentProcess } from './agent-process.ts'
import { startGatewayFleet } from './gateway-fleet.ts'

const secret = 'a secret of these tests'
const machine = { numGpus: 8, cpuCores: 1, cpuRamMb: 1_000, publicIp: '127.0.0.1', diskMb: 5_000_000 }
const machines = [
  { machine: { ...machine, lastPort: 20_999 } },
  { machine: { ...machine, firstPort: 21_000, lastPort: 21_999 } },
]

export const victims = ['engine', 'gateway', 'agent'] as const
export type Victim = (typeof victims)[number]
export type RealSite = Awaited<ReturnType<typeof openRealSite>>

export async function openRealSite() {
  const engine = await startEngine()
  const testDatabase = await createDatabase()
  const pool = new pg.Pool({ connectionString: testDatabase.url, max: 8, application_name: 'test' })
  const database = openDatabase({ url: urlAs('app', testDatabase.url), poolSize: 2, onIdleError: () => {} })
  const operations = createOperations({ database })
  await listMachines(operations, machines)
  // Two machines never share an engine. Here both are made of one, which tells them apart by their marks.
  const inspect: typeof inspectEngine = async one => ({ ...(await inspectEngine(one)), identity: 'without an agent' })
  const engines = engineOperations({ database, secrets: async () => createSecrets(secret), inspectEngine: inspect })
  await engines.connect(1, { url: engine.url, tls: null, gpuAccess: 'none', gpuUuids: [] })
  const renters = [await newRenter(operations, 'ada@example.com'), await newRenter(operations, 'bob@example.com')]
  for (const { accountId } of renters) await pool.query(withoutQuotasSql(accountId))

  const [ofGateways, ofHost] = [await makeDataDir(), await makeDataDir()]
  await copyFile(engine.toolbox, join(ofGateways.dataDir, 'toolbox.tar'))
  const settings = { DATABASE_URL: testDatabase.url, BERTH_SECRET: secret, BERTH_DATA_DIR: ofGateways.dataDir }
  const fleet = await startGatewayFleet({ ...settings, DEMO_MARKET: 'false', LOG_LEVEL: 'warn', RUN_AS: 'root' }, 2)
  const balancer = await startTcpBalancer()
  balancer.use(fleet.urls())
  const { token } = await operations.machines.invite(2, { gpuAccess: 'none', validMs: 60_000 })
  const agent = await startAgentProcess(ofHost.dataDir, { gateway: balancer.url, token, engine: engine.url })

  const kills: Record<Victim, (random: SeededRandom) => Promise<void>> = {
    async engine(random) {
      await engine.killEngine()
      await sleep(random.between(0, 3_000))
      await engine.restartEngine()
    },
    async gateway(random) {
      await fleet.killAndReplace(random)
      balancer.use(fleet.urls())
    },
    async agent(random) {
      await agent.kill()
      await sleep(random.between(0, 3_000))
      agent.start()
    },
  }

  return {
    engine,
    fleet,
    agent,
    renters,
    machineIds: machines.map((_, index) => index + 1),
    sql: async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows,
    kill: (killed: readonly Victim[], random: SeededRandom) =>
      Promise.all(killed.map(victim => kills[victim](random.fork()))),
    async stop(): Promise<void> {
      await agent.kill()
      await fleet.killAll()
      await balancer.close()
      await engine.stop()
      await database.close()
      await pool.end()
      await testDatabase.drop()
      for (const { remove } of [ofGateways, ofHost]) await remove()
    },
  }
}

async function newRenter({ accounts }: Operations, email: string): Promise<Renter> {
  const { account, apiKey } = await accounts.create({ email, creditNanos: 1_000_000_000_000n })
  return { accountId: account.id, apiKey }
}
