import { Prisma } from '../database/generated/client.ts'
import type { InstantFilter } from '../domain/instants.ts'

const { sql } = Prisma

/** The conditions of a filter on a column of instants. */
export function instantFilterSql(column: Prisma.Sql, { gt, gte, lt, lte }: InstantFilter): Prisma.Sql[] {
  return [
    ...(gt ? [sql`${column} > ${gt}`] : []),
    ...(gte ? [sql`${column} >= ${gte}`] : []),
    ...(lt ? [sql`${column} < ${lt}`] : []),
    ...(lte ? [sql`${column} <= ${lte}`] : []),
  ]
}
