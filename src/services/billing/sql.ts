// SQL fragments on meters with the alias `m`.

import { Prisma } from '../../database/generated/client.ts'
import { enumeration, int4, int8, nullable, timestamptz } from '../../database/row-types.ts'
import type { ChargeKind } from '../../domain/billing/balance.ts'

const { sql } = Prisma

/** When a meter ends: at its planned end or its first recorded end, whichever comes first. */
export const meterEndSql = sql`least(m.ends_at, (SELECT min(e.at) FROM meter_ends e WHERE e.meter_id = m.id))`

/**
 * `meterEndSql` for statements that read most meters of an account. Finds the meters with recorded ends once: in a small table of
 * ends, PostgreSQL would search the whole table for each meter.
 */
export function meterEndOfAccountSql(accountId: number): Prisma.Sql {
  return sql`CASE WHEN m.id IN (SELECT meter_id FROM meter_ends WHERE account_id = ${accountId})
    THEN ${meterEndSql} ELSE m.ends_at END`
}

/** The columns that a `CostMeter` is made of. */
export const costMeterColumns = sql`m.kind, m.rate_nanos, m.since, m.carried, m.charged_nanos, ${meterEndSql} AS end`
export const meterRow = {
  kind: enumeration<ChargeKind>(),
  ...{ rateNanos: int8, since: timestamptz, carried: int4, end: nullable(timestamptz) },
}
export const costMeterRow = { ...meterRow, chargedNanos: int8 }

/**
 * Whether meters that are found by their ids or instances belong to the accounts. With `+ 0`, it is only a condition: otherwise
 * the planner may find them among all meters of an account, through an index on the account.
 */
export function ownMetersSql(...accountIds: readonly number[]): Prisma.Sql {
  return sql`m.account_id + 0 = ANY(${accountIds}::int[])`
}

/** GPU meters of instances. */
export function gpuMetersSql(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.kind = 'gpu' AND ${instanceMetersSql(instanceIds)}`
}

/** All meters of instances. */
export function instanceMetersSql(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.instance_id = ANY(${instanceIds.map(String)}::bigint[])`
}
