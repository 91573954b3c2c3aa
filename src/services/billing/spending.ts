// For an account or one of its keys: the spending in a window of time, and the cost per hour of the desired state.

import { Prisma } from '../../database/generated/client.ts'
import { int4, json, nullable, numeric, type RowOf, timestamptz } from '../../database/row-types.ts'
import type { Statements } from '../../database/statements.ts'
import type { KeyRate, Spending } from '../../domain/billing/limits.ts'
import { wantsGpusSql } from '../instances/sql.ts'
import { meterEndOfAccountSql } from './sql.ts'

const { sql } = Prisma

/** `apiKeyId`: null for the whole account. */
type SpendingWindow = { apiKeyId: number | null; from: Date }

/**
 * Returns each window with the spending since its start. An entry that began earlier counts with its part in the
 * window. A refund reduces the spending in the window of its charge. GPU charges end at `gpusEnd`, if given.
 */
export async function loadSpending<Window extends SpendingWindow>(
  database: Pick<Statements, 'query'>,
  { accountId, at }: { accountId: number; at: Date },
  windows: readonly Window[],
  gpusEnd: Date | null = null,
): Promise<(Window & Spending)[]> {
  if (windows.length === 0) return []
  const starts = [...new Set(windows.map(({ from }) => from.getTime()))].map(ms => new Date(ms))
  // Sums the spending once for each distinct window start, for all keys. A meter is charged up to its `since`, so
  // meters that ended before a window are not read: as a plain join, all meters that the account ever had may be.
  const statement = sql`
    WITH starts AS (SELECT start FROM unnest(${starts}::timestamptz[]) AS start), posted AS (
      SELECT start, meters.api_key_id, coalesce(sum(charged.nanos), 0) AS nanos
      FROM starts CROSS JOIN LATERAL (
        SELECT id, api_key_id FROM meters WHERE account_id = ${accountId} AND since > start OFFSET 0
      ) meters CROSS JOIN LATERAL (
        SELECT sum(CASE WHEN m.period_start >= start AND coalesce(given_back.period_start >= m.period_end, true)
          THEN -m.amount_nanos ELSE ${meterCostUntilSql(sql`least(m.period_end, given_back.period_start)`, sql`m.period_start`)}
            - ${meterCostUntilSql(sql`least(start, given_back.period_start)`, sql`m.period_start`)} END) AS nanos
        FROM ledger_entries m LEFT JOIN LATERAL (
          SELECT r.period_start FROM ledger_entries r WHERE r.meter_id = m.meter_id AND r.kind = 'refund'
          AND m.period_end > r.period_start AND m.period_end <= r.period_end LIMIT 1
        ) given_back ON true
        WHERE m.meter_id = meters.id AND m.kind IN ('gpu', 'disk') AND m.period_end > start
      ) charged
      GROUP BY start, meters.api_key_id
    ), going AS (
      SELECT m.*, least(${meterEndOfAccountSql(accountId)}, CASE m.kind WHEN 'gpu' THEN ${gpusEnd}::timestamptz END) AS stops_at
      FROM meters m WHERE m.account_id = ${accountId} AND m.rate_nanos > 0
    ), running AS (
      SELECT start, m.api_key_id, sum(m.rate_nanos) AS rate,
        sum(m.rate_nanos * extract(epoch FROM m.since) * 1000 - m.carried)::numeric(40) AS origin,
        sum(${meterCostUntilSql(sql`least(start, m.stops_at)`, sql`m.since`)}) AS before,
        sum(${meterCostUntilSql(sql`least(greatest(${at}::timestamptz, start), m.stops_at)`, sql`m.since`)}) AS until
      FROM starts, going m GROUP BY start, m.api_key_id
    ), ended AS MATERIALIZED (
      SELECT api_key_id, greatest(since, stops_at) AS at, sum(rate_nanos)::text AS rate FROM going
      WHERE stops_at IS NOT NULL GROUP BY api_key_id, greatest(since, stops_at)
    )
    SELECT start, api_key_id, nanos AS posted, 0 AS rate, 0 AS origin, nanos AS spent, NULL::json AS ends FROM posted
    UNION ALL SELECT start, api_key_id, -before, rate, origin, until - before,
      (SELECT json_agg(json_build_array(rate, at)) FROM ended WHERE ended.api_key_id IS NOT DISTINCT FROM running.api_key_id)
    FROM running`
  const rows = await database.query(statement, spendingRow)
  return windows.map(window => ({ ...window, ...sumWindow(window, rows) }))
}

