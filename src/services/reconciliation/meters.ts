// Starts and stops the meters of an instance after a pass.

import type { Transaction } from '../../database/transaction.ts'
import { isFinal } from '../../domain/instances/states.ts'
import { lockAccount } from '../billing/balance.ts'
import { startGpuMeter, stopMeters } from '../billing/meters.ts'
import { refundAfter } from '../billing/refunds.ts'
import { gpuMetersSql, instanceMetersSql } from '../billing/sql.ts'
import { scheduleNextAction } from '../instances/policy/facts.ts'
import { clearFailedStarts } from '../instances/start-backoff.ts'
import type { Finding } from './finding.ts'
import type { InstanceLease } from './leases.ts'

/**
 * Charges the GPUs while the instance runs as desired, and while it goes down for a restart. A lost instance is not
 * charged.
 */
export async function updateMeters(tx: Transaction, lease: InstanceLease, finding: Finding, at: Date): Promise<void> {
  const { status, endedAt } = finding
  const { instanceId, accountId, destroyed } = lease
  const isUp = status === 'running' || (status === 'stopping' && lease.charged)
  const runs = isUp && lease.targetState === 'running' && lease.holdsGpus && !destroyed
  const isLost = (status === 'offline' || status === 'unknown') && !isFinal(lease.status) && !destroyed
  // The charges are corrected even if the GPU meter has stopped since the instance was recorded as running: the meter may
  // have stopped later than the container.
  const hasEnded = endedAt !== undefined && lease.status === 'running' && !destroyed
  if (runs === lease.charged && !isLost && !hasEnded) return
  const account = await lockAccount(tx, accountId, at)
  if (runs) {
    await startGpuMeter(tx, account, instanceId)
    await clearFailedStarts(tx, account)
    return await scheduleNextAction(tx, account, instanceId, at)
  }
  const gpu = gpuMetersSql([instanceId])
  if (hasEnded) {
    const end = endedAtOf(lease, endedAt ?? null, at)
    await stopMeters(tx, account, gpu, end)
    await refundAfter(tx, account, gpu, end, 'The container had ended.')
  } else if (!isLost) await stopMeters(tx, account, gpu)
  if (!isLost) return
  // The machine did not confirm anything after the last observation, so the charges end at that observation.
  const last = finding.seenAt ?? lease.seenAt ?? at
  await stopMeters(tx, account, instanceMetersSql([instanceId]), last)
  await refundAfter(
    tx,
    account,
    instanceMetersSql([instanceId]),
    last,
    'The machine did not confirm that the instance still existed.',
  )
}

/**
 * When the container ended, but not before its last observation and not later than now, since the machine's clock may
 * be wrong.
 */
function endedAtOf({ seenAt }: InstanceLease, endedAt: Date | null, at: Date): Date {
  const last = seenAt ?? at
  if (endedAt === null || endedAt < last) return last
  return endedAt < at ? endedAt : at
}
