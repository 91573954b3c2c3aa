import { Prisma } from '../../database/generated/client.ts'
import { withoutStatementName } from '../../database/rows.ts'
import { snapshot } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import type { Period } from '../../domain/billing/charges.ts'
import {
  maxGroups,
  monthOf,
  splitIntoBuckets,
  tooManyGroups,
  type Usage,
  type UsageDimension,
  type UsageGroup,
  type UsageQuery,
} from '../../domain/billing/usage.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { type AccountBalance, readBalance } from './balance.ts'
import { chargedPeriodsSql, costUntilSql } from './periods.ts'

const { sql } = Prisma

/** A missing `startsAt` or `endsAt` is the start or end of the current UTC month. */
type OpenUsageQuery = Partial<Record<keyof Period, Date | null | undefined>> & Omit<UsageQuery, keyof Period>

export function usageServices({ database }: DataDeps) {
  return {
    /** Costs in a period, split into buckets. A refund reduces the cost in the bucket of its charge. */
    async usage(actor: Actor, { bucket, groupBy, ...given }: OpenUsageQuery): Promise<Usage> {
      authorize(actor, 'billing.usage')
      const { startsAt, endsAt, spans, rows } = await snapshot(database, async tx => {
        const month = monthOf(tx.at)
        const [startsAt, endsAt] = [given.startsAt ?? month.startsAt, given.endsAt ?? month.endsAt]
        const spans = splitIntoBuckets({ startsAt, endsAt, bucket })
        const balance = await readBalance(tx, actor.accountId, tx.at)
        return { startsAt, endsAt, spans, rows: await tx.rows(withoutStatementName(usageSql(balance, spans, groupBy))) }
      })
      if (rows.length > maxGroups) throw tooManyGroups()
      const places = Map.groupBy(rows, ([place]) => place as number)
      const buckets = spans.map((span, index) => {
        const groups = (places.get(index + 1) ?? []).map(toGroup)
        return { ...span, costNanos: sumCosts(groups), groups }
      })
      return { startsAt, endsAt, costNanos: sumCosts(buckets), buckets }
    },
  }
}

function sumCosts(parts: { costNanos: bigint }[]): bigint {
  return parts.reduce((total, { costNanos }) => total + costNanos, 0n)
}

function usageSql(balance: AccountBalance, spans: Period[], groupBy: readonly UsageDimension[]): Prisma.Sql {
  const { accountId, at } = balance
  const { endsAt } = creditStatusOf(balance)
  const borders = [...spans.map(({ startsAt }) => startsAt), (spans.at(-1) as Period).endsAt]
  const [first, last] = [borders[0], borders.at(-1)] as [Date, Date]
  const of = (dimension: UsageDimension, column: Prisma.Sql) => (groupBy.includes(dimension) ? column : sql`NULL`)
  return sql`
    WITH periods AS (${chargedPeriodsSql({ accountId, at, endsAt }, { startsAt: first, endsAt: last })}
    ), borders AS (SELECT ${borders}::timestamptz[] AS all), parts AS (
      SELECT place, ${of('kind', sql`kind`)} AS kind, ${of('instance', sql`instance_id`)} AS instance_id,
        ${of('instance', sql`volume_id`)} AS volume_id, ${of('apiKey', sql`api_key_id`)} AS api_key_id,
        ${costUntilSql(sql`least(period_end, borders.all[place + 1])`)}
          - ${costUntilSql(sql`greatest(period_start, borders.all[place])`)} AS nanos
      FROM periods, borders, LATERAL generate_series(
        greatest(width_bucket(period_start, borders.all), 1),
        least(width_bucket(period_end, borders.all), ${spans.length})) AS place
      WHERE period_start < period_end
    )
    SELECT place, kind, instance_id, volume_id, api_key_id, sum(nanos)::bigint FROM parts
    GROUP BY place, kind, instance_id, volume_id, api_key_id HAVING sum(nanos) > 0
    ORDER BY place, kind, instance_id, volume_id, api_key_id LIMIT ${maxGroups + 1}`
}

function toGroup([, kind, instanceId, volumeId, apiKeyId, costNanos]: unknown[]): UsageGroup {
  return { kind, instanceId, volumeId, apiKeyId, costNanos } as UsageGroup
}
