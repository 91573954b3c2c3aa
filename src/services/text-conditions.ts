// Conditions on a text in SQL.

import { Prisma } from '../database/generated/client.ts'
import type { TextConditions } from '../domain/conditions.ts'

const { sql } = Prisma

/** Conditions on a column that is never NULL, ignoring case. */
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
