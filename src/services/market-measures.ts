// Counts what the market has, for operators. Only columns that `metricsColumns` (database/roles) names.

import type { Database } from '../database/client.ts'
import { Prisma } from '../database/generated/client.ts'
import { enumeration, int4, text } from '../database/row-types.ts'
import type { InstanceStatus } from '../domain/instances/states.ts'
import { isHeldNowSql } from './machines/agents/sql.ts'
import { unreachableSql } from './machines/unreachable.ts'

const { sql } = Prisma

export type MarketMeasures = {
  /** Absent states and statuses have no machine or instance. */
  machines: { state: string; count: number }[]
  /** Those that are not destroyed. */
  instances: { status: InstanceStatus; count: number }[]
  /** Machines that have not answered for a minute, without those that are drained. */
  machinesUnreachable: number
  /** Hosts whose agent is connected to a gateway. */
  hostsConnected: number
  /** Webhooks whose last attempt failed. */
  webhooksFailing: number
}

export async function readMarketMeasures({
  query,
  nowSql,
}: Pick<Database, 'query' | 'nowSql'>): Promise<MarketMeasures> {
  const [machines, instances, [rest]] = await Promise.all([
    query(
      sql`SELECT CASE WHEN unlisted_at IS NOT NULL THEN 'unlisted' WHEN drained_at IS NOT NULL THEN 'draining'
          WHEN unconfirmed_at IS NOT NULL THEN 'suspended' ELSE 'listed' END AS state, count(*)::int AS count
        FROM machines GROUP BY 1`,
      { state: text, count: int4 },
    ),
    query(sql`SELECT status, count(*)::int AS count FROM instances WHERE destroyed_at IS NULL GROUP BY 1`, {
      status: enumeration<InstanceStatus>(),
      count: int4,
    }),
    query(
      sql`SELECT (SELECT count(DISTINCT m.id)::int FROM (${unreachableSql(nowSql)}) u JOIN machines m ON m.id = u.machine_id
          WHERE m.drained_at IS NULL AND u.since <= ${nowSql} - interval '1 minute') AS machines_unreachable,
        (SELECT count(*)::int FROM agents WHERE ${isHeldNowSql(nowSql)}) AS hosts_connected,
        (SELECT count(*)::int FROM webhooks WHERE failing_since IS NOT NULL) AS webhooks_failing`,
      { machinesUnreachable: int4, hostsConnected: int4, webhooksFailing: int4 },
    ),
  ])
  if (!rest) throw new Error('PostgreSQL answered no row of measures.')
  return { machines, instances, ...rest }
}
