// Parts of statements on meters, which they call `m`.

import { Prisma } from '../../database/generated/client.ts'

const { sql } = Prisma

/** When a meter ends: by what is arranged, or since it did. */
export const meterEndSql = sql`least(m.ends_at, (SELECT min(e.at) FROM meter_ends e WHERE e.meter_id = m.id))`

/** The GPUs of instances. */
export function computeMetersSql(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.kind = 'compute' AND ${instanceMetersSql(instanceIds)}`
}

/** Everything of instances. */
export function instanceMetersSql(instanceIds: readonly bigint[]): Prisma.Sql {
  return sql`m.instance_id = ANY(${instanceIds.map(String)}::bigint[])`
}
