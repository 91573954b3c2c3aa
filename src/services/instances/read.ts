import { Prisma } from '../../database/generated/client.ts'
import { int4 } from '../../database/row-types.ts'
import { type Reading, readingOf, withValues } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import { nameIfRepeated } from '../../database/statement-names.ts'
import type { Transaction } from '../../database/transaction.ts'
import { type InstanceAccessOperation, isAllowed } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import { requireLiving } from '../../domain/instances/actions.ts'
import { checkInstanceFilter, type InstanceFilter } from '../../domain/instances/filter.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import {
  type InstanceOrder,
  type InstancePosition,
  parseInstanceCursor,
  printInstanceCursor,
} from '../../domain/instances/page.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize, authorizeEach } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { matchingInstancesSql } from './filter.ts'
import { instanceSource, wholeInstance } from './source.ts'
import { livingInstancesSql } from './sql.ts'

type InstancePageQuery = { filter: InstanceFilter; order: InstanceOrder }

const { sql, join, raw } = Prisma

/** What a read asks of instances. */
export type InstanceSelect = SelectOf<Instance>

export function instanceReadServices(deps: Deps) {
  const { database } = deps
  return {
    /** The living instances of the account, newest first. */
    async list(actor: Actor, limit: number): Promise<Instance[]> {
      authorize(actor, 'instances.list')
      return await findInstances(deps, livingInstancesSql(actor), sql`i.id DESC`, limit)
    },

    async page<const Select extends InstanceSelect>(
      actor: Actor,
      { filter, order }: InstancePageQuery,
      page: PageArguments,
      select: Select,
    ): Promise<PageResult<Selected<Instance, Select>>> {
      authorize(actor, 'instances.list')
      checkInstanceFilter(filter)
      const { limit, backward, cursor } = parsePage(page)
      const conditions = matchingInstancesSql(actor, filter)
      const ascending = (order.direction === 'asc') !== backward
      if (cursor !== undefined) conditions.push(afterPositionSql(order, parseInstanceCursor(cursor, order), ascending))
      const direction = raw(ascending ? 'ASC' : 'DESC')
      const selected = readingOf(instanceSource(deps, database.nowSql), select)
      const reading = withValues(selected, [sql`(${orderColumn(order)})::text`, sql`i.id`])
      const statement = sql`
        SELECT ${reading.columns} FROM instances i ${reading.joins} WHERE ${join(conditions, ' AND ')}
        ORDER BY ${orderColumn(order)} ${direction}, i.id ${direction} LIMIT ${limit + 1}`
      const rows = await database.read(nameIfRepeated(statement), reading)
      const found = pageOf(rows, { limit, backward, cursor }, ({ values: [value, id] }) =>
        printInstanceCursor({ value: String(value), id: BigInt(String(id)) }, order),
      )
      return { ...found, edges: found.edges.map(({ node, ...edge }) => ({ ...edge, node: node.row })) }
    },

    async count(actor: Actor, { filter }: InstancePageQuery): Promise<number> {
      authorize(actor, 'instances.list')
      checkInstanceFilter(filter)
      const conditions = join(matchingInstancesSql(actor, filter), ' AND ')
      const statement = sql`SELECT count(*)::int AS count FROM instances i WHERE ${conditions}`
      const [row] = await database.query(nameIfRepeated(statement), { count: int4 })
      return row?.count ?? 0
    },

    /**
     * Instances of the account by id, including destroyed ones. Instances of another account are not found. A key that may
     * perform `operation` on an instance may read the outcome, even without the permission to read instances.
     */
    async byIds<const Select extends InstanceSelect>(
      actor: Actor,
      ids: readonly bigint[],
      select: Select,
      operation: InstanceAccessOperation = 'instances.get',
    ): Promise<Selected<Instance, Select>[]> {
      authorizeRead(actor, ids, operation)
      const reading = readingOf(instanceSource(deps, database.nowSql), select)
      const statement = instancesSql(reading, byIdSql(actor, ids), sql`i.id`, ids.length)
      return await database.read(nameIfRepeated(statement), reading)
    },

    find,

    /** As `find`, but refuses a destroyed instance. */
    async findLiving(actor: Actor, id: bigint, operation?: InstanceAccessOperation): Promise<Instance> {
      return requireLiving(id, await find(actor, id, operation))
    },
  }

  /** As `byIds`, for a whole instance. */
  async function find(
    actor: Actor,
    id: bigint,
    operation: InstanceAccessOperation = 'instances.get',
  ): Promise<Instance> {
    authorizeRead(actor, [id], operation)
    const [instance] = await findInstances(deps, byIdSql(actor, [id]), sql`i.id`, 1)
    if (!instance) throw notFound('Instance', id)
    return instance
  }
}

function authorizeRead(actor: Actor, ids: readonly bigint[], operation: InstanceAccessOperation): void {
  // `instances.update` has parameters that say what changes. A read changes nothing, so it passes with whichever values
  // the key allows.
  const isPossible = (change: object) =>
    ids.some(id => isAllowed(actor.permissions, operation, { ...change, id: Number(id) }))
  authorizeEach(actor, operation, ids, changes.find(isPossible) ?? { relabels: false, starts: false })
}

function byIdSql({ accountId }: Actor, ids: readonly bigint[]): Prisma.Sql[] {
  return [sql`i.account_id = ${accountId}`, sql`i.id = ANY(${ids.map(String)}::bigint[])`]
}

/** What an update can change: see `operationParameters`. */
const changes = [true, false].flatMap(relabels => [true, false].map(starts => ({ relabels, starts })))

type ReadDeps = Pick<Deps, 'sshProxy' | 'notebookProxy'> & { database: Pick<Transaction, 'read' | 'nowSql'> }

/** Whole instances. Internal: does not authorize; callers must have. */
export async function findInstances(
  { database, ...proxies }: ReadDeps,
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
): Promise<Instance[]> {
  const reading = readingOf(instanceSource(proxies, database.nowSql), wholeInstance)
  return await database.read(instancesSql(reading, conditions, order, limit), reading)
}

function instancesSql(
  { columns, joins }: Pick<Reading<unknown>, 'columns' | 'joins'>,
  conditions: Prisma.Sql[],
  order: Prisma.Sql,
  limit: number,
): Prisma.Sql {
  return sql`
    SELECT ${columns} FROM instances i ${joins} WHERE ${join(conditions, ' AND ')} ORDER BY ${order} LIMIT ${limit}`
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
