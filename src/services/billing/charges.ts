import type { RowOf } from '../../database/row-types.ts'
import { withoutStatementName } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import {
  type ChargeItem,
  type ChargesPage,
  type ChargesQuery,
  checkChargesPeriod,
  maxChargedResources,
  parseChargesCursor,
  printChargesCursor,
} from '../../domain/billing/charges.ts'
import { authorize } from '../authorize.ts'
import type { ReadDeps } from '../deps.ts'
import { readStaleSnapshot } from '../reads/stale.ts'
import { readBalance } from './balance.ts'
import { chargeRow, chargesStatement } from './charges-sql.ts'

export function chargeServices(deps: ReadDeps) {
  return {
    /** Costs of the account's instances and volumes in a period. The sums agree with `usage`. */
    async charges(actor: Actor, { limit: requestedLimit, after: token, ...query }: ChargesQuery): Promise<ChargesPage> {
      authorize(actor, 'billing.usage')
      checkChargesPeriod(query)
      const limit = Math.min(requestedLimit, maxChargedResources)
      const after = token === undefined ? undefined : parseChargesCursor(token, query.latestFirst)
      const rows = await readStaleSnapshot(deps, async tx => {
        const balance = await readBalance(tx, actor.accountId, tx.at)
        const account = { ...balance, endsAt: creditStatusOf(balance).endsAt }
        const statement = chargesStatement(account, { ...query, limit: limit + 1, after })
        return await tx.query(withoutStatementName(statement), chargeRow)
      })
      const found = [...Map.groupBy(rows, ({ diskId }) => diskId)]
      const resources = found.flatMap(([diskId, items]) => (diskId === null ? [] : [{ diskId, items }]))
      const page = resources.slice(0, limit)
      const last = resources.length > limit ? page.at(-1) : undefined
      return {
        charges: page.map(({ items }) => {
          const { instanceId = null, volumeId = null } = items[0] ?? {}
          return { instanceId, volumeId, items: items.flatMap(itemsOf) }
        }),
        next: last ? printChargesCursor(last.diskId, query.latestFirst) : null,
        total: rows[0]?.total ?? 0,
      }
    },
  }
}

/** The item of a row; none if the row has only the total of an empty page. */
function itemsOf({ kind, startsAt, endsAt, nanos }: RowOf<typeof chargeRow>): ChargeItem[] {
  if (kind === null || startsAt === null || endsAt === null || nanos === null) return []
  return [{ kind, start: startsAt, end: endsAt, costNanos: nanos }]
}
