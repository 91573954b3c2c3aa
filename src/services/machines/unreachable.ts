// Which machines do not answer, as far as Berth knows. It asks a machine on which nothing is rented nothing, and so learns of it
// only from the connection of its host, or from the plug of a simulated one.

import { Prisma } from '../../database/generated/client.ts'
import { isFreeSql } from '../reconciliation/leases.ts'
import { holdMs } from './agents/sql.ts'

const { sql } = Prisma

/** Rows (machine_id, since), perhaps several for a machine. */
export function unreachableSql(nowSql: Prisma.Sql): Prisma.Sql {
  return sql`
    SELECT machine_id, unreachable_at AS since FROM instances WHERE unreachable_at IS NOT NULL AND removed_at IS NULL
    UNION ALL SELECT machine_id, greatest(held_until, released_at, joined_at) FROM agents
    WHERE ${isFreeSql(sql`held_until`, nowSql, holdMs)}
    UNION ALL SELECT machine_id, since FROM simulated_outages`
}
