import { Prisma } from '../../database/generated/client.ts'
import type { Transaction } from '../../database/transaction.ts'
import { wantsGpusSql } from '../instances/sql.ts'

const { sql } = Prisma

/** Whose GPUs end: those of the whole account, or of what one of its keys rented. */
type Spender = { accountId: number; apiKeyId: number | null }

/**
 * GPUs cost nothing from an instant on, and everything that is to run is to be stopped for that: it is marked, so that
 * it is stopped whatever is done meanwhile. Whether GPUs ended that had not before. The account must be locked.
 */
export async function endSpenderCompute(
  tx: Transaction,
  { accountId, apiKeyId }: Spender,
  at: Date,
  reason: 'NO_CREDIT' | 'SPEND_LIMIT',
): Promise<boolean> {
  const which = sql`m.account_id = ${accountId} AND m.kind = 'compute'
    AND (${apiKeyId}::int IS NULL OR m.api_key_id = ${apiKeyId})`
  const ended = await tx.rows(sql`
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT m.id, m.account_id, ${at}::timestamptz FROM meters m
    WHERE ${which} AND m.rate_nanos > 0
    AND NOT EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id AND e.at <= ${at}) RETURNING id`)
  await tx.rows(sql`
    UPDATE meters m SET stop_reason = ${reason} FROM instances i
    WHERE i.account_id = ${accountId} AND m.instance_id = i.id AND ${which} AND m.stop_reason IS NULL AND ${wantsGpusSql}`)
  return ended.length > 0
}

/** Instances of an account, as a condition on `i`, with their meters `m`, that are marked to be stopped. */
export function markedToStopSql(accountId: number): Prisma.Sql {
  return sql`m.account_id = ${accountId} AND m.instance_id = i.id AND m.stop_reason IS NOT NULL AND ${wantsGpusSql}`
}
