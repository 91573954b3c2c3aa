// What follows for money from what was seen of an instance.

import type { Transaction } from '../../database/transaction.ts'
import { isFinal } from '../../domain/instances/states.ts'
import { lockBalance } from '../billing/balance.ts'
import { startCompute, stopMeters } from '../billing/meters.ts'
import { refundAfter } from '../billing/refunds.ts'
import { computeMetersSql, instanceMetersSql } from '../billing/sql.ts'
import { scheduleNextAction } from '../instances/policy/facts.ts'
import { clearFailedStarts } from '../instances/start-backoff.ts'
import type { Finding } from './finding.ts'
import type { InstanceLease } from './leases.ts'

/**
 * Its GPUs cost something while it runs as it is to, also until it is down where it is to start anew; and its disk until
 * it is lost.
 */
export async function updateMeters(tx: Transaction, lease: InstanceLease, finding: Finding, at: Date): Promise<void> {
  const { status, endedAt } = finding
  const { instanceId, accountId, destroyed } = lease
  const isUp = status === 'running' || (status === 'stopping' && lease.charged)
  const runs = isUp && lease.targetState === 'running' && lease.granted && !destroyed
  const isLost = (status === 'offline' || status === 'unknown') && !isFinal(lease.status) && !destroyed
  // Also where others have ended its GPUs since: they may have ended them later.
  const hasEnded = endedAt !== undefined && lease.status === 'running' && !destroyed
  if (runs === lease.charged && !isLost && !hasEnded) return
  const account = await lockBalance(tx, accountId, at)
  if (runs) {
    await startCompute(tx, account, instanceId)
    await clearFailedStarts(tx, account)
    return await scheduleNextAction(tx, account, instanceId, at)
  }
  const compute = computeMetersSql([instanceId])
  if (hasEnded) {
    const end = endedAtOf(lease, endedAt ?? null, at)
    await stopMeters(tx, account, compute, end)
    await refundAfter(tx, account, compute, end, 'Its container had ended.')
  } else if (!isLost) await stopMeters(tx, account, compute)
  if (!isLost) return
  // Nobody knows what became of it after it was seen last.
  const last = finding.seenAt ?? lease.seenAt ?? at
  await stopMeters(tx, account, instanceMetersSql([instanceId]), last)
  await refundAfter(tx, account, instanceMetersSql([instanceId]), last, 'Its machine was not seen any more.')
}

/** When what ran had ended: not before it was seen to run, and not later than now, whatever its machine's clock says. */
function endedAtOf({ seenAt }: InstanceLease, endedAt: Date | null, at: Date): Date {
  const last = seenAt ?? at
  if (endedAt === null || endedAt < last) return last
  return endedAt < at ? endedAt : at
}
