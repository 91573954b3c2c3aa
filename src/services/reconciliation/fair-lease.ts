// Shares the reconciler's slots between accounts. A busy account must not delay other accounts; a lone account may use
// every slot.

import type { Database } from '../../database/client.ts'
import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, nullable, timestamptz } from '../../database/row-types.ts'
import { type InstanceLease, leaseEndSql } from './leases.ts'

const { sql } = Prisma

/** Compares this many of the instances that are due the longest. If more are due, accounts take turns. */
const comparedCount = 64

const leasedRow = { id: int8, accountId: int4, step: nullable(int4), leasedUntil: timestamptz, readAt: timestamptz }

type LeaseQuery = { limit: number; busy: readonly InstanceLease[] }
type LeasedInstances = { ids: bigint[]; leasedUntil: Date | undefined }

/**
 * Leases due instances. Among the instances that are due the longest, accounts with the fewest instances in work come
 * first. If more are due, one account may fill all `comparedCount` places and hide the instances of other accounts. So
 * a round-robin goes first: it takes the next instance of each account, but skips accounts that have half of the slots
 * already.
 */
export function createFairLease(database: Database): (query: LeaseQuery) => Promise<LeasedInstances> {
  // Each gateway has its own `lastAccount`: the round-robin may start at any account.
  let lastAccount = 0

  return async function leaseDue({ limit, busy }) {
    const { nowSql, clock } = database
    const askedMs = performance.now()
    const isFree = sql`i.due_at <= ${nowSql} AND (i.leased_until IS NULL OR i.leased_until <= ${nowSql})`
    const capacity = limit + busy.length
    const statement = sql`
      WITH RECURSIVE longest AS MATERIALIZED (
        SELECT i.id, i.account_id, i.due_at FROM instances i WHERE ${isFree} ORDER BY i.due_at LIMIT ${comparedCount}
      ), in_work AS MATERIALIZED (
        SELECT account_id, count(*) FROM unnest(${busy.map(({ accountId }) => accountId)}::int[]) AS account_id GROUP BY 1
      ), walk (step, account_id) AS (
        SELECT 0, ${lastAccount}::int WHERE (SELECT count(*) FROM longest) = ${comparedCount}
        UNION ALL
        SELECT step + 1, coalesce(
          (SELECT i.account_id FROM instances i WHERE ${isFree} AND i.account_id > walk.account_id ORDER BY 1 LIMIT 1),
          (SELECT i.account_id FROM instances i WHERE ${isFree} ORDER BY 1 LIMIT 1)
        ) FROM walk WHERE step < ${capacity}
      ), turns AS MATERIALIZED (
        SELECT next.id, min(step) AS step FROM walk CROSS JOIN LATERAL (
          SELECT i.id FROM instances i WHERE ${isFree} AND i.account_id = walk.account_id ORDER BY i.due_at LIMIT 1
        ) next
        WHERE step > 0 AND NOT EXISTS (SELECT FROM in_work h WHERE h.account_id = walk.account_id AND h.count >= ${capacity / 2}::float)
        GROUP BY next.id
      ), candidates AS (
        SELECT id, step, NULL::bigint AS place, NULL::timestamptz AS since FROM turns
        UNION ALL
        SELECT id, NULL, row_number() OVER (PARTITION BY account_id ORDER BY due_at)
          + coalesce((SELECT count FROM in_work h WHERE h.account_id = longest.account_id), 0), due_at
        FROM longest WHERE id NOT IN (SELECT id FROM turns)
      ), taken AS MATERIALIZED (
        SELECT i.id, i.account_id, c.step FROM candidates c JOIN instances i ON i.id = c.id AND ${isFree}
        ORDER BY c.step, c.place, c.since LIMIT ${limit} FOR NO KEY UPDATE OF i SKIP LOCKED
      )
      UPDATE instances SET leased_until = ${leaseEndSql(nowSql)} FROM taken WHERE instances.id = taken.id
      RETURNING instances.id, taken.account_id, taken.step, instances.leased_until, ${nowSql} AS read_at`
    const rows = await database.query(statement, leasedRow)
    const [first] = rows
    // Passes estimate the time from this reading: the gateway's computer may have slept since the last reading.
    if (first) clock.recordReading(first.readAt, askedMs)
    const walked = rows.flatMap(({ accountId, step }) => (step === null ? [] : [{ accountId, step }]))
    lastAccount = walked.toSorted((one, other) => one.step - other.step).at(-1)?.accountId ?? lastAccount
    return { ids: rows.map(({ id }) => id), leasedUntil: first?.leasedUntil }
  }
}
