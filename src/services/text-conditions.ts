// Conditions on a text, ignoring case: in SQL, and for Prisma.

import { Prisma } from '../database/generated/client.ts'
import type { TextConditions } from '../domain/conditions.ts'

const { sql } = Prisma

/** Conditions on a column that is never NULL. */
export function textConditionsSql(
  column: Prisma.Sql,
  { eq, neq, in: one, nin, contains, startsWith }: TextConditions,
): Prisma.Sql[] {
  const text = sql`lower(${column})`
  const lower = (values: string[]) => sql`ARRAY(SELECT lower(v) FROM unnest(${values}::text[]) v)`
  return [
    ...(eq !== undefined ? [sql`${text} = lower(${eq})`] : []),
    ...(neq !== undefined ? [sql`${text} <> lower(${neq})`] : []),
    ...(one ? [sql`${text} = ANY(${lower(one)})`] : []),
    ...(nin ? [sql`${text} <> ALL(${lower(nin)})`] : []),
    ...(contains !== undefined ? [sql`strpos(${text}, lower(${contains})) > 0`] : []),
    ...(startsWith !== undefined ? [sql`starts_with(${text}, lower(${startsWith}))`] : []),
  ]
}

/** The same conditions for Prisma, in which all filters of the list must match. */
export function textFilters({ eq, neq, in: one, nin, contains, startsWith }: TextConditions): Prisma.StringFilter[] {
  const filters: Prisma.StringFilter[] = [
    ...(eq !== undefined ? [{ in: [eq] }] : []),
    ...(neq !== undefined ? [{ notIn: [neq] }] : []),
    ...(one ? [{ in: one }] : []),
    ...(nin ? [{ notIn: nin }] : []),
    ...(contains !== undefined ? [{ contains: escapePattern(contains) }] : []),
    ...(startsWith !== undefined ? [{ startsWith: escapePattern(startsWith) }] : []),
  ]
  return filters.map(filter => ({ ...filter, mode: 'insensitive' }))
}

/** Prisma makes a pattern of these texts, in which `%` and `_` stand for any characters. */
function escapePattern(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
