import { Prisma } from '../../database/generated/client.ts'
import { columnsOf, recordsOf, selectList, unnamed } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import { isAllowed, type WayToAnInstance } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import type { Instance, PortBinding } from '../../domain/instances/instances.ts'
import {
  checkInstanceFilter,
  type InstanceFilter,
  type InstanceOrder,
  type InstancePosition,
  parseInstanceCursor,
  positionOf,
  printInstanceCursor,
} from '../../domain/instances/page.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { type PageArguments, type PageOf, pageOf, readPage } from '../../domain/pages.ts'
import { authorise, authoriseEach } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { holdsGpus, isCharged } from './sql.ts'

type InstanceSearch = { filter: InstanceFilter; order: InstanceOrder }

const { sql, join, raw } = Prisma
const { registryLogin: _, secretEnv: __, ...readable } = Prisma.InstanceScalarFieldEnum
const instanceColumns = columnsOf(readable)
const machineColumns = columnsOf(Prisma.MachineScalarFieldEnum)
const gpuModelColumns = columnsOf(Prisma.GpuModelScalarFieldEnum)
const allColumns = join([
  selectList('i', instanceColumns),
  selectList('m', machineColumns),
  selectList('g', gpuModelColumns),
  isCharged,
  holdsGpus,
  sql`(SELECT json_agg(json_build_object('hostPort', b.host_port, 'containerPort', b.container_port, 'protocol', b.protocol)
    ORDER BY b.container_port, b.host_port) FROM port_bindings b WHERE b.instance_id = i.id AND b.machine_id = i.machine_id)`,
  sql`(SELECT json_agg(json_build_object('volumeId', a.volume_id::text, 'mountPath', a.mount_path, 'sizeMb', v.size_mb)
    ORDER BY a.mount_path) FROM volume_attachments a JOIN volumes v ON v.id = a.volume_id
    WHERE a.instance_id = i.id AND a.released_at IS NULL AND i.destroyed_at IS NULL)`,
])
/** Instances i with their machines m and models of GPUs g. */
export const instanceSource = sql`instances i JOIN machines m ON m.id = i.machine_id JOIN gpu_models g ON g.id = m.gpu_model_id`

export function instanceServices(deps: Deps) {
  const { database } = deps
  const find = (conditions: Prisma.Sql[], order: Prisma.Sql, limit: number, options?: FindOptions) =>
    findInstances(deps, conditions, order, limit, options)

  return {
    /** All living instances of the account, the newest first. */
    async list(actor: Actor, limit: number): Promise<Instance[]> {
      authorise(actor, 'instances.list')
      return await find([...livingInstances(actor)], sql`i.id DESC`, limit)
    },

    async page(actor: Actor, { filter, order }: InstanceSearch, page: PageArguments): Promise<PageOf<Instance>> {
      authorise(actor, 'instances.list')
      checkInstanceFilter(filter)
      const { limit, backward, cursor } = readPage(page)
      const conditions = [...livingInstances(actor), ...filterSql(filter)]
      const ascending = (order.direction === 'asc') !== backward
      if (cursor !== undefined) conditions.push(beyond(order, parseInstanceCursor(cursor, order), ascending))
      const direction = raw(ascending ? 'ASC' : 'DESC')
      const keys = sql`${orderColumn(order)} ${direction}, i.id ${direction}`
      const cursorOf = (instance: Instance) => printInstanceCursor(positionOf(instance, order), order)
      return pageOf(await find(conditions, keys, limit + 1, { filtered: true }), { limit, backward, cursor }, cursorOf)
    },

    async count(actor: Actor, { filter }: InstanceSearch): Promise<number> {
      authorise(actor, 'instances.list')
      checkInstanceFilter(filter)
      const conditions = join([...livingInstances(actor), ...filterSql(filter)], ' AND ')
      const [row] = await database.rows(unnamed(sql`SELECT count(*)::int FROM ${instanceSource} WHERE ${conditions}`))
      return row?.[0] as number
    },

    byIds,

    /** One that was not destroyed. Another account's is not found. */
    async living(actor: Actor, id: bigint, operation?: WayToAnInstance): Promise<Instance> {
      const [instance] = await byIds(actor, [id], operation)
      if (!instance || instance.destroyedAt) throw notFound('Instance', id)
      return instance
    },
  }

  /**
   * Instances of the account by id, also destroyed ones. Another account's are not found. Who may do something to an
   * instance may see what became of it, also without the permission to read others.
   */
  async function byIds(actor: Actor, ids: readonly bigint[], operation: WayToAnInstance = 'instances.get') {
    // Whether he labels it or starts it, he sees it.
    const relabels = ids.some(id => isAllowed(actor.permissions, operation, { id: Number(id), relabels: true }))
    authoriseEach(actor, operation, ids, { relabels })
    const mine = [sql`i.account_id = ${actor.accountId}`, sql`i.id = ANY(${ids.map(String)}::bigint[])`]
    return await find(mine, sql`i.id`, ids.length)
  }
}

