// One pass over one instance: observe, plan and act until only waiting is left, then record the finding.
//
// One gateway at a time acts on an instance. The gateway has a lease, and every call ends before the lease does. A container
// starts only after its GPUs were marked as in use under the lease. If a machine acts on a late command, the next pass
// (every container gets one) sees it and corrects it.

import type { Observed } from '../domain/instances/containers.ts'
import { wantsGpus } from '../domain/instances/instances.ts'
import type { Reason } from '../domain/reasons.ts'
import { GpusTaken, PortTaken } from '../providers/provider.ts'
import type { Finding } from '../services/reconciliation/finding.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import { failSpan } from '../traces/spans.ts'
import type { ReconcilerDeps } from './deps.ts'
import { addMs, findingOf, retryAt } from './finding.ts'
import { instanceStateOf } from './instance-state.ts'
import { takeOtherPorts } from './other-ports.ts'
import { makePlan, type Plan, type ProviderStep } from './plan.ts'
import { gpusTaken, machineError, waitingForGpus } from './reasons.ts'
import { observeContainer, runStep } from './steps.ts'
import { createWitness } from './witness.ts'

/** A pass takes far fewer steps, unless there is a bug. */
const maxSteps = 10
/** Time to the next pass while another container may still use the GPUs. */
const gpuWaitMs = 10_000

export async function reconcile(deps: ReconcilerDeps, lease: InstanceLease): Promise<void> {
  const { reconciliation, log, clock, limits } = deps
  try {
    if (wantsGpus(lease) !== lease.holdsGpus && (await reconciliation.catchUpMarket(lease))) return
    await runPass(deps, lease)
  } catch (error) {
    failSpan(error)
    const { instanceId, attempts } = lease
    log.warn(
      { err: error, instanceId: String(instanceId), attempts },
      'A pass over an instance failed. The gateway tries again.',
    )
    await reconciliation.postpone(lease, retryAt(lease, instanceStateOf(lease, clock), limits, clock.now()))
  }
}

async function runPass(deps: ReconcilerDeps, lease: InstanceLease): Promise<void> {
  const { limits, clock } = deps
  let instance = instanceStateOf(lease, clock)
  let lastStep: ProviderStep | undefined
  const witness = createWitness()
  const findingFor = (observed: Observed, plan: Plan): Finding =>
    witness.complete(findingOf(instance, observed, plan, clock.now()))
  for (let stepCount = 1; stepCount <= maxSteps; stepCount += 1) {
    const askedAt = clock.now()
    const observed = await observeContainer(deps, lease)
    witness.sees(observed, askedAt)
    const plan = makePlan(instance, observed, limits)
    const { step } = plan
    // The same step again means that it has begun and is not visible yet.
    if (step === null || step === lastStep) return await record(deps, lease, findingFor(observed, plan))
    const outcome = await runStep[step](deps, lease)
    if (outcome.kind !== 'waiting') witness.tries(step)
    switch (outcome.kind) {
      case 'begun':
        lastStep = step
        // From here on, a container that ends counts as exited, not as stopped: see `canStartAfterExit`.
        if (step === 'start') instance = { ...instance, status: 'loading', loadingMs: 0, refused: false }
        break
      case 'waiting': {
        const waitingPlan = { step: null, status: 'scheduling' as const, reason: waitingForGpus, settled: false }
        return await record(deps, lease, { ...findingFor(observed, waitingPlan), dueAt: addMs(clock.now(), gpuWaitMs) })
      }
      case 'unreachable': {
        const unreachable: Observed = { state: 'unreachable' }
        return await record(deps, lease, findingFor(unreachable, makePlan(instance, unreachable, limits)))
      }
      case 'refused': {
        const reason = await handleRefusal(deps, lease, { step, error: outcome.error })
        return await record(deps, lease, { ...findingFor(observed, { ...plan, reason }), needsRetry: true })
      }
    }
  }
  throw new Error(`Instance ${lease.instanceId} did not come to rest within ${maxSteps} steps.`)
}

/** Returns the reason for the renter. */
async function handleRefusal(
  deps: ReconcilerDeps,
  lease: InstanceLease,
  { step, error }: { step: ProviderStep; error: unknown },
): Promise<Reason> {
  const { instanceId, machineId } = lease
  deps.log.warn({ err: error, instanceId: String(instanceId), machineId, step }, 'A machine refused a step.')
  if (error instanceof PortTaken) await takeOtherPorts(deps, lease)
  return error instanceof GpusTaken ? gpusTaken : machineError
}

async function record(
  { reconciliation, limits, log, clock }: ReconcilerDeps,
  lease: InstanceLease,
  finding: Finding,
): Promise<void> {
  const { instanceId, machineId, unreachableAt } = lease
  const logFields = { instanceId: String(instanceId), machineId }
  if (!finding.answered && unreachableAt === null) log.warn(logFields, 'A machine does not answer.')
  const dueAt = finding.needsRetry ? retryAt(lease, instanceStateOf(lease, clock), limits, clock.now()) : finding.dueAt
  const suspension = await reconciliation.record(lease, { ...finding, dueAt })
  if (suspension === 'suspended')
    log.warn(logFields, 'A machine does not confirm that a container is down. It takes no new rentals until it does.')
  if (suspension === 'cleared')
    log.info(logFields, 'A machine has confirmed that its containers are down. It takes new rentals again.')
}
