import { Prisma } from '../../database/generated/client.ts'
import { enumeration, int4, int8, nullable, timestamptz } from '../../database/row-types.ts'
import type { ChargeKind } from '../../domain/billing/balance.ts'
import type { ChargesQuery } from '../../domain/billing/charges.ts'
import { type ChargedAccount, chargedPeriodsSql, costUntilSql } from './periods.ts'

const { sql, join } = Prisma

/** The columns of `chargesStatement`. An empty page has one row, with `total` alone. */
export const chargeRow = {
  ...{ total: int4, diskId: nullable(int8), instanceId: nullable(int8), volumeId: nullable(int8) },
  ...{ kind: nullable(enumeration<ChargeKind>()), startsAt: nullable(timestamptz), endsAt: nullable(timestamptz) },
  nanos: nullable(int8),
}

/** `after`: the page starts after the resource whose disk has this meter. */
type ChargesPageQuery = Omit<ChargesQuery, 'after'> & { after: bigint | undefined }

/**
 * Selects a row for each charge item of the resources on a page. Every row has the number of resources on all pages; an
 * empty page has one row without an item.
 * The statement reads the charges of the period once and no earlier charge, since an account's history only grows.
 */
export function chargesStatement(
  account: ChargedAccount,
  { startsAt, endsAt, resources, latestFirst, limit, after }: ChargesPageQuery,
): Prisma.Sql {
  const { accountId } = account
  const columns = { instance: sql`m.instance_id`, volume: sql`m.volume_id` }
  const wanted =
    resources.length > 0 ? sql`num_nonnulls(${join(resources.map(resource => columns[resource]))}) > 0` : sql`false`
  const [start, end] = [
    sql`greatest(period_start, ${startsAt}::timestamptz)`,
    sql`least(period_end, ${endsAt}::timestamptz)`,
  ]
  const [beyond, order] = latestFirst ? [sql`<`, sql`DESC`] : [sql`>`, sql`ASC`]
  const isBeyond = after === undefined ? sql`true` : sql`disk_id ${beyond} ${String(after)}::bigint`
  return sql`
    WITH periods AS (
      SELECT coalesce(i.id, v.id) AS disk_id, p.* FROM (${chargedPeriodsSql(account, { startsAt, endsAt }, wanted)}) AS p
      LEFT JOIN meters i ON i.account_id = ${accountId} AND i.kind = 'disk' AND i.instance_id = p.instance_id
      LEFT JOIN meters v ON v.account_id = ${accountId} AND v.kind = 'disk' AND v.volume_id = p.volume_id
      WHERE period_start < period_end AND period_start < ${endsAt}::timestamptz AND period_end > ${startsAt}::timestamptz
    ), page AS (
      SELECT DISTINCT disk_id FROM periods WHERE ${isBeyond} ORDER BY disk_id ${order} LIMIT ${limit}
    ), items AS (
      SELECT disk_id, instance_id, volume_id, kind, min(${start}) AS starts_at, max(${end}) AS ends_at,
        sum(${costUntilSql(end)} - ${costUntilSql(start)})::bigint AS nanos
      FROM page JOIN periods USING (disk_id) GROUP BY disk_id, instance_id, volume_id, kind
    )
    SELECT total, disk_id, instance_id, volume_id, kind, starts_at, ends_at, nanos
    FROM (SELECT count(DISTINCT disk_id)::int AS total FROM periods) AS counted LEFT JOIN items ON true
    ORDER BY disk_id ${order}, kind`
}
