// What follows for money from what was seen of an instance.

import type { Transaction } from '../../database/transaction.ts'
import { isFinal } from '../../domain/instances/states.ts'
import { lockBalance } from '../billing/balance.ts'
import { startCompute, stopMeters } from '../billing/meters.ts'
import { refundBeyond } from '../billing/refunds.ts'
import { computeOf, ofInstances } from '../billing/sql.ts'
import { forgetFailedStarts } from '../instances/backoff.ts'
import { arrange } from '../instances/policy/facts.ts'
import type { Finding } from './finding.ts'
import type { Lease } from './leases.ts'

/**
 * Its GPUs cost something while it runs as it is to, also until it is down where it is to start anew; and its disk until
 * it is lost.
 */
export async function meter(tx: Transaction, lease: Lease, finding: Finding, at: Date): Promise<void> {
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
    await forgetFailedStarts(tx, account)
    return await arrange(tx, account, instanceId, at)
  }
  const compute = computeOf([instanceId])
  if (hasEnded) {
    const end = endOf(lease, endedAt ?? null, at)
    await stopMeters(tx, account, compute, end)
    await refundBeyond(tx, account, compute, end, 'Its container had ended.')
  } else if (!isLost) await stopMeters(tx, account, compute)
  if (!isLost) return
  // Nobody knows what became of it after it was seen last.
  const last = finding.seenAt ?? lease.seenAt ?? at
  await stopMeters(tx, account, ofInstances([instanceId]), last)
  await refundBeyond(tx, account, ofInstances([instanceId]), last, 'Its machine was not seen any more.')
}

/** When what ran had ended: not before it was seen to run, and not later than now, whatever its machine's clock says. */
function endOf({ seenAt }: Lease, endedAt: Date | null, at: Date): Date {
  const last = seenAt ?? at
  if (endedAt === null || endedAt < last) return last
  return endedAt < at ? endedAt : at
}
