import { Prisma } from '../../../database/generated/client.ts'
import { int4, int8, text } from '../../../database/row-types.ts'
import type { FacetColumn } from '../../../domain/offers/facets.ts'
import { fieldColumnOf } from './columns.ts'
import type { TimedSelection } from './selection.ts'
import { fromMatchesSql } from './statement.ts'

const { sql, join, raw } = Prisma

/**
 * Counts the matches for each value of each column, and finds the least price. One read of the matches serves all columns:
 * a grouping set for each. `facet` is the index of the column. At most `limit` values of a column, those with most matches
 * first.
 */
export const facetRow = { facet: int4, value: text, count: int4, price: int8 }

export function facetStatement(selection: TimedSelection, columns: readonly FacetColumn[], limit: number): Prisma.Sql {
  const values = columns.map(
    (column, index) => sql`${fieldColumnOf(column, selection).sql}::text AS ${raw(`f${index}`)}`,
  )
  const names = columns.map((_, index) => `f${index}`)
  const sets = raw(names.map(name => `(${name})`).join(', '))
  // GROUPING has a bit for each column: 0 for the one that a row is grouped by.
  const column = raw(`CASE ${names.map((name, index) => `WHEN GROUPING(${name}) = 0 THEN ${index}`).join(' ')} END`)
  const price = fieldColumnOf('pricePerHour', selection).sql
  return sql`
    SELECT facet, value, count, price FROM (
      SELECT facet, value, count, price, row_number() OVER (PARTITION BY facet ORDER BY count DESC, value COLLATE "C") AS place
      FROM (
        SELECT ${column} AS facet, coalesce(${raw(names.join(', '))}) AS value, count(*)::int AS count, min(price) AS price
        FROM (SELECT ${join(values)}, ${price} AS price ${fromMatchesSql(selection, columns)}) matches
        GROUP BY GROUPING SETS (${sets})
      ) counted
    ) ranked WHERE place <= ${limit} ORDER BY facet, place`
}
