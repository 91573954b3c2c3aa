// Instance search for clients that filter and sort by columns.

import { Prisma } from '../../../database/generated/client.ts'
import { withoutStatementName } from '../../../database/rows.ts'
import { type Snapshot, snapshot } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import { parseSearchCursor, printSearchCursor } from '../../../domain/instances/search/cursor.ts'
import { type InstanceSearch, type ShownStatus, totalInstanceOrder } from '../../../domain/instances/search/search.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { findInstances } from '../read.ts'
import { instancesFromSql, livingInstancesSql } from '../sql.ts'
import { afterPositionSql, conditionSql, orderSql, positionSql, shownStatusSql } from './sql.ts'

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
        SELECT i.id, ${positionSql(order)} FROM ${instancesFromSql}
        WHERE ${join([...conditions, ...afterCursor], ' AND ')} ORDER BY ${orderSql(order)} LIMIT ${limit + 1}`
      return await snapshot(database, async tx => {
        const rows = await tx.rows(withoutStatementName(page))
        const found = rows.slice(0, limit)
        const ids = found.map(([id]) => String(id))
        const [, ...last] = (found.at(-1) ?? []) as [bigint, ...string[]]
        return {
          instances: await loadInOrder(tx, ids),
          next: rows.length > limit ? printSearchCursor(last, order) : null,
          ...(await countMatches(tx, conditions)),
        }
      })
    },

    /** Each distinct combination of facet values among the account's living instances. */
    async facets(actor: Actor): Promise<Facet[]> {
      authorize(actor, 'instances.list')
      const rows = await database.rows(sql`
        SELECT DISTINCT ${shownStatusSql}, m.verification::text, g.name FROM ${instancesFromSql}
        WHERE ${join(livingInstancesSql(actor), ' AND ')} ORDER BY 1, 2, 3`)
      return rows.map(([status, verification, gpuName]) => ({ status, verification, gpuName }) as Facet)
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
      SELECT i.label, count(*)::int, (sum(count(*)) OVER ())::int FROM ${instancesFromSql}
      WHERE ${join(conditions, ' AND ')} GROUP BY i.label ORDER BY 2 DESC, 1 LIMIT ${maxLabels}`
    const rows = await tx.rows(withoutStatementName(statement))
    const labels = rows.flatMap(([label, count]) =>
      label === null ? [] : [{ label: label as string, count: count as number }],
    )
    return { total: (rows[0]?.[2] as number | undefined) ?? 0, labels }
  }
}
