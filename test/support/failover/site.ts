// Two gateways on a cluster, with a market, renters, and a connection of the test itself.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import { createOperations, type Operations } from '../../../src/services/operations.ts'
import { withoutQuotasSql } from '../accounts/unbounded.ts'
import { type GatewayFleet, startGatewayFleet } from '../crashes/gateway-fleet.ts'
import { listMachines } from '../factories.ts'
import type { Renter } from '../instances/renters.ts'
import { type Cluster, startCluster } from './cluster.ts'

export type FailoverSite = {
  cluster: Cluster
  fleet: GatewayFleet
  database: Database
  operations: Operations
  renters: Renter[]
  /** Its account rents nothing. It asks whether gateways accept writes, and has its own turn under load. */
  probe: { apiKey: string }
  /** Asks the primary, and waits for one. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}
type SiteOptions = { synchronous: boolean; machines: number; env?: (cluster: Cluster) => Record<string, string> }

export async function openSite({ synchronous, machines, env = () => ({}) }: SiteOptions): Promise<FailoverSite> {
  const cluster = await startCluster({ synchronous })
  const url = cluster.primaryUrl
  const settings = { DATABASE_URL: url, DATABASE_POOL_SIZE: '6', BERTH_SECRET: 'a secret of these tests' }
  const quick = { DEMO_MARKET: 'false', GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'info' }
  const fleet = await startGatewayFleet({ ...settings, ...quick, ...env(cluster) }, 2)
  const database = openDatabase({ url, poolSize: 3, onIdleError: () => {} })
  const operations = createOperations({ database })
  const pool = new pg.Pool({ connectionString: url, max: 8, application_name: 'test', query_timeout: 10_000 })
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  await listMachines(
    operations,
    Array.from({ length: machines }, () => ({ machine: { numGpus: 8 } })),
  )
  const renters: Renter[] = []
  for (const email of ['ada@example.com', 'bob@example.com']) {
    const { account, apiKey } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
    renters.push({ accountId: account.id, apiKey })
    await pool.query(withoutQuotasSql(account.id))
  }
  const probe = await operations.accounts.create({ email: 'probe@example.com', creditNanos: 0n })

  return {
    ...{ cluster, fleet, database, operations, renters, probe },
    async sql(text, values = []) {
      const end = performance.now() + 120_000
      for (;;) {
        try {
          return (await pool.query(text, values)).rows
        } catch (error) {
          if (performance.now() > end) throw error
          await sleep(100)
        }
      }
    },
    async close() {
      await fleet.killAll()
      await pool.end()
      await database.close().catch(() => {})
      await cluster.stop()
    },
  }
}
