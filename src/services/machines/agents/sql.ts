import { Prisma } from '../../../database/generated/client.ts'
import { isHeldSql } from '../../reconciliation/leases.ts'

const { sql } = Prisma

/** A gateway that renews nothing for this long holds no connection anymore. Only the database's clock measures it. */
export const holdMs = 10_000

export function isHeldNowSql(nowSql: Prisma.Sql, heldUntil = sql`held_until`): Prisma.Sql {
  return isHeldSql(heldUntil, nowSql, holdMs)
}

export const noGateway = '00000000-0000-0000-0000-000000000000'

/**
 * Whether another gateway has the connection of a host. `machineId`: a column that is null for machines without an agent, or names
 * any machine. PostgreSQL reads `agents` once, for the first row that has a machine, and never without one.
 */
export function isElsewhereSql(
  gatewayId: string | undefined,
  nowSql: Prisma.Sql,
  machineId = sql`l.agent_machine_id`,
): Prisma.Sql {
  return sql`(${machineId} IS NOT NULL AND ${machineId} = ANY(ARRAY(
    SELECT machine_id FROM agents WHERE gateway_id <> ${gatewayId ?? noGateway}::uuid AND ${isHeldNowSql(nowSql)})))`
}
