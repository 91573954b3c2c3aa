// Measures background work for operators. The values come from the database, so they are the same on every gateway.

import type { Database } from '../database/client.ts'
import { Prisma } from '../database/generated/client.ts'
import { float8, int4, text } from '../database/row-types.ts'
import { type MarketMeasures, readMarketMeasures } from './market-measures.ts'
import { isFreeSql } from './reconciliation/leases.ts'

const { sql } = Prisma

type Measures = {
  /** Due work that no gateway has leased, and how long the oldest of it has been due. */
  due: { kind: string; count: number; lagSeconds: number }[]
  /** Webhook deliveries with an attempt due now or later. */
  deliveriesPending: number
  /** Age of the oldest open transaction that may write events. Readers do not see events from after its start. */
  outboxLagSeconds: number
  /** Events that are written but not readable yet. */
  eventsWaiting: number
  /** How often the database has gone on along another line of history. */
  failovers: number
}

/** `figures` may be read by a role that reads nothing else: `metricsColumns` (database/roles) has the columns that it counts. */
export function measureServices(figures: Pick<Database, 'query' | 'nowSql'>) {
  return {
    measureMarket: (): Promise<MarketMeasures> => readMarketMeasures(figures),

    async measure(): Promise<Measures> {
      const { nowSql } = figures
      const dueSql = (kind: string, table: string, dueAt: string, leasedUntil: string) => sql`
        SELECT ${kind} AS kind, count(*)::int AS count,
          coalesce(extract(epoch FROM ${nowSql} - min(${Prisma.raw(dueAt)})), 0)::float AS lag_seconds
        FROM ${Prisma.raw(table)} WHERE ${Prisma.raw(dueAt)} <= ${nowSql}
        AND ${isFreeSql(Prisma.raw(leasedUntil), nowSql)}`
      const [due, [rest]] = await Promise.all([
        figures.query(
          sql`${dueSql('instances', 'instance_looks', 'due_at', 'leased_until')}
          UNION ALL ${dueSql('policies', 'instances', 'policy_due_at', 'policy_leased_until')}
          UNION ALL ${dueSql('billing', 'accounts', 'billing_due_at', 'billing_leased_until')}
          UNION ALL ${dueSql('webhooks', 'webhook_deliveries', 'due_at', 'leased_until')}`,
          { kind: text, count: int4, lagSeconds: float8 },
        ),
        // Transactions in other databases of the server also hold readers back.
        figures.query(
          sql`SELECT (SELECT count(*)::int FROM webhook_deliveries WHERE due_at IS NOT NULL) AS deliveries_pending,
            (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float FROM pg_stat_activity
              WHERE backend_xid IS NOT NULL) AS outbox_lag_seconds,
            (SELECT count(*)::int FROM events WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())) AS events_waiting,
            (SELECT count(*)::int FROM failovers) AS failovers`,
          { deliveriesPending: int4, outboxLagSeconds: float8, eventsWaiting: int4, failovers: int4 },
        ),
      ])
      if (!rest) throw new Error('PostgreSQL answered no row of measures.')
      return { due, ...rest }
    },
  }
}
