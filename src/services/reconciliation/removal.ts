// Gives back what a container had, once it is gone.

import { Prisma } from '../../database/generated/client.ts'
import { int4 } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import { systemActor } from '../../domain/events/actor.ts'
import type { MarketMachine } from '../../domain/machines/machines.ts'
import { recordEvents } from '../events/events.ts'
import { changeFreeCapacity, updateOffers } from '../machines/market.ts'
import { releaseVolumes } from '../volumes/rent.ts'
import type { InstanceLease } from './leases.ts'

const { sql } = Prisma

/**
 * Returns disk and ports to the machine, which may make offers rentable: also the disk of volumes that were deleted while the
 * container had them. Releases the volumes, and deletes the secrets, because the container never starts again.
 */
export async function releaseResources(
  tx: Transaction,
  { instanceId, accountId }: InstanceLease,
  machine: MarketMachine,
  at: Date,
): Promise<MarketMachine> {
  const [removed] = await tx.query(
    sql`UPDATE instances SET removed_at = ${at}, registry_login = NULL, secret_env = NULL
      WHERE id = ${instanceId} AND removed_at IS NULL RETURNING disk_mb`,
    { diskMb: int4 },
  )
  if (!removed) return machine
  const ports = await tx.execute(sql`DELETE FROM port_bindings WHERE instance_id = ${instanceId}`)
  const volumesMb = await releaseVolumes(tx, instanceId, at)
  const freed = { ...removed, ports }
  const machineAfter = await changeFreeCapacity(tx, machine, { ports, diskMb: removed.diskMb + volumesMb })
  await updateOffers(tx, machineAfter, at)
  const event = {
    kind: 'INSTANCE_REMOVED' as const,
    accountId,
    actor: systemActor,
    instanceId,
    reason: 'CONTAINER_GONE' as const,
  }
  await recordEvents(tx, [{ ...event, before: freed, after: { diskMb: 0, ports: 0 } }], at)
  return machineAfter
}
