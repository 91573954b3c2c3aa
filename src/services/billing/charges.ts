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
    /** What instances and volumes of the account cost in a period, as the usage says it. */
    async charges(actor: Actor, { limit: asked, after: token, ...wish }: ChargesQuery): Promise<ChargesPage> {
      authorize(actor, 'billing.usage')
      checkChargesPeriod(wish)
      const limit = Math.min(asked, maxChargedResources)
      const after = token === undefined ? undefined : parseChargesCursor(token, wish.latestFirst)
      const rows = await snapshot(database, async tx => {
        const balance = await readBalance(tx, actor.accountId, tx.at)
        const account = { ...balance, endsAt: creditStatusOf(balance).endsAt }
        return await tx.rows(withoutStatementName(chargesStatement(account, { ...wish, limit: limit + 1, after })))
      })
      const [[total]] = rows as [[number]]
      const found = [...Map.groupBy(rows, ([, diskId]) => diskId as bigint | null)]
      const things = found.flatMap(([diskId, items]) => (diskId === null ? [] : [{ diskId, items }]))
      const page = things.slice(0, limit)
      const last = things.length > limit ? page.at(-1) : undefined
      return {
        charges: page.map(({ items }) => {
          const [[, , instanceId, volumeId]] = items as [[number, bigint, bigint | null, bigint | null]]
          return { instanceId, volumeId, items: items.map(toItem) }
        }),
        next: last ? printChargesCursor(last.diskId, wish.latestFirst) : null,
        total,
      }
    },
  }
}

function toItem([, , , , kind, start, end, costNanos]: unknown[]): ChargeItem {
  return { kind, start, end, costNanos } as ChargeItem
}
