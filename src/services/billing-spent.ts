// What was spent in a window of time, and what would be per hour: of an account, or of one of its keys.

import { Prisma } from '../database/generated/client.ts'
import type { Transaction } from '../database/transaction.ts'
import type { Asked, Spending } from '../domain/billing-limits.ts'
import { finalStatuses } from '../domain/instances.ts'
import { endOfMeter } from './billing-sql.ts'

const { sql } = Prisma

/** Whose spending since when; without a key that of the whole account. */
export type Window = { apiKeyId: number | null; from: Date }

/**
 * What was spent in windows that go on. An entry that began before its window counts as far as it is in it, and what was
 * given back does not count where it had been charged. GPUs cost nothing beyond `gpusEnd`, if that is given.
 */
export async function spendingIn(
  database: Pick<Transaction, 'rows'>,
  { accountId, at }: { accountId: number; at: Date },
  windows: readonly Window[],
  gpusEnd: Date | null = null,
): Promise<Spending[]> {
  if (windows.length === 0) return []
  const rows = await database.rows(sql`
    SELECT coalesce(posted.nanos, 0) - going.before, going.rate, going.origin, coalesce(posted.nanos, 0) + going.spent, going.ends
    FROM unnest(${windows.map(({ apiKeyId }) => apiKeyId)}::int[], ${windows.map(({ from }) => from)}::timestamptz[])
      WITH ORDINALITY AS asked(api_key_id, start, place)
    CROSS JOIN LATERAL (
      SELECT sum(${upTo(sql`least(m.period_end, given_back.period_start)`, sql`m.period_start`)}
        - ${upTo(sql`least(asked.start, given_back.period_start)`, sql`m.period_start`)}) AS nanos
      FROM meters JOIN ledger_entries m ON m.meter_id = meters.id AND m.kind IN ('compute', 'disk') AND m.period_end > asked.start
      LEFT JOIN ledger_entries given_back ON given_back.meter_id = meters.id AND given_back.kind = 'refund'
      WHERE meters.account_id = ${accountId} AND (asked.api_key_id IS NULL OR meters.api_key_id = asked.api_key_id)
    ) AS posted
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(m.rate_nanos), 0) AS rate,
        coalesce(sum(m.rate_nanos * extract(epoch FROM m.since) * 1000 - m.carried), 0)::numeric(40) AS origin,
        coalesce(sum(${upTo(sql`least(asked.start, m.stops_at)`, sql`m.since`)}), 0) AS before,
        coalesce(sum(${upTo(sql`least(greatest(${at}::timestamptz, asked.start), m.stops_at)`, sql`m.since`)}
          - ${upTo(sql`least(asked.start, m.stops_at)`, sql`m.since`)}), 0) AS spent,
        json_agg(json_build_array(m.rate_nanos::text, m.since, m.stops_at)) FILTER (WHERE m.stops_at IS NOT NULL) AS ends
      FROM (
        SELECT m.*, least(${endOfMeter}, CASE m.kind WHEN 'compute' THEN ${gpusEnd}::timestamptz END) AS stops_at
        FROM meters m WHERE m.account_id = ${accountId} AND m.rate_nanos > 0
        AND (asked.api_key_id IS NULL OR m.api_key_id = asked.api_key_id)
      ) AS m
    ) AS going
    ORDER BY asked.place`)
  return rows.map((row, place) => {
    const [postedNanos, rateNanos, origin, spentNanos] = row.slice(0, 4).map(value => BigInt(value as string))
    const ends = (row[4] as [string, string, string][] | null) ?? []
    return {
      from: windows[place]?.from,
      ...{ postedNanos, rateNanos, origin, spentNanos },
      ends: ends.map(([rate, since, end]) => ({
        rateNanos: BigInt(rate),
        since: new Date(since),
        at: new Date(end),
      })),
    } as Spending
  })
}

/** What `m` costs from where it begins up to an instant, as `charge` in domain/billing.ts says it. */
function upTo(instant: Prisma.Sql, beginning: Prisma.Sql): Prisma.Sql {
  return sql`div(m.rate_nanos * greatest(extract(epoch FROM ${instant} - ${beginning}) * 1000, 0) + m.carried, 3600000)`
}

/** What everything costs per hour that the account wishes to run, whether it does yet or not, and all disks; by key. */
export async function wishedRates(database: Pick<Transaction, 'rows'>, accountId: number): Promise<Asked[]> {
  const rows = await database.rows(sql`
    SELECT m.api_key_id, sum(CASE m.kind WHEN 'disk' THEN m.rate_nanos ELSE i.compute_nanos END)
    FROM meters m LEFT JOIN instances i ON i.id = m.instance_id
    WHERE m.account_id = ${accountId} AND CASE m.kind WHEN 'disk' THEN m.rate_nanos > 0 ELSE i.target_state = 'running'
      AND i.destroyed_at IS NULL AND i.status <> ALL (${finalStatuses}::instance_status[]) END
    GROUP BY m.api_key_id`)
  return rows.map(([apiKeyId, rate]) => ({ apiKeyId: apiKeyId as number | null, rateNanos: BigInt(rate as string) }))
}

/** What the GPUs of instances cost per hour while they run, by the key that they count for. */
export async function computeRates(database: Pick<Transaction, 'rows'>, ids: readonly bigint[]): Promise<Asked[]> {
  const rows = await database.rows(sql`
    SELECT m.api_key_id, sum(i.compute_nanos) FROM meters m JOIN instances i ON i.id = m.instance_id
    WHERE m.kind = 'compute' AND i.id = ANY(${ids.map(String)}::bigint[]) GROUP BY m.api_key_id`)
  return rows.map(([apiKeyId, rate]) => ({ apiKeyId: apiKeyId as number | null, rateNanos: BigInt(rate as string) }))
}
