import { Prisma } from '../../database/generated/client.ts'
import { snapshot } from '../../database/transaction.ts'
import { instanceAccessOperations } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import { type Cost, type CostMeter, costOf } from '../../domain/billing/costs.ts'
import { authorizeAny } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { readBalance } from './balance.ts'
import { instanceMetersSql, meterEndSql } from './sql.ts'

const { sql } = Prisma

export function costServices({ database }: DataDeps) {
  return {
    /** Costs of the account's instances at one instant. Instances of other accounts are left out. */
    async costs(actor: Actor, ids: readonly bigint[]): Promise<(Cost & { id: bigint })[]> {
      authorizeAny(actor, instanceAccessOperations)
      const { accountId } = actor
      return await snapshot(database, async tx => {
        const balance = await readBalance(tx, accountId, tx.at)
        const account = { ...creditStatusOf(balance), at: balance.at }
        const rows = await tx.rows(sql`
          SELECT m.instance_id, m.kind, m.rate_nanos, m.since, m.carried, m.charged_nanos,
            ${meterEndSql}
          FROM meters m WHERE m.account_id = ${accountId} AND ${instanceMetersSql(ids)}`)
        const meters = rows.map(([id, kind, rateNanos, since, carried, chargedNanos, end]) => {
          return { id, kind, rateNanos, since, carried, chargedNanos, end } as CostMeter & { id: bigint }
        })
        const perInstance = Map.groupBy(meters, ({ id }) => id)
        return [...perInstance].map(([id, own]) => ({ id, ...costOf(own, account) }))
      })
    },
  }
}
