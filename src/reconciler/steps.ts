// Observes containers and runs the steps of plans.

import type { Observed } from '../domain/instances/containers.ts'
import { MachineUnreachable } from '../providers/provider.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import type { ReconcilerDeps } from './deps.ts'
import type { ProviderStep } from './plan.ts'

/** A call that takes longer counts as unreachable, and is retried later. */
const providerTimeoutMs = 10_000

/** A step has begun, waits for GPUs that are in use, got no answer from the machine, or was refused. */
type StepOutcome = { kind: 'begun' | 'waiting' | 'unreachable' } | { kind: 'refused'; error: unknown }

export async function observeContainer(deps: ReconcilerDeps, lease: InstanceLease): Promise<Observed> {
  const signal = leaseSignal(deps, lease)
  try {
    return await deps.provider.observe(lease, signal)
  } catch (error) {
    if (isUnreachable(error)) return { state: 'unreachable' }
    throw error
  }
}

export const runStep: Record<ProviderStep, (deps: ReconcilerDeps, lease: InstanceLease) => Promise<StepOutcome>> = {
  async ensure(deps, lease) {
    const spec = await deps.reconciliation.loadSpec(lease)
    const signal = leaseSignal(deps, lease)
    return await outcomeOf(deps.provider.ensure(spec, signal))
  },
  async setSshKeys(deps, lease) {
    // The keys of the lease, as planned. A later change of keys makes another pass due.
    const { sshKeys } = lease
    if (!sshKeys) return { kind: 'begun' }
    return await outcomeOf(deps.provider.setSshKeys(lease, sshKeys, leaseSignal(deps, lease)))
  },
  async start(deps, lease) {
    if (!(await deps.reconciliation.occupyGpus(lease))) return { kind: 'waiting' }
    return await outcomeOf(deps.provider.start(lease, leaseSignal(deps, lease)))
  },
  async stop(deps, lease) {
    return await outcomeOf(deps.provider.stop(lease, leaseSignal(deps, lease)))
  },
  async remove(deps, lease) {
    return await outcomeOf(deps.provider.remove(lease, leaseSignal(deps, lease)))
  },
}

async function outcomeOf(call: Promise<void>): Promise<StepOutcome> {
  return await call.then(
    () => ({ kind: 'begun' as const }),
    (error: unknown) => (isUnreachable(error) ? { kind: 'unreachable' as const } : { kind: 'refused' as const, error }),
  )
}

/** Whether a call says that its machine does not answer, or was given up after its time. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof MachineUnreachable || (error instanceof DOMException && error.name === 'TimeoutError')
}

/** Ends a call before the lease ends: after that, another gateway may act on the instance. */
function leaseSignal({ clock }: ReconcilerDeps, { instanceId, leasedUntil }: InstanceLease): AbortSignal {
  const leftMs = leasedUntil.getTime() - clock.latest().getTime()
  if (leftMs <= 0) throw new Error(`The lease of instance ${instanceId} ran out during a pass.`)
  return AbortSignal.timeout(Math.min(leftMs, providerTimeoutMs))
}
