import { Prisma } from '../../database/generated/client.ts'
import { type ColumnType, enumeration, int4, int8, nullable, text } from '../../database/row-types.ts'
import type { ChargeKind } from '../../domain/billing/balance.ts'
import type { Period } from '../../domain/billing/charges.ts'
import { maxGroups, type UsageDimension } from '../../domain/billing/usage.ts'
import { type ChargedAccount, chargedPeriodsSql, costUntilSql } from './periods.ts'

const { sql, raw, empty } = Prisma

/** The columns of dimensions that a meter has itself. */
const meterColumns: Partial<Record<UsageDimension, string>> = {
  kind: 'kind',
  instance: 'instance_id',
  volume: 'volume_id',
  apiKey: 'api_key_id',
}
/** The columns of the others: of the meter's instance `i`, or of the offer `o` that was rented. */
const instanceColumns: Partial<Record<UsageDimension, string>> = {
  label: 'i.label',
  gpuModel: 'o.gpu_model_id',
  template: 'i.template_id',
}

const keyTypes = {
  kind: enumeration<ChargeKind>(),
  ...{ instance: nullable(int8), volume: nullable(int8), apiKey: nullable(int4), label: nullable(text) },
  ...{ gpuModel: nullable(int4), template: nullable(int4) },
} satisfies Record<UsageDimension, unknown>

/** The columns of `usageStatement`. */
export function usageRow(dimensions: readonly UsageDimension[]): UsageRow {
  const keys = dimensions.map((dimension, index) => [keyName(index), keyTypes[dimension]])
  return { place: int4, nanos: int8, ...Object.fromEntries(keys) }
}

type KeyName = `key${number}`
type UsageRow = Record<KeyName, ColumnType<unknown>> & { place: typeof int4; nanos: typeof int8 }
export const keyName = (index: number): KeyName => `key${index}`

/**
 * Selects the place of a bucket, from 1 on, the cost of a group in it, and the group's keys. Selects at most one row
 * more than a query may have. `spans` follow one another without a gap.
 */
export function usageStatement(
  account: ChargedAccount,
  spans: readonly Period[],
  dimensions: readonly UsageDimension[],
): Prisma.Sql {
  const borders = [...spans.map(({ startsAt }) => startsAt), (spans.at(-1) as Period).endsAt]
  const [first, last] = [borders[0], borders.at(-1)] as [Date, Date]
  const isOfInstance = dimensions.some(dimension => dimension in instanceColumns)
  const ownColumns = dimensions.flatMap(dimension => meterColumns[dimension] ?? [])
  const ownGroups = raw([...new Set(['place', ...ownColumns, ...(isOfInstance ? ['instance_id'] : [])])].join(', '))
  const keyColumns = dimensions.map(name => instanceColumns[name] ?? `costs.${meterColumns[name]}`)
  const keys = raw(keyColumns.map((column, index) => `, ${column} AS key${index}`).join(''))
  const groups = raw(['place', ...keyColumns.map((_, index) => `key${index}`)].join(', '))
  // Charges are added up before their instances are read, because an instance has many charges. With LIMIT, each
  // is looked up by its id: as plain joins, all instances and offers of the market may be read.
  const instances = isOfInstance
    ? sql`
      LEFT JOIN LATERAL (SELECT * FROM instances WHERE id = costs.instance_id LIMIT 1) i ON true
      LEFT JOIN LATERAL (SELECT * FROM offers WHERE id = i.offer_id LIMIT 1) o ON true`
    : empty
  return sql`
    WITH periods AS (${chargedPeriodsSql(account, { startsAt: first, endsAt: last })}
    ), borders AS (SELECT ${borders}::timestamptz[] AS all), costs AS (
      SELECT ${ownGroups}, sum(
        ${costUntilSql(sql`least(period_end, borders.all[place + 1])`)}
          - ${costUntilSql(sql`greatest(period_start, borders.all[place])`)}) AS nanos
      FROM periods, borders, LATERAL generate_series(
        greatest(width_bucket(period_start, borders.all), 1),
        least(width_bucket(period_end, borders.all), ${spans.length})) AS place
      WHERE period_start < period_end GROUP BY ${ownGroups}
    )
    SELECT place, sum(nanos)::bigint AS nanos${keys} FROM costs ${instances}
    GROUP BY ${groups} HAVING sum(nanos) > 0 ORDER BY ${groups} LIMIT ${maxGroups + 1}`
}
