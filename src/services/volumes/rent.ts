// Volumes in the transaction of a rental. Attaching, releasing and deleting a volume require the lock on its machine,
// so volumes of a locked machine do not change.

import { Prisma } from '../../database/generated/client.ts'
import { bool, int4, int8, nullable } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import { apiKeyActor } from '../../domain/events/actor.ts'
import type { NewVolumeMount, VolumeMount } from '../../domain/launch/env.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import { diskPricePerHour } from '../../domain/money.ts'
import { diskMbOf } from '../../domain/offers/offers.ts'
import { defaultVolumeName, type NewVolume, type VolumeFacts } from '../../domain/volumes/volumes.ts'
import { recordEvents } from '../events/events.ts'

const { sql, empty } = Prisma
const volumeColumns = modelColumnsOf(Prisma.VolumeScalarFieldEnum)
const attachmentColumns = modelColumnsOf(Prisma.VolumeAttachmentScalarFieldEnum)

/**
 * The caller's volumes that are not deleted. With `lock` they stay locked until the transaction ends. Without `lock`,
 * the read does not wait and sees the last commit.
 */
export async function loadVolumeFacts(
  tx: Transaction,
  { accountId }: Pick<Actor, 'accountId'>,
  ids: bigint[],
  { lock }: { lock: boolean } = { lock: true },
): Promise<VolumeFacts[]> {
  if (ids.length === 0) return []
  return await tx.query(
    sql`
      SELECT v.id, v.machine_id, a.instance_id, i.destroyed_at IS NOT NULL AS removing FROM volumes v
      LEFT JOIN volume_attachments a ON a.volume_id = v.id AND a.released_at IS NULL
      LEFT JOIN instances i ON i.id = a.instance_id
      WHERE v.id = ANY(${ids.map(String)}::bigint[]) AND v.account_id = ${accountId} AND v.deleted_at IS NULL
      ORDER BY v.id ${lock ? sql`FOR NO KEY UPDATE OF v` : empty}`,
    { id: int8, machineId: int4, instanceId: nullable(int8), removing: bool },
  )
}

/**
 * Creates volumes with a rental. Does not change the machine's free disk: the caller subtracts `newVolumesMb` with the
 * instance's own disk.
 */
export async function createMountedVolumes(
  tx: Transaction,
  actor: Actor,
  machine: Machine,
  newVolumes: NewVolumeMount[],
  at: Date,
): Promise<VolumeMount[]> {
  const ids = await insertVolumes(tx, actor, machine, newVolumes, at)
  return newVolumes.map(({ mountPath }, index) => ({ volumeId: ids[index] as bigint, mountPath }))
}

/** Attaches volumes, which must be free and on the instance's machine. */
export async function attachVolumes(
  tx: Transaction,
  instance: { id: bigint; machineId: number; accountId: number },
  mounts: VolumeMount[],
): Promise<void> {
  if (mounts.length === 0) return
  const { id: instanceId, machineId, accountId } = instance
  const rows = mounts.map(mount => ({ ...mount, instanceId, machineId, accountId }))
  await tx.execute(insertSql('volume_attachments', attachmentColumns, rows))
}

/**
 * Releases the volumes of an instance whose container is gone. Returns the disk, in MB, of those that were deleted meanwhile.
 * The machine must be locked.
 */
export async function releaseVolumes(tx: Transaction, instanceId: bigint, at: Date): Promise<number> {
  const released = await tx.query(
    sql`
      UPDATE volume_attachments a SET released_at = ${at} FROM volumes v
      WHERE a.instance_id = ${instanceId} AND a.released_at IS NULL AND v.id = a.volume_id
      RETURNING CASE WHEN v.deleted_at IS NULL THEN 0 ELSE v.size_mb END AS freed_mb`,
    { freedMb: int4 },
  )
  return released.reduce((sum, { freedMb }) => sum + freedMb, 0)
}

/** Inserts volumes and returns their ids in the same order. */
export async function insertVolumes(
  tx: Transaction,
  { accountId, apiKeyId }: Actor,
  machine: Machine,
  newVolumes: NewVolume[],
  at: Date,
): Promise<bigint[]> {
  if (newVolumes.length === 0) return []
  const { id: machineId, diskPricePerGbMonthNanos } = machine
  const rows = newVolumes.map(({ name, sizeGb }) => {
    const sizeMb = diskMbOf(sizeGb) as number
    const price = { diskPricePerGbMonthNanos, diskNanos: diskPricePerHour(diskPricePerGbMonthNanos, sizeMb) }
    return { accountId, machineId, name: name || defaultVolumeName, sizeMb, ...price, createdAt: at }
  })
  const inserted = await tx.query(sql`${insertSql('volumes', volumeColumns, rows)} RETURNING id`, { id: int8 })
  const ids = inserted.map(({ id }) => id)
  const events = rows.map(({ name, sizeMb, diskNanos }, index) => {
    const after = { volumeId: String(ids[index]), name, sizeMb, machineId, diskNanos: String(diskNanos) }
    return {
      kind: 'VOLUME_CREATED' as const,
      accountId,
      actor: apiKeyActor({ apiKeyId }),
      after,
      reason: 'USER_REQUEST' as const,
    }
  })
  await recordEvents(tx, events, at)
  return ids
}
