// What each step of a plan is, and what becomes of it.

import type { Observed } from '../domain/instances/containers.ts'
import { MachineUnreachable } from '../providers/provider.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import type { ReconcilerDeps } from './deps.ts'
import type { DriverStep } from './plan.ts'

/** A provider that does not answer in time is asked again later. */
const providerTimeoutMs = 10_000

/** What became of a step: it has begun, its GPUs are still in use, or the machine refused, or did not answer. */
export type StepOutcome = { kind: 'begun' | 'waiting' | 'unreachable' } | { kind: 'refused'; error: unknown }

export async function observeContainer(deps: ReconcilerDeps, lease: InstanceLease): Promise<Observed> {
  const signal = leaseSignal(deps, lease)
  try {
    return await deps.provider.observe(lease.instanceId, signal)
  } catch (error) {
    if (isUnreachable(error)) return { state: 'unreachable' }
    throw error
  }
}

export const runStep: Record<DriverStep, (deps: ReconcilerDeps, lease: InstanceLease) => Promise<StepOutcome>> = {
  async ensure(deps, lease) {
    const spec = await deps.reconciliation.loadSpec(lease)
    const signal = leaseSignal(deps, lease)
    return await outcomeOf(deps.provider.ensure(spec, signal))
  },
  async setSshKeys(deps, lease) {
    // The keys that were planned with. Others that came since are found by the next look, which is due then.
    const { instanceId, sshKeys } = lease
    if (!sshKeys) return { kind: 'begun' }
    return await outcomeOf(deps.provider.setSshKeys({ instanceId, sshKeys }, leaseSignal(deps, lease)))
  },
  async start(deps, lease) {
    if (!(await deps.reconciliation.occupyGpus(lease))) return { kind: 'waiting' }
    return await outcomeOf(deps.provider.start(lease.instanceId, leaseSignal(deps, lease)))
  },
  async stop(deps, lease) {
    return await outcomeOf(deps.provider.stop(lease.instanceId, leaseSignal(deps, lease)))
  },
  async remove(deps, lease) {
    return await outcomeOf(deps.provider.remove(lease.instanceId, leaseSignal(deps, lease)))
  },
}

async function outcomeOf(call: Promise<void>): Promise<StepOutcome> {
  return await call.then(
    () => ({ kind: 'begun' as const }),
    (error: unknown) => (isUnreachable(error) ? { kind: 'unreachable' as const } : { kind: 'refused' as const, error }),
  )
}

function isUnreachable(error: unknown): boolean {
  return error instanceof MachineUnreachable || (error instanceof DOMException && error.name === 'TimeoutError')
}

/** A call ends before the lease does: after that, another gateway may be acting on the instance. */
function leaseSignal({ clock }: ReconcilerDeps, { instanceId, leasedUntil }: InstanceLease): AbortSignal {
  const leftMs = leasedUntil.getTime() - clock.latest().getTime()
  if (leftMs <= 0) throw new Error(`The lease of instance ${instanceId} ran out while it was looked at.`)
  return AbortSignal.timeout(Math.min(leftMs, providerTimeoutMs))
}
