import { Prisma } from '../../database/generated/client.ts'
import { bool, int4, text } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Cause } from '../../domain/instances/destroy-reason.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import { lockAccount } from '../billing/balance.ts'
import { stopMeters } from '../billing/meters.ts'
import { recordEvents } from '../events/events.ts'
import { changeFreeCapacity, updateOffers } from '../machines/market.ts'

const { sql } = Prisma

/**
 * Deletes a volume and returns its disk to the machine. The machine must be locked, and no instance that exists may have the
 * volume. While the container of a destroyed one does, the disk is not free: the removal of the container returns it. A gateway
 * that follows the machine's engine removes the data; a simulated machine has none.
 */
export async function deleteVolume(
  tx: Transaction,
  { accountId, actor, reason }: Cause & { accountId: number },
  machine: Machine,
  id: bigint,
  at: Date,
): Promise<void> {
  const [deleted] = await tx.query(
    sql`UPDATE volumes v SET deleted_at = ${at},
        removed_at = CASE WHEN NOT EXISTS (SELECT FROM engines e WHERE e.machine_id = v.machine_id) THEN ${at}::timestamptz END
      WHERE id = ${id} AND deleted_at IS NULL RETURNING size_mb, name,
        EXISTS (SELECT FROM volume_attachments a WHERE a.volume_id = v.id AND a.released_at IS NULL) AS is_held`,
    { sizeMb: int4, name: text, isHeld: bool },
  )
  if (!deleted) throw new Error(`Volume ${id} was deleted without a lock on its machine.`)
  const { sizeMb, name, isHeld } = deleted
  if (!isHeld) await updateOffers(tx, await changeFreeCapacity(tx, machine, { diskMb: sizeMb }), at)
  const before = { volumeId: String(id), name, sizeMb, machineId: machine.id }
  const event = { kind: 'VOLUME_DELETED' as const, accountId, actor, before, reason }
  await recordEvents(tx, [event], at)
  await stopMeters(tx, await lockAccount(tx, accountId, at), sql`m.volume_id = ${id}`)
}
