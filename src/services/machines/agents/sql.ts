import { Prisma } from '../../../database/generated/client.ts'

const { sql } = Prisma

export const noGateway = '00000000-0000-0000-0000-000000000000'

/**
 * Whether another gateway has the connection of the host of an instance `l`. PostgreSQL reads `agents` once, for the
 * first instance whose host has an agent, and never without one.
 */
export function isElsewhereSql(gatewayId: string | undefined, nowSql: Prisma.Sql): Prisma.Sql {
  return sql`(l.agent_machine_id IS NOT NULL AND l.agent_machine_id = ANY(ARRAY(
    SELECT machine_id FROM agents WHERE gateway_id <> ${gatewayId ?? noGateway}::uuid AND held_until > ${nowSql})))`
}
