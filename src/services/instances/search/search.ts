// Instance search for clients that filter and sort by columns.

import { Prisma } from '../../../database/generated/client.ts'
import { int4, int8, nullable, text, textArray, textOf } from '../../../database/row-types.ts'
import { withoutStatementName } from '../../../database/statement-names.ts'
import { type Snapshot, snapshot } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import { parseSearchCursor, printSearchCursor } from '../../../domain/instances/search/cursor.ts'
import { type InstanceSearch, type ShownStatus, totalInstanceOrder } from '../../../domain/instances/search/search.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { findInstances } from '../read.ts'
import { livingInstancesSql } from '../sql.ts'
import { afterPositionSql, conditionSql, instancesFromSql, orderSql, positionSql, shownStatusSql } from './sql.ts'

const { sql, join } = Prisma

/** Only this many labels are counted, the most frequent first. */
const maxLabels = 1_000

type SearchPage = {
  instances: Instance[]
  /** The cursor of the next page; null on the last page. */
  next: string | null
  /** The number of matches on all pages. */
  total: number
  /** The number of matches for each label. Instances without a label are left out. */
  labels: { label: string; count: number }[]
}

type Facet = { status: ShownStatus; verification: string; gpuName: string }

export function instanceSearchServices(deps: Deps) {
  const { database } = deps

  return {
    /** A page of the account's living instances that match all conditions. */
    async search(
      actor: Actor,
      { conditions: requested, order: keys }: InstanceSearch,
      { limit, after }: { limit: number; after?: string | undefined },
    ): Promise<SearchPage> {
      authorize(actor, 'instances.list')
      const order = totalInstanceOrder(keys)
      const position = after === undefined ? undefined : parseSearchCursor(after, order)
      const conditions = [...livingInstancesSql(actor), ...requested.map(conditionSql)]
      const afterCursor = position ? [afterPositionSql(position, order)] : []
      const page = sql`
        SELECT i.id, ARRAY[${positionSql(order)}]::text[] AS position FROM ${instancesFromSql}
        WHERE ${join([...conditions, ...afterCursor], ' AND ')} ORDER BY ${orderSql(order)} LIMIT ${limit + 1}`
      return await snapshot(database, async tx => {
        const rows = await tx.query(withoutStatementName(page), { id: int8, position: textArray })
        const found = rows.slice(0, limit)
        return {
          instances: await loadInOrder(
            tx,
            found.map(({ id }) => String(id)),
          ),
          next: rows.length > limit ? printSearchCursor(found.at(-1)?.position ?? [], order) : null,
          ...(await countMatches(tx, conditions)),
        }
      })
    },

    /** Each distinct combination of facet values among the account's living instances. */
    async facets(actor: Actor): Promise<Facet[]> {
      authorize(actor, 'instances.list')
      return await database.query(
        sql`
          SELECT DISTINCT ${shownStatusSql} AS status, m.verification::text AS verification, g.name AS gpu_name
          FROM ${instancesFromSql} WHERE ${join(livingInstancesSql(actor), ' AND ')} ORDER BY 1, 2, 3`,
        { status: textOf<ShownStatus>(), verification: text, gpuName: text },
      )
    },
  }

  async function loadInOrder(tx: Snapshot, ids: string[]): Promise<Instance[]> {
    if (ids.length === 0) return []
    const conditions = [sql`i.id = ANY(${ids}::bigint[])`]
    const found = await findInstances({ ...deps, database: tx }, conditions, sql`i.id`, ids.length)
    const byId = new Map(found.map(instance => [String(instance.id), instance]))
    return ids.flatMap(id => byId.get(id) ?? [])
  }

  async function countMatches(tx: Snapshot, conditions: Prisma.Sql[]): Promise<Pick<SearchPage, 'total' | 'labels'>> {
    const statement = sql`
      SELECT i.label, count(*)::int AS count, (sum(count(*)) OVER ())::int AS total FROM ${instancesFromSql}
      WHERE ${join(conditions, ' AND ')} GROUP BY i.label ORDER BY 2 DESC, 1 LIMIT ${maxLabels}`
    const shape = { label: nullable(text), count: int4, total: int4 }
    const rows = await tx.query(withoutStatementName(statement), shape)
    const labels = rows.flatMap(({ label, count }) => (label === null ? [] : [{ label, count }]))
    return { total: rows[0]?.total ?? 0, labels }
  }
}
