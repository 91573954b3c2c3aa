import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import { wantsGpusSql } from '../instances/sql.ts'

const { sql } = Prisma

/** The whole account, or the instances that one of its keys rented. */
type Spender = { accountId: number; apiKeyId: number | null }

/**
 * Ends the spender's GPU charges at an instant and marks the instances that should run. Marked instances stop whatever
 * happens meanwhile. `ends`: whether any running GPU meter had no recorded end at that instant or earlier. `marks`: whether any
 * instance was not marked. The account must be locked.
 */
export async function endSpenderGpus(
  tx: Transaction,
  { accountId, apiKeyId }: Spender,
  at: Date,
  reason: 'NO_CREDIT' | 'SPEND_LIMIT' | 'ACCOUNT_DISABLED',
): Promise<{ ends: boolean; marks: boolean }> {
  const which = sql`m.account_id = ${accountId} AND m.kind = 'gpu'
    AND (${apiKeyId}::int IS NULL OR m.api_key_id = ${apiKeyId})`
  const ended = await tx.execute(sql`
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT m.id, m.account_id, ${at}::timestamptz FROM meters m
    WHERE ${which} AND m.rate_nanos > 0
    AND NOT EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id AND e.at <= ${at})`)
  const marked = await tx.execute(sql`
    UPDATE meters m SET stop_reason = ${reason} FROM instances i
    WHERE i.account_id = ${accountId} AND m.instance_id = i.id AND ${which} AND m.stop_reason IS NULL AND ${wantsGpusSql}`)
  return { ends: ended > 0, marks: marked > 0 }
}

/**
 * FROM and WHERE: the account's instances `i` that are marked to stop, with their meters `m`. Reads the few marked meters
 * first, and then each instance by its id, whatever the planner expects.
 */
export function fromMarkedToStopSql(accountId: number | Prisma.Sql): Prisma.Sql {
  return sql`
    FROM (
      SELECT instance_id, stop_reason FROM meters WHERE account_id = ${accountId} AND stop_reason IS NOT NULL OFFSET 0
    ) m CROSS JOIN LATERAL (SELECT * FROM instances WHERE id = m.instance_id LIMIT 1) i WHERE ${wantsGpusSql}`
}
