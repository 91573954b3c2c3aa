import { Prisma } from '../../database/generated/client.ts'
import { int4 } from '../../database/row-types.ts'
import { snapshot } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { creditStatusOf } from '../../domain/billing/balance.ts'
import { costOf } from '../../domain/billing/costs.ts'
import { authorize } from '../authorize.ts'
import { readBalances } from '../billing/balance.ts'
import { costMeterColumns, costMeterRow } from '../billing/sql.ts'
import type { DataDeps } from '../deps.ts'

const { sql } = Prisma

export function renterCostServices({ database }: DataDeps) {
  return {
    /** What renters pay per hour now for GPUs and disk on each of these machines. 0 for machines of other hosts. */
    async renterCosts(actor: Actor, ids: readonly number[]): Promise<{ id: number; renterCostPerHourNanos: bigint }[]> {
      authorize(actor, 'machines.hosted')
      return await snapshot(database, async tx => {
        const meters = await tx.query(runningMetersSql(actor.accountId, ids), meterRow)
        const renters = [...new Set(meters.map(({ accountId }) => accountId))]
        const balances = renters.length === 0 ? [] : await readBalances(tx, renters, tx.at)
        const metersByRenter = Map.groupBy(meters, ({ accountId }) => accountId)
        const costs = new Map<number, bigint>()
        for (const balance of balances) {
          const account = { ...creditStatusOf(balance), at: balance.at }
          for (const meter of metersByRenter.get(balance.accountId) ?? []) {
            const { costPerHourNanos } = costOf([meter], account)
            costs.set(meter.machineId, (costs.get(meter.machineId) ?? 0n) + costPerHourNanos)
          }
        }
        return ids.map(id => ({ id, renterCostPerHourNanos: costs.get(id) ?? 0n }))
      })
    },
  }
}

const meterRow = { machineId: int4, accountId: int4, ...costMeterRow }

/** The meters of instances and volumes on a host's machines that cost something. */
function runningMetersSql(hostId: number, machineIds: readonly number[]): Prisma.Sql {
  const columns = sql`m.account_id, ${costMeterColumns}`
  return sql`
    SELECT own.id AS machine_id, rented.* FROM machines own CROSS JOIN LATERAL (
      SELECT ${columns} FROM instances i JOIN meters m ON m.instance_id = i.id
      WHERE i.machine_id = own.id AND i.destroyed_at IS NULL AND m.rate_nanos > 0
      UNION ALL
      SELECT ${columns} FROM volumes v JOIN meters m ON m.volume_id = v.id
      WHERE v.machine_id = own.id AND v.deleted_at IS NULL AND m.rate_nanos > 0
    ) rented WHERE own.host_id = ${hostId} AND own.id = ANY(${[...machineIds]}::int[])`
}
