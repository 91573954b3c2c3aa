import { Prisma } from '../../database/generated/client.ts'
import { int8 } from '../../database/row-types.ts'
import { snapshot } from '../../database/transaction.ts'
import { instanceAccessOperations } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import { type Cost, costOf } from '../../domain/billing/costs.ts'
import { authorizeAny } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { readBalance } from './balance.ts'
import { costMeterColumns, costMeterRow, instanceMetersSql, ownMetersSql } from './sql.ts'

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
        const meters = await tx.query(
          sql`SELECT m.instance_id, ${costMeterColumns} FROM meters m
            WHERE ${ownMetersSql(accountId)} AND ${instanceMetersSql(ids)}`,
          { instanceId: int8, ...costMeterRow },
        )
        const perInstance = Map.groupBy(meters, ({ instanceId }) => instanceId)
        return [...perInstance].map(([id, own]) => ({ id, ...costOf(own, account) }))
      })
    },
  }
}
