// Two gateways with renters on a large database, and a host whose containers are kept outside of it.

import pg from 'pg'
import { openDatabase } from '../../../src/database/client.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { withoutQuotasSql } from '../accounts/unbounded.ts'
import { type GatewayFleet, startGatewayFleet } from '../crashes/gateway-fleet.ts'
import { copyRows } from '../database/copies.ts'
import { createDatabase, type TestDatabase } from '../database/database.ts'
import { urlAs } from '../database/roles.ts'
import { withSession } from '../database/sessions.ts'
import { listMachines } from '../factories.ts'
import { type OutsideHost, startOutsideHost } from '../failover/host.ts'
import type { Renter } from '../instances/renters.ts'

/** The machines of the market. The last one is that of the outside host. */
export const simulatedMachines = [1, 2]
export const outsideMachine = 3

export type BackupSite = Awaited<ReturnType<typeof openBackupSite>>

export function envOf({ url }: TestDatabase): Record<string, string> {
  const quick = { DEMO_MARKET: 'false', GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'warn' }
  return { DATABASE_URL: url, DATABASE_POOL_SIZE: '6', BERTH_SECRET: 'a secret of these tests', ...quick }
}

export async function openBackupSite() {
  const database = await createDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 6, application_name: 'test' })
  const own = openDatabase({ url: urlAs('app', database.url), poolSize: 2, onIdleError: () => {} })
  const operations = createOperations({ database: own })
  await listMachines(
    operations,
    [...simulatedMachines, outsideMachine].map(() => ({ machine: { numGpus: 8 } })),
  )
  const renters: Renter[] = []
  for (const email of ['ada@example.com', 'bob@example.com', 'eve@example.com']) {
    const { account, apiKey } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
    renters.push({ accountId: account.id, apiKey })
    await pool.query(withoutQuotasSql(account.id))
  }
  const fleet: GatewayFleet = await startGatewayFleet(envOf(database), 2)
  const host: OutsideHost = await startOutsideHost({ operations, fleet }, outsideMachine)
  return {
    ...{ database, fleet, host, renters },
    sql: async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows,
    async close() {
      await fleet.killAll()
      await host.close()
      await pool.end()
      await own.close()
      await database.drop()
    },
  }
}

/** Copies an event of an account, many times. */
export async function addEvents({ url }: TestDatabase, count: number): Promise<void> {
  await withSession(url, session =>
    copyRows(session, {
      table: 'events',
      from: `generate_series(1, ${count}) n`,
      where: `s.id = (SELECT min(id) FROM events WHERE kind = 'CREDIT_GRANTED')`,
      changes: { id: `nextval('events_id_seq')`, note: `md5(n::text) || repeat(' ', n % 50)` },
    }),
  )
}
