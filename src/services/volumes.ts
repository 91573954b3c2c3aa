import { Prisma } from '../database/generated/client.ts'
import { columnsOf, recordsOf, selectList } from '../database/rows.ts'
import { transaction } from '../database/transaction.ts'
import type { Actor } from '../domain/actor.ts'
import { DomainError, invalidInput } from '../domain/errors.ts'
import type { GpuModel, Machine } from '../domain/machines.ts'
import { diskMbOf } from '../domain/offers.ts'
import { cutPage, type PageArguments, readPage } from '../domain/pages.ts'
import {
  agreeVolume,
  newVolumeIssues,
  offersStorage,
  type Volume,
  volumeInUse,
  volumeNotFound,
} from '../domain/volumes.ts'
import { parseVolumeCursor, printVolumeCursor } from '../domain/volumes-page.ts'
import { needCredit } from './accounts.ts'
import { authorise, authoriseEach } from './authorise.ts'
import type { DataDeps, Deps } from './deps.ts'
import { recordEvents } from './events.ts'
import { once } from './idempotency.ts'
import { lockMachine, relistMarket } from './market.ts'
import { insertVolumes, volumesFor } from './volumes-rent.ts'

export type VolumeWish = {
  /** The machine whose storage offer it is. */
  machineId: number
  sizeGb: number
  name?: string | undefined
  /** Refuse when it costs more per hour. */
  maxPriceNanos?: bigint | undefined
  idempotencyKey?: string | null | undefined
}
export type VolumePage = {
  edges: { node: Volume; cursor: string }[]
  hasNextPage: boolean
  hasPreviousPage: boolean
}

const { sql, join } = Prisma
const { deletedAt: _, ...readable } = Prisma.VolumeScalarFieldEnum
const volumeColumns = columnsOf(readable)
const machineColumns = columnsOf(Prisma.MachineScalarFieldEnum)
const gpuModelColumns = columnsOf(Prisma.GpuModelScalarFieldEnum)
const allColumns = join([
  selectList('v', volumeColumns),
  selectList('m', machineColumns),
  selectList('g', gpuModelColumns),
  sql`a.instance_id, a.mount_path`,
])

