import { Prisma } from '../../database/generated/client.ts'
import { columnsOf } from '../../database/selection/columns.ts'
import { type Reading, readingOf, type Source, withValues } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import { nameIfRepeated } from '../../database/statement-names.ts'
import type { Statements } from '../../database/statements.ts'
import type { Actor } from '../../domain/actor.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { parseVolumeCursor, printVolumeCursor } from '../../domain/volumes/page.ts'
import type { Volume } from '../../domain/volumes/volumes.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { wholeMachine } from '../machines/source.ts'

const { sql, join } = Prisma

/** What a read asks of volumes. */
export type VolumeSelect = SelectOf<Volume>

export function volumeReadServices({ database }: DataDeps) {
  return {
    /** The volumes of the account, newest first. */
    async page<const Select extends VolumeSelect & { id: true }>(
      actor: Actor,
      page: PageArguments,
      select: Select,
    ): Promise<PageResult<Selected<Volume, Select>>> {
      authorize(actor, 'volumes.list')
      const { limit, backward, cursor } = parsePage(page)
      const conditions = ownVolumesSql(actor)
      if (cursor !== undefined) {
        const id = String(parseVolumeCursor(cursor))
        conditions.push(backward ? sql`v.id > ${id}::bigint` : sql`v.id < ${id}::bigint`)
      }
      const reading = withValues(readingOf(volumeSource, select), [sql`v.id`])
      const statement = volumesSql(reading, conditions, backward ? sql`v.id ASC` : sql`v.id DESC`, limit + 1)
      const rows = await database.read(nameIfRepeated(statement), reading)
      const found = pageOf(rows, { limit, backward, cursor }, ({ values: [id] }) =>
        printVolumeCursor(BigInt(String(id))),
      )
      return { ...found, edges: found.edges.map(({ node, ...edge }) => ({ ...edge, node: node.row })) }
    },

    /** The newest `limit` volumes of the account. */
    async list(actor: Actor, limit: number): Promise<Volume[]> {
      authorize(actor, 'volumes.list')
      return await findVolumes(database, ownVolumesSql(actor), sql`v.id DESC`, limit)
    },

    async count(actor: Actor): Promise<number> {
      authorize(actor, 'volumes.list')
      return await database.prisma.volume.count({ where: { accountId: actor.accountId, deletedAt: null } })
    },

    /** Volumes of the account by id. Does not find deleted volumes or volumes of other accounts. */
    async byIds<const Select extends VolumeSelect>(
      actor: Actor,
      ids: readonly bigint[],
      select: Select,
    ): Promise<Selected<Volume, Select>[]> {
      authorizeEach(actor, 'volumes.get', ids)
      const wanted = [...ownVolumesSql(actor), sql`v.id = ANY(${ids.map(String)}::bigint[])`]
      const reading = readingOf(volumeSource, select)
      return await database.read(nameIfRepeated(volumesSql(reading, wanted, sql`v.id`, ids.length)), reading)
    },
  }
}

/** Whole volumes. Internal: does not authorize; callers must have. */
export async function findVolumes(
  database: Pick<Statements, 'read'>,
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
): Promise<Volume[]> {
  const reading = readingOf(volumeSource, wholeVolume)
  return await database.read(volumesSql(reading, conditions, order, limit), reading)
}

function volumesSql(
  { columns, joins }: Pick<Reading<unknown>, 'columns' | 'joins'>,
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
): Prisma.Sql {
  return sql`
    SELECT ${columns} FROM volumes v ${joins} WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
}

type Attachment = { instanceId: string; mountPath: string }

/** Where statements of volumes `v` have the rows of a selection. */
export const volumeSource: Source<Volume> = {
  model: 'Volume',
  alias: 'v',
  computed: {
    // At most one is not released: an index holds that.
    attachment: {
      sql: sql`(SELECT json_build_object('instanceId', a.instance_id::text, 'mountPath', a.mount_path)
        FROM volume_attachments a WHERE a.volume_id = v.id AND a.released_at IS NULL)`,
      decode: value => {
        // The statement builds this object.
        const attachment = value as Attachment | null
        return attachment && { ...attachment, instanceId: BigInt(attachment.instanceId) }
      },
    },
  },
  relations: {
    machine: {
      ...{ model: 'Machine', alias: 'm', join: sql`JOIN machines m ON m.id = v.machine_id` },
      relations: { gpuModel: { model: 'GpuModel', alias: 'g', join: sql`JOIN gpu_models g ON g.id = m.gpu_model_id` } },
    },
  },
}

const { deletedAt: _, removedAt: __, ...readable } = Prisma.VolumeScalarFieldEnum
/** Selects all of a volume. */
export const wholeVolume = { ...columnsOf(readable), attachment: true as const, machine: { select: wholeMachine } }

/** Conditions for the account's volumes that are not deleted. */
export function ownVolumesSql({ accountId }: Actor): Prisma.Sql[] {
  return [sql`v.account_id = ${accountId}`, sql`v.deleted_at IS NULL`]
}
