import { Prisma } from '../../database/generated/client.ts'
import { modelColumnsOf, recordsOf, selectListSql, withoutStatementName } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import { type InstanceAccessOperation, isAllowed } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import { checkInstanceFilter, type InstanceFilter } from '../../domain/instances/filter.ts'
import type { Instance, PortBinding } from '../../domain/instances/instances.ts'
import {
  type InstanceOrder,
  type InstancePosition,
  parseInstanceCursor,
  positionOf,
  printInstanceCursor,
} from '../../domain/instances/page.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { matchingInstancesSql } from './filter.ts'
import { holdsGpusSql, instancesFromSql, isChargedSql, livingInstancesSql } from './sql.ts'

type InstancePageQuery = { filter: InstanceFilter; order: InstanceOrder }

const { sql, join, raw } = Prisma
const { registryLogin: _, secretEnv: __, ...readableFields } = Prisma.InstanceScalarFieldEnum
const instanceColumns = modelColumnsOf(readableFields)
const machineColumns = modelColumnsOf(Prisma.MachineScalarFieldEnum)
const gpuModelColumns = modelColumnsOf(Prisma.GpuModelScalarFieldEnum)
const allColumns = join([
  selectListSql('i', instanceColumns),
  selectListSql('m', machineColumns),
  selectListSql('g', gpuModelColumns),
  isChargedSql,
  holdsGpusSql,
  sql`(SELECT json_agg(json_build_object('hostPort', b.host_port, 'containerPort', b.container_port, 'protocol', b.protocol)
    ORDER BY b.container_port, b.host_port) FROM port_bindings b WHERE b.instance_id = i.id AND b.machine_id = i.machine_id)`,
  sql`(SELECT json_agg(json_build_object('volumeId', a.volume_id::text, 'mountPath', a.mount_path, 'sizeMb', v.size_mb)
    ORDER BY a.mount_path) FROM volume_attachments a JOIN volumes v ON v.id = a.volume_id
    WHERE a.instance_id = i.id AND a.released_at IS NULL AND i.destroyed_at IS NULL)`,
])

export function instanceReadServices(deps: Deps) {
  const { database } = deps
  const find = (conditions: Prisma.Sql[], order: Prisma.Sql, limit: number, options?: FindOptions) =>
    findInstances(deps, conditions, order, limit, options)

  return {
    /** The living instances of the account, newest first. */
    async list(actor: Actor, limit: number): Promise<Instance[]> {
      authorize(actor, 'instances.list')
      return await find(livingInstancesSql(actor), sql`i.id DESC`, limit)
    },

    async page(actor: Actor, { filter, order }: InstancePageQuery, page: PageArguments): Promise<PageResult<Instance>> {
      authorize(actor, 'instances.list')
      checkInstanceFilter(filter)
      const { limit, backward, cursor } = parsePage(page)
      const conditions = matchingInstancesSql(actor, filter)
      const ascending = (order.direction === 'asc') !== backward
      if (cursor !== undefined) conditions.push(afterPositionSql(order, parseInstanceCursor(cursor, order), ascending))
      const direction = raw(ascending ? 'ASC' : 'DESC')
      const keys = sql`${orderColumn(order)} ${direction}, i.id ${direction}`
      const cursorOf = (instance: Instance) => printInstanceCursor(positionOf(instance, order), order)
      return pageOf(await find(conditions, keys, limit + 1, { filtered: true }), { limit, backward, cursor }, cursorOf)
    },

    async count(actor: Actor, { filter }: InstancePageQuery): Promise<number> {
      authorize(actor, 'instances.list')
      checkInstanceFilter(filter)
      const conditions = join(matchingInstancesSql(actor, filter), ' AND ')
      const [row] = await database.rows(
        withoutStatementName(sql`SELECT count(*)::int FROM ${instancesFromSql} WHERE ${conditions}`),
      )
      return row?.[0] as number
    },

    byIds,

    /** An instance of the account that is not destroyed. An instance of another account is not found. */
    async findLiving(actor: Actor, id: bigint, operation?: InstanceAccessOperation): Promise<Instance> {
      const [instance] = await byIds(actor, [id], operation)
      if (!instance || instance.destroyedAt) throw notFound('Instance', id)
      return instance
    },
  }

  /**
   * Instances of the account by id, including destroyed ones. Instances of another account are not found. A key that may
   * perform `operation` on an instance may read the outcome, even without the permission to read instances.
   */
  async function byIds(actor: Actor, ids: readonly bigint[], operation: InstanceAccessOperation = 'instances.get') {
    // `instances.update` has parameters that say what changes. A read changes nothing, so it passes with whichever values
    // the key allows.
    const isPossible = (change: object) =>
      ids.some(id => isAllowed(actor.permissions, operation, { ...change, id: Number(id) }))
    authorizeEach(actor, operation, ids, changes.find(isPossible) ?? { relabels: false, starts: false })
    const mine = [sql`i.account_id = ${actor.accountId}`, sql`i.id = ANY(${ids.map(String)}::bigint[])`]
    return await find(mine, sql`i.id`, ids.length)
  }
}

/** What an update can change: see `operationParameters`. */
const changes = [true, false].flatMap(relabels => [true, false].map(starts => ({ relabels, starts })))

type FindOptions = {
  /** Whether the statement depends on the caller's filter or order, so that it is not prepared by name. */
  filtered?: boolean
}

/** Internal: does not authorize; callers must have. */
export async function findInstances(
  { database, sshProxy }: Omit<Deps, 'database'> & { database: Pick<Transaction, 'rows' | 'nowSql'> },
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
  { filtered = false }: FindOptions = {},
): Promise<Instance[]> {
  const statement = sql`
    SELECT ${allColumns}, ${database.nowSql} FROM ${instancesFromSql}
    WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
  const rows = await database.rows(filtered ? withoutStatementName(statement) : statement)
  return rows.map(row => ({ ...toInstance(row.slice(0, -1)), sshProxy, asOf: row.at(-1) as Date }))
}

function orderColumn({ field }: InstanceOrder): Prisma.Sql {
  switch (field) {
    case 'createdAt':
      return sql`i.id`
    case 'pricePerHour':
      return sql`(i.gpu_price_nanos + i.disk_nanos)`
    case 'label':
      return sql`coalesce(i.label, '')`
  }
}

const orderTypes: Record<InstanceOrder['field'], string> = {
  createdAt: 'bigint',
  pricePerHour: 'bigint',
  label: 'text',
}

function afterPositionSql(order: InstanceOrder, { value, id }: InstancePosition, ascending: boolean): Prisma.Sql {
  const type = raw(orderTypes[order.field])
  return sql`(${orderColumn(order)}, i.id) ${raw(ascending ? '>' : '<')} (${value}::${type}, ${String(id)}::bigint)`
}

function toInstance(row: unknown[]): Omit<Instance, 'sshProxy' | 'asOf'> {
  const [instance, machine, gpuModel] = recordsOf(row, instanceColumns, machineColumns, gpuModelColumns)
  const attachments = (row.at(-1) ?? []) as { volumeId: string; mountPath: string; sizeMb: number }[]
  const volumes = attachments.map(({ volumeId, ...mount }) => ({ volumeId: BigInt(volumeId), ...mount }))
  const portBindings = (row.at(-2) ?? []) as PortBinding[]
  const [charged, holdsGpus] = row.slice(-4) as [boolean, boolean]
  const facts = { ...(machine as Machine), gpuModel: gpuModel as GpuModel }
  return { ...(instance as Instance), portBindings, volumes, holdsGpus, charged, machine: facts }
}
