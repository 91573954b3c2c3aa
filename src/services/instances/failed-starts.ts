// Failed starts that are not the renter's fault: see domain/instances/failed-start.ts.

import { Prisma } from '../../database/generated/client.ts'
import { int4 } from '../../database/row-types.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import type { StartFault } from '../../domain/instances/containers.ts'
import { passedOverMs } from '../../domain/instances/failed-start.ts'
import { maxOperands } from '../../domain/offers/filter.ts'

const { sql } = Prisma

type FailedStart = { instanceId: bigint; accountId: number; machineId: number; fault: StartFault }

export async function recordFailedStart(
  tx: Transaction,
  { instanceId, accountId, machineId, fault }: FailedStart,
  at: Date,
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO failed_starts (instance_id, account_id, machine_id, by_machine, at)
    VALUES (${instanceId}, ${accountId}, ${machineId}, ${fault === 'machine'}, ${at}::timestamptz) ON CONFLICT DO NOTHING`)
}

/** The machines on which a start of the account failed a short time ago, the latest first. */
export async function findPassedOverMachines(tx: Transaction, { accountId }: Actor): Promise<number[]> {
  const since = new Date(tx.at.getTime() - passedOverMs)
  const rows = await tx.query(
    sql`
      SELECT machine_id FROM failed_starts WHERE account_id = ${accountId} AND at > ${since}::timestamptz
      GROUP BY machine_id ORDER BY max(at) DESC LIMIT ${maxOperands}`,
    { machineId: int4 },
  )
  return rows.map(({ machineId }) => machineId)
}
