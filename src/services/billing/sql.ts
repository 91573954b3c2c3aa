// SQL fragments on meters with the alias `m`.

import { Prisma } from '../../database/generated/client.ts'

const { sql } = Prisma

/** When a meter ends: at its planned end or its first recorded end, whichever comes first. */
export const meterEndSql = sql`least(m.ends_at, (SELECT min(e.at) FROM meter_ends e WHERE e.meter_id = m.id))`

/** GPU meters of instances. */
export function gpuMetersSql(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.kind = 'gpu' AND ${instanceMetersSql(instanceIds)}`
}

/** All meters of instances. */
export function instanceMetersSql(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.instance_id = ANY(${instanceIds.map(String)}::bigint[])`
}