const amounts = { posted: numeric, rate: numeric, origin: numeric, spent: numeric }
const spendingRow = {
  ...{ start: timestamptz, apiKeyId: nullable(int4), ...amounts },
  ends: nullable(json<[rate: string, at: string][]>()),
}

/** Sums the rows that count in a window. */
function sumWindow({ apiKeyId, from }: SpendingWindow, rows: readonly RowOf<typeof spendingRow>[]): Spending {
  const counted = rows.filter(
    row => row.start.getTime() === from.getTime() && (apiKeyId === null || row.apiKeyId === apiKeyId),
  )
  const sum = (name: keyof typeof amounts) => counted.reduce((total, row) => total + BigInt(row[name]), 0n)
  const ends = counted
    .flatMap(row => row.ends ?? [])
    .map(([rate, at]) => ({ rateNanos: BigInt(rate), at: new Date(at) }))
  return {
    ...{ from, postedNanos: sum('posted'), rateNanos: sum('rate'), origin: sum('origin'), spentNanos: sum('spent') },
    ends: ends.map(end => ({ ...end, since: end.at })),
  }
}

/** The cost of `m` from `beginning` to an instant. Must agree with `calculateCharge` in domain/billing/balance.ts. */
function meterCostUntilSql(instant: Prisma.Sql, beginning: Prisma.Sql): Prisma.Sql {
  return sql`div(m.rate_nanos * greatest(extract(epoch FROM ${instant} - ${beginning}) * 1000, 0) + m.carried, 3600000)`
}

/** The cost per hour of all instances that should run, running or not, and of all disks, by key. */
export async function loadDesiredRates(database: Pick<Statements, 'query'>, accountId: number): Promise<KeyRate[]> {
  const statement = sql`
    SELECT api_key_id, sum(rate) AS rate FROM (
      SELECT m.api_key_id, m.rate_nanos AS rate FROM meters m
      WHERE m.account_id = ${accountId} AND m.kind = 'disk' AND m.rate_nanos > 0
      UNION ALL
      SELECT m.api_key_id, i.gpu_price_nanos FROM instances i CROSS JOIN LATERAL (
        SELECT api_key_id FROM meters WHERE instance_id = i.id AND kind = 'gpu' LIMIT 1
      ) m
      WHERE i.account_id = ${accountId} AND ${wantsGpusSql}
    ) wished GROUP BY api_key_id`
  return await findRates(database, statement)
}

/** The cost per hour of instances' GPUs while the instances run, by the key whose limits count the cost. */
export async function loadGpuRates(database: Pick<Statements, 'query'>, ids: readonly bigint[]): Promise<KeyRate[]> {
  const statement = sql`
    SELECT m.api_key_id, sum(i.gpu_price_nanos) AS rate FROM meters m JOIN instances i ON i.id = m.instance_id
    WHERE m.kind = 'gpu' AND i.id = ANY(${ids.map(String)}::bigint[]) GROUP BY m.api_key_id`
  return await findRates(database, statement)
}

async function findRates(database: Pick<Statements, 'query'>, statement: Prisma.Sql): Promise<KeyRate[]> {
  const rows = await database.query(statement, { apiKeyId: nullable(int4), rate: numeric })
  return rows.map(({ apiKeyId, rate }) => ({ apiKeyId, rateNanos: BigInt(rate) }))
}
