import type { RowOf } from '../../database/row-types.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import type { Period } from '../../domain/billing/charges.ts'
import {
  maxGroups,
  monthOf,
  splitIntoBuckets,
  sumCosts,
  sumGroups,
  tooManyGroups,
  type Usage,
  type UsageDimension,
  type UsageGroup,
  type UsageKey,
  type UsageQuery,
} from '../../domain/billing/usage.ts'
import { authorize } from '../authorize.ts'
import type { ReadDeps } from '../deps.ts'
import { readStaleSnapshot } from '../reads/stale.ts'
import { readBalance } from './balance.ts'
import { keyName, usageRow, usageStatement } from './usage-sql.ts'

/** A missing `startsAt` or `endsAt` is the start or end of the current UTC month. */
type OpenUsageQuery = Partial<Record<keyof Period, Date | null | undefined>> & Omit<UsageQuery, keyof Period>

export function usageServices(deps: ReadDeps) {
  return {
    /** Costs in a period, split into buckets and groups. A refund reduces the cost in the bucket of its charge. */
    async usage(actor: Actor, { bucket, groupBy, ...given }: OpenUsageQuery): Promise<Usage> {
      authorize(actor, 'billing.usage')
      const dimensions = [...new Set(groupBy)]
      const { startsAt, endsAt, spans, rows } = await readStaleSnapshot(deps, async tx => {
        const month = monthOf(tx.at)
        const [startsAt, endsAt] = [given.startsAt ?? month.startsAt, given.endsAt ?? month.endsAt]
        const spans = splitIntoBuckets({ startsAt, endsAt, bucket })
        const balance = await readBalance(tx, actor.accountId, tx.at)
        const account = { ...balance, endsAt: creditStatusOf(balance).endsAt }
        const statement = withoutStatementName(usageStatement(account, spans, dimensions))
        const rows = await tx.query(statement, usageRow(dimensions))
        return { startsAt, endsAt, spans, rows }
      })
      if (rows.length > maxGroups) throw tooManyGroups()
      const places = Map.groupBy(rows, ({ place }) => place)
      const buckets = spans.map((span, index) => {
        const groups = (places.get(index + 1) ?? []).map(row => toGroup(row, dimensions))
        return { ...span, costNanos: sumCosts(groups), groups }
      })
      const totals = sumGroups(buckets.flatMap(({ groups }) => groups))
      return { startsAt, endsAt, costNanos: sumCosts(buckets), totals, buckets }
    },
  }
}

function toGroup(row: RowOf<ReturnType<typeof usageRow>>, dimensions: readonly UsageDimension[]): UsageGroup {
  // Safe: `usageRow` gives the key of a dimension the type of its values.
  const keys = dimensions.map((dimension, index) => ({ dimension, value: row[keyName(index)] }) as UsageKey)
  return { keys, costNanos: row.nanos }
}