export function volumeServices(deps: Deps) {
  const { database, now } = deps
  const find = (conditions: Prisma.Sql[], order: Prisma.Sql, limit: number) =>
    findVolumes(deps, conditions, order, limit)

  return {
    /** All volumes of the account, the newest first. */
    async list(actor: Actor, limit: number): Promise<Volume[]> {
      authorise(actor, 'volumes.list')
      return await find(living(actor), sql`v.id DESC`, limit)
    },

    async page(actor: Actor, page: PageArguments): Promise<VolumePage> {
      authorise(actor, 'volumes.list')
      const { limit, backward, cursor } = readPage(page)
      const conditions = living(actor)
      if (cursor !== undefined) {
        const id = String(parseVolumeCursor(cursor))
        conditions.push(backward ? sql`v.id > ${id}::bigint` : sql`v.id < ${id}::bigint`)
      }
      const found = await find(conditions, backward ? sql`v.id ASC` : sql`v.id DESC`, limit + 1)
      const { rows, ...pageInfo } = cutPage(found, { limit, backward, cursor })
      return { edges: rows.map(node => ({ node, cursor: printVolumeCursor(node.id) })), ...pageInfo }
    },

    async count(actor: Actor): Promise<number> {
      authorise(actor, 'volumes.list')
      const [row] = await database.rows(sql`SELECT count(*)::int FROM volumes v WHERE ${join(living(actor), ' AND ')}`)
      return row?.[0] as number
    },

    /** Volumes of the account by id. Deleted ones are not found, and neither are another's. */
    async byIds(actor: Actor, ids: readonly bigint[]): Promise<Volume[]> {
      authoriseEach(actor, 'volumes.get', ids)
      const wanted = [...living(actor), sql`v.id = ANY(${ids.map(String)}::bigint[])`]
      return await find(wanted, sql`v.id`, ids.length)
    },

    /** Makes a volume on a machine, of its free disk. */
    async create(actor: Actor, wish: VolumeWish): Promise<{ volume: Volume; replayed: boolean }> {
      const { machineId, sizeGb, name, maxPriceNanos, idempotencyKey } = wish
      authorise(actor, 'volumes.create', { machineId })
      const issues = newVolumeIssues({ name, sizeGb })
      if (issues.length > 0) throw invalidInput(issues)
      const input = { machineId, sizeGb, name: name || undefined, maxPriceNanos }
      const request = { operation: 'volumes.create' as const, input, idempotencyKey }
      const at = now()
      const { result, replayed } = await once(deps, actor, request, async tx => {
        await needCredit(tx, actor)
        // No machine has a larger id.
        const machine = machineId < 2 ** 31 ? await lockMachine(tx, machineId) : undefined
        if (!machine?.id || !offersStorage(machine, at)) {
          const message = `The storage of machine ${machineId} is not on the market.`
          throw new DomainError('OFFER_UNAVAILABLE', message)
        }
        const sizeMb = diskMbOf(sizeGb) as number
        agreeVolume(machine, { sizeMb, maxPriceNanos })
        const [id] = await insertVolumes(tx, actor, machine, [{ name, sizeGb }], at)
        const left = { ...machine, freeDiskMb: machine.freeDiskMb - sizeMb }
        await tx.rows(sql`UPDATE machines SET free_disk_mb = ${left.freeDiskMb} WHERE id = ${machine.id}`)
        await relistMarket(tx, left, at)
        return { id: String(id) }
      })
      // Also when it was deleted since: a repetition is answered as the first request was.
      const mine = [sql`v.id = ${result.id}::bigint`, sql`v.account_id = ${actor.accountId}`]
      const [volume] = await find(mine, sql`v.id`, 1)
      return { volume: volume as Volume, replayed }
    },

    /** Deletes a volume with all that is in it, and gives its disk back to the machine. */
    async delete(actor: Actor, id: bigint): Promise<void> {
      authorise(actor, 'volumes.delete', { id: Number(id) })
      const at = now()
      await transaction(database.pool, async tx => {
        const [seen] = await tx.rows(sql`
          SELECT machine_id FROM volumes WHERE id = ${id} AND account_id = ${actor.accountId} AND deleted_at IS NULL`)
        if (!seen) throw volumeNotFound(id)
        const machine = await lockMachine(tx, seen[0] as number)
        const [volume] = await volumesFor(tx, actor, [id])
        if (!volume) throw volumeNotFound(id)
        if (volume.instanceId !== null) throw volumeInUse(id, volume.instanceId, volume.removing)
        const [deleted] = await tx.rows(sql`
          UPDATE volumes SET deleted_at = ${at} WHERE id = ${id} AND deleted_at IS NULL RETURNING size_mb, name`)
        const [sizeMb, name] = deleted as [number, string]
        const left = { ...machine, freeDiskMb: machine.freeDiskMb + sizeMb }
        await tx.rows(sql`UPDATE machines SET free_disk_mb = ${left.freeDiskMb} WHERE id = ${machine.id}`)
        await relistMarket(tx, left, at)
        const { accountId, apiKeyId } = actor
        const before = { volumeId: String(id), name, sizeMb, machineId: machine.id }
        const event = { type: 'VOLUME_DELETED' as const, accountId, apiKeyId, before, reason: 'USER_REQUEST' }
        await recordEvents(tx, [event], at)
      })
    },
  }
}

async function findVolumes(
  { database }: DataDeps,
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
): Promise<Volume[]> {
  const rows = await database.rows(sql`
    SELECT ${allColumns} FROM volumes v JOIN machines m ON m.id = v.machine_id JOIN gpu_models g ON g.id = m.gpu_model_id
    LEFT JOIN volume_attachments a ON a.volume_id = v.id AND a.released_at IS NULL
    WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`)
  return rows.map(row => {
    const [volume, machine, gpuModel] = recordsOf(row, volumeColumns, machineColumns, gpuModelColumns)
    const [instanceId, mountPath] = row.slice(-2) as [bigint | null, string]
    const attachment = instanceId === null ? null : { instanceId, mountPath }
    const facts = { ...(machine as Machine), gpuModel: gpuModel as GpuModel }
    return { ...(volume as Volume), machine: facts, attachment }
  })
}

function living({ accountId }: Actor): Prisma.Sql[] {
  return [sql`v.account_id = ${accountId}`, sql`v.deleted_at IS NULL`]
}
