// How the work is going, as far as the database tells: for operators, and the same on every gateway.

import { Prisma } from '../database/generated/client.ts'
import type { DataDeps } from './deps.ts'

const { sql } = Prisma

export type Measures = {
  /** What is due and in nobody's hands, and how long the first of it has been. */
  due: { kind: string; count: number; lagSeconds: number }[]
  /** Webhook deliveries that are to be tried, now or later. */
  deliveriesPending: number
  /** For how long the oldest transaction that may write events has been open: nobody reads what came after it began. */
  outboxLagSeconds: number
  /** Events that are written and cannot be read yet. */
  eventsWaiting: number
}

export function measureServices({ database }: DataDeps) {
  return {
    async measure(): Promise<Measures> {
      const { now } = database
      const due = (kind: string, table: string, dueAt: string, leasedUntil: string) => sql`
        SELECT ${kind}, count(*)::int, coalesce(extract(epoch FROM ${now} - min(${Prisma.raw(dueAt)})), 0)::float
        FROM ${Prisma.raw(table)} WHERE ${Prisma.raw(dueAt)} <= ${now}
        AND (${Prisma.raw(leasedUntil)} IS NULL OR ${Prisma.raw(leasedUntil)} <= ${now})`
      const [kinds, [rest]] = await Promise.all([
        database.rows(sql`
          ${due('instances', 'instances', 'due_at', 'leased_until')}
          UNION ALL ${due('policies', 'instances', 'policy_due_at', 'policy_leased_until')}
          UNION ALL ${due('billing', 'accounts', 'billing_due_at', 'billing_leased_until')}
          UNION ALL ${due('webhooks', 'webhook_deliveries', 'due_at', 'leased_until')}`),
        // Transactions of other databases hold readers back too.
        database.rows(sql`
          SELECT (SELECT count(*)::int FROM webhook_deliveries WHERE due_at IS NOT NULL),
            (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float FROM pg_stat_activity
              WHERE backend_xid IS NOT NULL),
            (SELECT count(*)::int FROM events WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()))`),
      ])
      const [deliveriesPending, outboxLagSeconds, eventsWaiting] = rest as [number, number, number]
      return {
        due: kinds.map(([kind, count, lagSeconds]) => ({ kind, count, lagSeconds }) as Measures['due'][number]),
        deliveriesPending,
        outboxLagSeconds,
        eventsWaiting,
      }
    },
  }
}
