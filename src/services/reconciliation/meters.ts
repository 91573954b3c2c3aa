// Starts and stops the meters of instances after passes.

import type { Transaction } from '../../database/transaction.ts'
import { isFinal } from '../../domain/instances/states.ts'
import { type AccountBalance, lockAccounts } from '../billing/balance.ts'
import { startGpuMeters, stopMeters } from '../billing/meters.ts'
import { refundAfter } from '../billing/refunds.ts'
import { gpuMetersSql, instanceMetersSql } from '../billing/sql.ts'
import { scheduleNextActions } from '../instances/policy/facts.ts'
import {
  clearFailedStarts,
  countFailedStart,
  hasFailedToStart,
  mayHaveFailedToStart,
} from '../instances/start-backoff.ts'
import type { Finding, LeasedFinding } from './finding.ts'
import type { InstanceLease } from './leases.ts'

type MeterChanges = { runs: boolean; isLost: boolean; hasEnded: boolean }

/**
 * What a finding changes of the charges; undefined if nothing. The GPUs are charged while the instance runs as desired, and
 * while it goes down for a restart. A lost instance is not charged.
 */
export function meterChangesOf(lease: InstanceLease, { status, endedAt }: Finding): MeterChanges | undefined {
  const { destroyed } = lease
  // The charges are corrected even if the GPU meter has stopped since the instance was recorded as running: the meter may
  // have stopped later than the container.
  const hasEnded = endedAt !== undefined && lease.status === 'running' && !destroyed
  const isUp = status === 'running' || (status === 'stopping' && lease.charged && !hasEnded)
  const runs = isUp && lease.targetState === 'running' && lease.holdsGpus && !destroyed
  const isLost = (status === 'offline' || status === 'unknown') && !isFinal(lease.status) && !destroyed
  return runs === lease.charged && !isLost && !hasEnded ? undefined : { runs, isLost, hasEnded }
}

export function changesMeters({ lease, finding }: LeasedFinding): boolean {
  return meterChangesOf(lease, finding) !== undefined
}

/** Whether the meters of many such findings are changed together: nothing is refunded, and no start has failed. */
export function isCommonMeterChange({ lease, finding }: LeasedFinding): boolean {
  const changes = meterChangesOf(lease, finding)
  return !changes?.isLost && !changes?.hasEnded && !mayHaveFailedToStart(lease, finding)
}

/** Starts and stops the meters of locked instances, and counts their failed starts. */
export async function updateMeters(tx: Transaction, findings: readonly LeasedFinding[], at: Date): Promise<void> {
  const changes = findings.flatMap(({ lease, finding }) => {
    const change = meterChangesOf(lease, finding)
    return change ? [{ lease, finding, ...change }] : []
  })
  const failed: number[] = []
  for (const { lease, finding } of findings)
    if (await hasFailedToStart(tx, lease, finding)) failed.push(lease.accountId)
  const accountIds = [...new Set([...changes.map(({ lease }) => lease.accountId), ...failed])]
  if (accountIds.length === 0) return
  const accounts = await lockAccounts(tx, accountIds, at)
  const accountOf = ({ accountId }: InstanceLease) =>
    accounts.find(account => account.accountId === accountId) as AccountBalance
  const starting = changes.filter(({ runs }) => runs).map(({ lease }) => lease)
  if (starting.length > 0) {
    const ids = starting.map(({ instanceId }) => instanceId)
    await startGpuMeters(tx, accounts, ids)
    await clearFailedStarts(tx, [...new Set(starting.map(accountOf))])
    await scheduleNextActions(tx, accounts, ids, at)
  }
  const stopping = changes.filter(({ runs, isLost, hasEnded }) => !runs && !isLost && !hasEnded)
  if (stopping.length > 0) {
    const ids = stopping.map(({ lease }) => lease.instanceId)
    await stopMeters(tx, accounts, gpuMetersSql(ids))
  }
  for (const { lease, finding, isLost, hasEnded } of changes)
    if (isLost || hasEnded) await endMeters(tx, accountOf(lease), { lease, finding, isLost, hasEnded }, at)
  await countFailedStart(
    tx,
    accounts.filter(({ accountId }) => failed.includes(accountId)),
  )
}

/** Ends the charges of an instance that has ended or is lost, and refunds what was charged afterwards. */
async function endMeters(
  tx: Transaction,
  account: AccountBalance,
  { lease, finding, isLost, hasEnded }: LeasedFinding & Pick<MeterChanges, 'isLost' | 'hasEnded'>,
  at: Date,
): Promise<void> {
  const { instanceId } = lease
  if (hasEnded) {
    const gpu = gpuMetersSql([instanceId])
    const end = endedAtOf(lease, finding.endedAt ?? null, at)
    await stopMeters(tx, account, gpu, end)
    await refundAfter(tx, account, gpu, end, 'The container had ended.')
  }
  if (!isLost) return
  // The machine did not confirm anything after the last observation, so the charges end at that observation.
  const last = finding.seenAt ?? lease.seenAt ?? at
  const all = instanceMetersSql([instanceId])
  await stopMeters(tx, account, all, last)
  await refundAfter(tx, account, all, last, 'The machine did not confirm that the instance still existed.')
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
