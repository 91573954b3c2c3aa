// Gateways, each with a network of its own to one PostgreSQL server, and the accounts of a fault suite.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openDatabase } from '../../../src/database/client.ts'
import { migrate } from '../../../src/database/migrations.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { withoutQuotasSql } from '../accounts/unbounded.ts'
import { startGatewayFleet } from '../crashes/gateway-fleet.ts'
import { startFaultyProxy } from '../database/faulty-proxy.ts'
import { urlAs } from '../database/roles.ts'
import { withSession } from '../database/sessions.ts'
import { listMachines } from '../factories.ts'
import type { Renter } from '../instances/renters.ts'
import { createWrongClocks } from '../processes/wrong-clocks.ts'
import { startDatabaseServer } from './database-server.ts'

export type Site = Awaited<ReturnType<typeof startSite>>

const gatewayCount = 3
export const machineIds = [1, 2, 3, 4]
const emails = ['ada@example.com', 'bob@example.com', 'cleo@example.com']
/** Times of simulated machines, whose own clocks are right. */
const machineTimes = ['prepared_at', 'up_at', 'down_at', 'ends_at']

export async function startSite() {
  const server = await startDatabaseServer()
  await migrate(urlAs('owner', server.url))
  const accounts = await fillMarket(server.url)
  const proxies = await Promise.all(Array.from({ length: gatewayCount }, () => startFaultyProxy(server.url)))
  const clocks = await createWrongClocks()
  const pool = new pg.Pool({ connectionString: server.url, max: 8, application_name: 'test' })
  pool.on('error', () => {})
  const env = {
    ...{ DATABASE_POOL_SIZE: '8', BERTH_SECRET: 'a secret of these tests', WEBHOOK_PRIVATE_ADDRESSES: 'true' },
    ...{ DEMO_MARKET: 'false', GRAPHIQL: 'false', SIMULATED_DELAY: '0.03', LOG_LEVEL: 'warn', METRICS: 'true' },
  }
  const fleet = await startGatewayFleet(env, gatewayCount, place => ({
    ...clocks?.envOf(place),
    DATABASE_URL: proxies[place]?.url as string,
  }))
  let clockSeconds = 0
  let clockSets = 0

  /** Like the gateways, it waits while the server is down. */
  async function sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    for (;;) {
      try {
        return (await pool.query(text, values)).rows
      } catch (error) {
        if (!isOutage(error)) throw error
        await sleep(100)
      }
    }
  }

  return {
    server,
    accounts,
    proxies,
    clocks,
    fleet,
    sql,
    now: async () => (await sql('SELECT clock_timestamp() AS now'))[0]?.['now'] as Date,
    clockSets: () => clockSets,
    /** Sets the server's clock. The gateways stand still meanwhile, so that they see no half of it. */
    async setDatabaseClock(seconds: number): Promise<void> {
      const back = clockSeconds - seconds
      clockSeconds = seconds
      clockSets += 1
      const shifts = machineTimes.map(
        column => `${column} = CASE WHEN ${column} > clock_timestamp() + interval '1 minute'
          THEN ${column} - ${back} * interval '1 second' ELSE ${column} END`,
      )
      await fleet.pause('all', async () => {
        await server.setClock(seconds)
        if (back > 0) await sql(`UPDATE simulated_containers SET ${shifts.join(', ')}`)
      })
    },
    async close(): Promise<void> {
      await fleet.killAll()
      await pool.end().catch(() => {})
      for (const proxy of proxies) proxy.close()
      await server.close()
      await clocks?.remove()
    },
  }
}

function isOutage(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return /^(57P|53|08|ECONN|EPIPE)/.test(code) || /terminated|timeout|Connection/i.test(message)
}

async function fillMarket(url: string): Promise<Renter[]> {
  const database = openDatabase({ url: urlAs('app', url), poolSize: 2, onIdleError: () => {} })
  const operations = createOperations({ database })
  await listMachines(
    operations,
    machineIds.map(() => ({ machine: { numGpus: 8 } })),
  )
  const accounts: Renter[] = []
  for (const email of emails) {
    const { account, apiKey } = await operations.accounts.create({ email, creditNanos: 1_000_000_000_000n })
    accounts.push({ accountId: account.id, apiKey })
  }
  await database.close()
  await withSession(url, async session => {
    for (const { accountId } of accounts) await session.query(withoutQuotasSql(accountId))
  })
  return accounts
}
