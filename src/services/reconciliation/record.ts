// Records the findings of passes.

import type { Database } from '../../database/client.ts'
import { writeTogether } from '../../database/together.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { startFaultOf } from '../../domain/instances/failed-start.ts'
import { isFinal } from '../../domain/instances/states.ts'
import type { MarketMachine } from '../../domain/machines/machines.ts'
import type { BatchWork } from '../batches.ts'
import { lockFreeAccounts } from '../billing/balance.ts'
import { eventWrites, notifyOfEvents } from '../events/events.ts'
import { recordFailedStart } from '../instances/failed-starts.ts'
import { lockFreeMachines, lockMachine } from '../machines/lock.ts'
import { makeInstancesDue } from './due.ts'
import type { LeasedFinding } from './finding.ts'
import { findWaitingInstances, vacateGpus } from './gpus.ts'
import { lockFreeInstances, lockInstances, lockLeases } from './leases.ts'
import { changesMeters, isCommonMeterChange, updateMeters } from './meters.ts'
import { findStillTrue } from './outdated.ts'
import { isQuiet, recordQuiet } from './quiet.ts'
import { type HeldFinding, instanceWrites, lookWrites, statusEvents } from './record-writes.ts'
import { releaseResources } from './removal.ts'
import { type SuspensionChange, updateSuspension } from './suspension.ts'

type Outcome = SuspensionChange | undefined

export function recordWork(database: Database): BatchWork<LeasedFinding, Outcome> {
  return {
    accountOf: ({ lease }) => lease.accountId,
    async many(findings) {
      const recorded = await recordQuiet(database, findings.filter(isQuiet))
      const common = findings.filter(one => !isQuiet(one) && isCommon(one))
      const outcomes = common.length === 0 ? [] : await transaction(database, tx => recordFree(tx, common))
      return new Map([...recorded.map(one => [one, undefined] as const), ...outcomes])
    },
    one: one =>
      transaction(database, async tx => {
        const machine = await lockMachine(tx, one.lease.machineId)
        if (!machine) return undefined
        const waiting = await findWaitingInstances(tx, [one])
        await lockInstances(tx, [one.lease.instanceId, ...waiting.map(({ waitingId }) => waitingId)])
        return (await recordLocked(tx, [one], [machine])).get(one)
      }),
  }
}

/** Whether a finding takes no statements of its own in `recordLocked`. The others are recorded one by one. */
function isCommon(one: LeasedFinding): boolean {
  const { lease, finding } = one
  return !finding.gone && finding.unconfirmed === (lease.unconfirmedAt !== null) && isCommonMeterChange(one)
}

/** Records those findings whose machines, instances and accounts no other transaction has locked. */
async function recordFree(tx: Transaction, findings: readonly LeasedFinding[]): Promise<Map<LeasedFinding, Outcome>> {
  const machines = await lockFreeMachines(tx, [...new Set(findings.map(({ lease }) => lease.machineId))])
  const machineIds = new Set(machines.map(({ id }) => id))
  const onFree = findings.filter(({ lease }) => machineIds.has(lease.machineId))
  const waiting = await findWaitingInstances(tx, onFree)
  const ids = [...onFree.map(({ lease }) => lease.instanceId), ...waiting.map(({ waitingId }) => waitingId)]
  const locked = await lockFreeInstances(tx, ids)
  const heldUp = new Set(waiting.filter(({ waitingId }) => !locked.has(waitingId)).map(({ occupantId }) => occupantId))
  const free = onFree.filter(({ lease: { instanceId } }) => locked.has(instanceId) && !heldUp.has(instanceId))
  // An account that another transaction has locked must not hold up the machines of the others.
  const accounts = await lockFreeAccounts(tx, [
    ...new Set(free.filter(changesMeters).map(({ lease }) => lease.accountId)),
  ])
  const recordable = free.filter(one => !changesMeters(one) || accounts.has(one.lease.accountId))
  return await recordLocked(tx, recordable, machines)
}

/**
 * Records findings of instances that are locked with their machines and with the instances that wait for their GPUs. A finding
 * whose lease has ended is not recorded.
 */
async function recordLocked(
  tx: Transaction,
  findings: readonly LeasedFinding[],
  machines: readonly MarketMachine[],
): Promise<Map<LeasedFinding, Outcome>> {
  // After the machines' locks, which move `tx.at`.
  const { at } = tx
  const generations = await lockLeases(
    tx,
    findings.map(({ lease }) => lease),
  )
  const leased = findings.filter(({ lease }) => generations.has(lease))
  const waiting = await vacateGpus(tx, leased)
  await makeInstancesDue(tx, waiting, at)
  const isLatest = ({ lease }: LeasedFinding) =>
    generations.get(lease) === lease.generation && !waiting.includes(lease.instanceId)
  const latest = leased.filter(isLatest)
  const outdated = leased.filter(one => !isLatest(one))
  const stillTrue = await findStillTrue(
    tx,
    outdated.filter(({ lease }) => !waiting.includes(lease.instanceId)),
  )
  const others = outdated.filter(({ finding }) => stillTrue.every(one => one.finding !== finding))
  const held = [
    ...latest.map((one): HeldFinding => ({ ...one, isCurrent: true, isLatest: true, dueAt: dueAtOf(one, at) })),
    // The change has made a pass due.
    ...stillTrue.map((one): HeldFinding => ({ ...one, isCurrent: true, isLatest: false, dueAt: at })),
    ...others.map((one): HeldFinding => ({ ...one, isCurrent: false, isLatest: false, dueAt: at })),
  ]
  const machineById = new Map(machines.map(machine => [machine.id, machine]))
  const machineOf = ({ lease }: LeasedFinding) => machineById.get(lease.machineId) as MarketMachine
  for (const one of held.filter(({ finding }) => finding.gone))
    machineById.set(one.lease.machineId, await releaseResources(tx, one.lease, machineOf(one), at))
  const written = await writeTogether(
    tx,
    lookWrites(held),
    instanceWrites(held, at),
    eventWrites(statusEvents(held), at),
  )
  notifyOfEvents(tx, written)
  if (written['duePolicies']) tx.notifyAfterCommit('policies')
  if (held.some(({ isCurrent, dueAt }) => !isCurrent || (dueAt !== null && dueAt <= at)))
    tx.notifyAfterCommit('instances')
  const outcomes = new Map<LeasedFinding, Outcome>(findings.map(one => [one, undefined]))
  const current = held.filter(({ isCurrent }) => isCurrent)
  for (const one of current) {
    const original = findings.find(({ finding }) => finding === one.finding) as LeasedFinding
    outcomes.set(original, await updateSuspension(tx, one.lease, one.finding, machineOf(one), at))
  }
  await updateMeters(tx, current, at)
  for (const { lease, finding } of current) {
    const fault = startFaultOf(lease, finding)
    if (fault) await recordFailedStart(tx, { ...lease, fault }, at)
  }
  return outcomes
}

/** An instance that just ended gets another pass at once: its container may still run, and the market must grant its GPUs to others. */
function dueAtOf({ lease, finding }: LeasedFinding, at: Date): Date | null {
  return isFinal(finding.status) && !isFinal(lease.status) ? at : finding.dueAt
}
