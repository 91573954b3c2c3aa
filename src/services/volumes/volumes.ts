import { Prisma } from '../../database/generated/client.ts'
import { modelColumnsOf, recordsOf, selectListSql } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { parseVolumeCursor, printVolumeCursor } from '../../domain/volumes/page.ts'
import type { Volume } from '../../domain/volumes/volumes.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'

const { sql, join } = Prisma
const { deletedAt: _, ...readable } = Prisma.VolumeScalarFieldEnum
const volumeColumns = modelColumnsOf(readable)
const machineColumns = modelColumnsOf(Prisma.MachineScalarFieldEnum)
const gpuModelColumns = modelColumnsOf(Prisma.GpuModelScalarFieldEnum)
const allColumns = join([
  selectListSql('v', volumeColumns),
  selectListSql('m', machineColumns),
  selectListSql('g', gpuModelColumns),
  sql`a.instance_id, a.mount_path`,
])

export function volumeReadServices(deps: DataDeps) {
  const { database } = deps
  const find = (conditions: Prisma.Sql[], order: Prisma.Sql, limit: number) =>
    findVolumes(deps, conditions, order, limit)

  return {
    /** The volumes of the account, newest first. */
    async page(actor: Actor, page: PageArguments): Promise<PageResult<Volume>> {
      authorize(actor, 'volumes.list')
      const { limit, backward, cursor } = parsePage(page)
      const conditions = ownVolumesSql(actor)
      if (cursor !== undefined) {
        const id = String(parseVolumeCursor(cursor))
        conditions.push(backward ? sql`v.id > ${id}::bigint` : sql`v.id < ${id}::bigint`)
      }
      const found = await find(conditions, backward ? sql`v.id ASC` : sql`v.id DESC`, limit + 1)
      return pageOf(found, { limit, backward, cursor }, ({ id }) => printVolumeCursor(id))
    },

    /** The newest `limit` volumes of the account. */
    async list(actor: Actor, limit: number): Promise<Volume[]> {
      authorize(actor, 'volumes.list')
      return await find(ownVolumesSql(actor), sql`v.id DESC`, limit)
    },

    async count(actor: Actor): Promise<number> {
      authorize(actor, 'volumes.list')
      const [row] = await database.rows(
        sql`SELECT count(*)::int FROM volumes v WHERE ${join(ownVolumesSql(actor), ' AND ')}`,
      )
      return row?.[0] as number
    },

    /** Volumes of the account by id. Does not find deleted volumes or volumes of other accounts. */
    async byIds(actor: Actor, ids: readonly bigint[]): Promise<Volume[]> {
      authorizeEach(actor, 'volumes.get', ids)
      const wanted = [...ownVolumesSql(actor), sql`v.id = ANY(${ids.map(String)}::bigint[])`]
      return await find(wanted, sql`v.id`, ids.length)
    },
  }
}

/** Internal: does not authorize; callers must have. */
export async function findVolumes(
  { database }: { database: Pick<Transaction, 'rows'> },
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

/** Conditions for the account's volumes that are not deleted. */
export function ownVolumesSql({ accountId }: Actor): Prisma.Sql[] {
  return [sql`v.account_id = ${accountId}`, sql`v.deleted_at IS NULL`]
}
