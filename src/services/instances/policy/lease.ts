import type { Database } from '../../../database/client.ts'
import { Prisma } from '../../../database/generated/client.ts'
import { bool, int8, timestamptz } from '../../../database/row-types.ts'
import { isFreeSql, leaseEndSql } from '../../reconciliation/leases.ts'

const { sql } = Prisma

/** `mayReplace`: whether the due action may be to replace the instance. */
export type PolicyLease = { instanceId: bigint; leasedUntil: Date; mayReplace: boolean }

export async function leaseDuePolicies(database: Database, limit: number): Promise<PolicyLease[]> {
  const { nowSql } = database
  return await database.query(
    sql`
      UPDATE instances SET policy_leased_until = ${leaseEndSql(nowSql)} WHERE id = ANY(ARRAY(
        SELECT id FROM instances
        WHERE policy_due_at <= ${nowSql} AND ${isFreeSql(sql`policy_leased_until`, nowSql)}
        ORDER BY policy_due_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
      )) RETURNING id AS instance_id, policy_leased_until AS leased_until,
        replace_seconds IS NOT NULL AND started_at IS NULL AS may_replace`,
    { instanceId: int8, leasedUntil: timestamptz, mayReplace: bool },
  )
}