/** Whether conditions or order depend on what the caller filters or sorts by. */
type FindOptions = { filtered?: boolean }

/** For services: whoever asks has been asked for his permission. */
export async function findInstances(
  { database, sshProxy }: Omit<Deps, 'database'> & { database: Pick<Transaction, 'rows' | 'now'> },
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
  { filtered = false }: FindOptions = {},
): Promise<Instance[]> {
  const statement = sql`
    SELECT ${allColumns}, ${database.now} FROM ${instanceSource}
    WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
  const rows = await database.rows(filtered ? unnamed(statement) : statement)
  return rows.map(row => ({ ...toInstance(row.slice(0, -1)), sshProxy, asOf: row.at(-1) as Date }))
}

/** Those of an account that were not destroyed. */
export function livingInstances({ accountId }: Actor): Prisma.Sql[] {
  return [sql`i.account_id = ${accountId}`, sql`i.destroyed_at IS NULL`]
}

function filterSql({ ids, label, status, targetState, gpuName, idempotencyKey }: InstanceFilter): Prisma.Sql[] {
  return [
    ...(ids ? [sql`i.id = ANY(${ids.map(String)}::bigint[])`] : []),
    ...(label !== undefined ? [sql`i.label = ${label}`] : []),
    ...(status ? [sql`i.status = ANY(${status}::instance_status[])`] : []),
    ...(targetState ? [sql`i.target_state = ${targetState}::target_state`] : []),
    ...(idempotencyKey !== undefined ? [sql`i.idempotency_key = ${idempotencyKey}`] : []),
    ...(gpuName !== undefined ? [sql`lower(g.name) = ${gpuName.toLowerCase()}`] : []),
  ]
}

function orderColumn({ field }: InstanceOrder): Prisma.Sql {
  switch (field) {
    case 'createdAt':
      return sql`i.id`
    case 'pricePerHour':
      return sql`(i.compute_nanos + i.disk_nanos)`
    case 'label':
      return sql`coalesce(i.label, '')`
  }
}

const types: Record<InstanceOrder['field'], string> = { createdAt: 'bigint', pricePerHour: 'bigint', label: 'text' }

function beyond(order: InstanceOrder, { value, id }: InstancePosition, ascending: boolean): Prisma.Sql {
  const type = raw(types[order.field])
  return sql`(${orderColumn(order)}, i.id) ${raw(ascending ? '>' : '<')} (${value}::${type}, ${String(id)}::bigint)`
}

function toInstance(row: unknown[]): Omit<Instance, 'sshProxy' | 'asOf'> {
  const [instance, machine, gpuModel] = recordsOf(row, instanceColumns, machineColumns, gpuModelColumns)
  const attached = (row.at(-1) ?? []) as { volumeId: string; mountPath: string; sizeMb: number }[]
  const volumes = attached.map(({ volumeId, ...mount }) => ({ volumeId: BigInt(volumeId), ...mount }))
  const portBindings = (row.at(-2) ?? []) as PortBinding[]
  const [charged, granted] = row.slice(-4) as [boolean, boolean]
  const facts = { ...(machine as Machine), gpuModel: gpuModel as GpuModel }
  return { ...(instance as Instance), portBindings, volumes, granted, charged, machine: facts }
}
