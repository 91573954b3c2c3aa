import { withoutStatementName } from '../../database/rows.ts'
import { snapshot } from '../../database/transaction.ts'
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
import type { DataDeps } from '../deps.ts'
import { readBalance } from './balance.ts'
import { chargesStatement } from './charges-sql.ts'

export function chargeServices({ database }: DataDeps) {
  return {
    /** Costs of the account's instances and volumes in a period. The sums agree with `usage`. */
    async charges(actor: Actor, { limit: requestedLimit, after: token, ...query }: ChargesQuery): Promise<ChargesPage> {
      authorize(actor, 'billing.usage')
      checkChargesPeriod(query)
      const limit = Math.min(requestedLimit, maxChargedResources)
      const after = token === undefined ? undefined : parseChargesCursor(token, query.latestFirst)
      const rows = await snapshot(database, async tx => {
        const balance = await readBalance(tx, actor.accountId, tx.at)
        const account = { ...balance, endsAt: creditStatusOf(balance).endsAt }
        return await tx.rows(withoutStatementName(chargesStatement(account, { ...query, limit: limit + 1, after })))
      })
      const [[total]] = rows as [[number]]
      const found = [...Map.groupBy(rows, ([, diskId]) => diskId as bigint | null)]
      const resources = found.flatMap(([diskId, items]) => (diskId === null ? [] : [{ diskId, items }]))
      const page = resources.slice(0, limit)
      const last = resources.length > limit ? page.at(-1) : undefined
      return {
        charges: page.map(({ items }) => {
          const [[, , instanceId, volumeId]] = items as [[number, bigint, bigint | null, bigint | null]]
          return { instanceId, volumeId, items: items.map(toItem) }
        }),
        next: last ? printChargesCursor(last.diskId, query.latestFirst) : null,
        total,
      }
    },
  }
}

function toItem([, , , , kind, start, end, costNanos]: unknown[]): ChargeItem {
  return { kind, start, end, costNanos } as ChargeItem
}
