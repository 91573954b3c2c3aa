// Updates the markets of machines whose instances have GPUs that they do not want, or lack GPUs that they want.

import type { Database } from '../../database/client.ts'
import { Prisma } from '../../database/generated/client.ts'
import { int8 } from '../../database/row-types.ts'
import { transaction } from '../../database/transaction.ts'
import type { BatchWork } from '../batches.ts'
import { lockFreeMachines, lockMachine } from '../machines/lock.ts'
import { updateMarketsOf } from '../machines/market.ts'
import type { InstanceLease } from './leases.ts'

const { sql } = Prisma

/** The result is whether the generation of the instance has changed. Its lease is then released. */
export function catchUpMarketWork(database: Database): BatchWork<InstanceLease, boolean> {
  return {
    accountOf: ({ accountId }) => accountId,
    async many(leases) {
      const machineIds = [...new Set(leases.map(({ machineId }) => machineId))]
      const updated = await transaction(database, async tx => {
        const machines = await lockFreeMachines(tx, machineIds)
        await updateMarketsOf(tx, machines, tx.at)
        return new Set(machines.map(({ id }) => id))
      })
      const done = leases.filter(({ machineId }) => updated.has(machineId))
      const released = await releaseChanged(database, done)
      return new Map(done.map(lease => [lease, released.has(lease)]))
    },
    async one(lease) {
      await transaction(database, async tx => {
        const machine = await lockMachine(tx, lease.machineId)
        if (machine) await updateMarketsOf(tx, [machine], tx.at)
      })
      return (await releaseChanged(database, [lease])).has(lease)
    },
  }
}

/**
 * Not in the transaction of the market update: leases are locked in id order, and only after the instances. A lease that another
 * transaction has locked is kept, and the pass goes on.
 */
async function releaseChanged(database: Database, leases: readonly InstanceLease[]): Promise<Set<InstanceLease>> {
  const of = <Value>(value: (lease: InstanceLease) => Value) => leases.map(value)
  const statement = sql`
    WITH changed AS MATERIALIZED (
      SELECT l.instance_id, lease.place FROM unnest(
        ${of(({ instanceId }) => String(instanceId))}::bigint[], ${of(({ leasedUntil }) => leasedUntil)}::timestamptz[],
        ${of(({ generation }) => generation)}::int[]
      ) WITH ORDINALITY AS lease (instance_id, leased_until, generation, place)
      JOIN instance_looks l ON l.instance_id = lease.instance_id AND l.leased_until = lease.leased_until
        AND l.generation <> lease.generation
      ORDER BY l.instance_id FOR NO KEY UPDATE OF l SKIP LOCKED
    )
    UPDATE instance_looks l SET leased_until = NULL FROM changed WHERE l.instance_id = changed.instance_id RETURNING changed.place`
  const rows = await database.query(statement, { place: int8 })
  return new Set(rows.map(({ place }) => leases[Number(place) - 1] as InstanceLease))
}
