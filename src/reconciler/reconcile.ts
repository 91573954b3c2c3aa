// One look at one instance: see, plan, act, until nothing is left to do but wait; then write down what was seen.
//
// One gateway at a time acts on an instance. Its lease sees to that, and that every call ends before the lease does;
// nothing starts without its GPUs being marked as in use under the lease. What a machine still does that was told too
// late is found by the next look, which there is for every container, and put right there.

import type { Observed } from '../domain/instances/containers.ts'
import { wantsGpus } from '../domain/instances/instances.ts'
import type { Finding } from '../services/reconciliation/finding.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import type { ReconcilerDeps } from './deps.ts'
import { addMs, desiredOf, findingOf, retryAt } from './finding.ts'
import { type DriverStep, makePlan, type Plan } from './plan.ts'
import { machineError, waitingForGpus } from './reasons.ts'
import { observeContainer, runStep } from './steps.ts'

/** Looking and acting in turns comes to an end long before this, or there is a bug. */
const maxSteps = 10
const gpuWaitMs = 10_000

export async function reconcile(deps: ReconcilerDeps, lease: InstanceLease): Promise<void> {
  const { reconciliation, log, clock, limits } = deps
  try {
    if (wantsGpus(lease) !== lease.granted && (await reconciliation.updateMarket(lease))) return
    await runPass(deps, lease)
  } catch (error) {
    const { instanceId, attempts } = lease
    log.warn({ err: error, instanceId: String(instanceId), attempts }, 'An instance could not be looked at.')
    await reconciliation.postpone(lease, retryAt(lease, desiredOf(lease, clock.now()), limits, clock.now()))
  }
}

async function runPass(deps: ReconcilerDeps, lease: InstanceLease): Promise<void> {
  const { limits, clock } = deps
  let desired = desiredOf(lease, clock.now())
  let last: DriverStep | undefined
  let started = false
  let seenAt: Date | null = null
  /** Where it was told to start, its GPUs stay its own until another look: what begins may not be seen at once. */
  const findingFor = (observed: Observed, next: Plan): Finding => {
    const finding = findingOf(desired, observed, next, clock.now())
    return { ...finding, seenAt, inactive: finding.inactive && !started }
  }
  for (let turn = 1; turn <= maxSteps; turn += 1) {
    const askedAt = clock.now()
    const observed = await observeContainer(deps, lease)
    if (observed.state !== 'unreachable') seenAt = askedAt
    const next = makePlan(desired, observed, limits)
    const [step] = next.steps
    // What was begun and cannot be seen yet takes its time.
    if (step === undefined || step === last) return await record(deps, lease, findingFor(observed, next))
    const outcome = await runStep[step](deps, lease)
    // It may have begun before it failed.
    if (step === 'start' && outcome.kind !== 'waiting') started = true
    switch (outcome.kind) {
      case 'begun':
        last = step
        // What ends after it was started here ended by itself, and is not started once more.
        if (step === 'start') desired = { ...desired, status: 'loading', loadingMs: 0, refused: false }
        break
      case 'waiting': {
        const rest = { steps: [], status: 'scheduling' as const, reason: waitingForGpus, settled: false }
        return await record(deps, lease, { ...findingFor(observed, rest), dueAt: addMs(clock.now(), gpuWaitMs) })
      }
      case 'unreachable': {
        const unseen: Observed = { state: 'unreachable' }
        return await record(deps, lease, findingFor(unseen, makePlan(desired, unseen, limits)))
      }
      case 'refused': {
        const { instanceId, machineId } = lease
        const about = { err: outcome.error, instanceId: String(instanceId), machineId, step }
        deps.log.warn(about, 'A machine did not do what it was told.')
        return await record(deps, lease, { ...findingFor(observed, { ...next, reason: machineError }), failed: true })
      }
    }
  }
  throw new Error(`Instance ${lease.instanceId} did not come to rest in ${maxSteps} turns.`)
}

async function record(
  { reconciliation, limits, log, clock }: ReconcilerDeps,
  lease: InstanceLease,
  finding: Finding,
): Promise<void> {
  const { instanceId, machineId, unreachableAt } = lease
  const about = { instanceId: String(instanceId), machineId }
  if (!finding.answered && unreachableAt === null) log.warn(about, 'A machine does not answer.')
  const dueAt = finding.failed ? retryAt(lease, desiredOf(lease, clock.now()), limits, clock.now()) : finding.dueAt
  const machine = await reconciliation.record(lease, { ...finding, dueAt })
  if (machine === 'suspended')
    log.warn(about, 'A machine does not confirm that a container is down: nothing new is rented on it.')
  if (machine === 'cleared') log.info(about, 'A machine has confirmed what it owed: it can be rented again.')
}
