// What each step of a plan is, and what becomes of it.

import type { Truth } from '../domain/instances/containers.ts'
import { MachineUnreachable } from '../providers/provider.ts'
import type { Lease } from '../services/reconciliation/leases.ts'
import type { Deps } from './deps.ts'
import type { Step } from './plan.ts'

/** A provider that does not answer in time is asked again later. */
const providerTimeoutMs = 10_000

/** What became of a step: it has begun, its GPUs are still in use, or the machine refused, or did not answer. */
export type Outcome = { kind: 'begun' | 'waiting' | 'unreachable' } | { kind: 'refused'; error: unknown }

export async function see(deps: Deps, lease: Lease): Promise<Truth> {
  const signal = timeLimit(deps, lease)
  try {
    return await deps.provider.observe(lease.instanceId, signal)
  } catch (error) {
    if (isUnreachable(error)) return { state: 'unreachable' }
    throw error
  }
}

export const execute: Record<Step, (deps: Deps, lease: Lease) => Promise<Outcome>> = {
  async ensure(deps, lease) {
    const spec = await deps.reconciliation.specOf(lease)
    const signal = timeLimit(deps, lease)
    return await outcomeOf(deps.provider.ensure(spec, signal))
  },
  async authorise(deps, lease) {
    // The keys that were planned with. Others that came since are found by the next look, which is due then.
    const { instanceId, sshKeys } = lease
    if (!sshKeys) return { kind: 'begun' }
    return await outcomeOf(deps.provider.authorise({ instanceId, sshKeys }, timeLimit(deps, lease)))
  },
  async start(deps, lease) {
    if (!(await deps.reconciliation.occupy(lease))) return { kind: 'waiting' }
    return await outcomeOf(deps.provider.start(lease.instanceId, timeLimit(deps, lease)))
  },
  async stop(deps, lease) {
    return await outcomeOf(deps.provider.stop(lease.instanceId, timeLimit(deps, lease)))
  },
  async remove(deps, lease) {
    return await outcomeOf(deps.provider.remove(lease.instanceId, timeLimit(deps, lease)))
  },
}

async function outcomeOf(call: Promise<void>): Promise<Outcome> {
  return await call.then(
    () => ({ kind: 'begun' as const }),
    (error: unknown) => (isUnreachable(error) ? { kind: 'unreachable' as const } : { kind: 'refused' as const, error }),
  )
}

function isUnreachable(error: unknown): boolean {
  return error instanceof MachineUnreachable || (error instanceof DOMException && error.name === 'TimeoutError')
}

/** A call ends before the lease does: after that, another gateway may be acting on the instance. */
function timeLimit({ clock }: Deps, { instanceId, leasedUntil }: Lease): AbortSignal {
  const leftMs = leasedUntil.getTime() - clock.latest().getTime()
  if (leftMs <= 0) throw new Error(`The lease of instance ${instanceId} ran out while it was looked at.`)
  return AbortSignal.timeout(Math.min(leftMs, providerTimeoutMs))
}
