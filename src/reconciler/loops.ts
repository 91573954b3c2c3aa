// The loops that work on what is due. If a pass over an instance throws, its next pass is postponed (`postpone`). Any
// other item whose work throws is retried when its lease expires.

import type { Logger } from 'pino'
import { sampleMs } from '../domain/instances/metrics.ts'
import type { Provider } from '../providers/provider.ts'
import type { dueBillingServices } from '../services/billing/due/due.ts'
import type { AccountLease } from '../services/billing/due/quiet.ts'
import type { samplingServices } from '../services/instances/metrics/sampling.ts'
import type { duePolicyServices } from '../services/instances/policy/due.ts'
import type { PolicyLease } from '../services/instances/policy/lease.ts'
import type { engineServices } from '../services/machines/engines/engines.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import type { ReconcilerDeps } from './deps.ts'
import { createLoop, type Loop } from './loop.ts'
import { reconcile } from './reconcile.ts'
import { isUnreachable } from './steps.ts'

/** Passes that run at once. Most wait for a machine, and what they ask of the database is sent together. */
const maxConcurrentPasses = 100

export function createInstanceLoop(deps: ReconcilerDeps): Loop {
  const { reconciliation, log } = deps
  return createLoop<InstanceLease>({
    name: 'instances',
    leaseDue: (limit, busy) => reconciliation.leaseDue(limit, busy),
    leasesAll: true,
    work: lease => reconcile(deps, lease),
    describe: ({ instanceId, machineId }) => ({
      'berth.instance.id': String(instanceId),
      'berth.machine.id': machineId,
    }),
    concurrency: maxConcurrentPasses,
    // An image is pulled for seconds: nobody notices this, and rentals of that time share their passes. A gateway whose instances
    // only run leases those that are due twice a second.
    restMs: 50,
    settleMs: 500,
    log,
  })
}

type PolicyLoopDeps = { policies: ReturnType<typeof duePolicyServices>; log: Logger }

/** Stops and destroys instances as their policies say. */
export function createPolicyLoop({ policies, log }: PolicyLoopDeps): Loop {
  return createLoop<PolicyLease>({
    name: 'policies',
    leaseDue: limit => policies.leaseDue(limit),
    leasesAll: true,
    work: lease => policies.perform(lease),
    describe: ({ instanceId }) => ({ 'berth.instance.id': String(instanceId) }),
    concurrency: 2,
    log,
  })
}

type BillingLoopDeps = { billing: ReturnType<typeof dueBillingServices>; log: Logger }

/** Most accounts have nothing due but their next pass, which is scheduled for all together. */
const maxConcurrentAccounts = 32

/** Charges accounts, and acts when credit or a limit ends. */
export function createBillingLoop({ billing, log }: BillingLoopDeps): Loop {
  return createLoop<AccountLease>({
    name: 'billing',
    leaseDue: limit => billing.leaseDue(limit),
    leasesAll: true,
    work: lease => billing.perform(lease),
    describe: ({ accountId }) => ({ 'berth.account.id': accountId }),
    concurrency: maxConcurrentAccounts,
    restMs: 100,
    log,
  })
}

type SamplingLoopDeps = {
  sampling: ReturnType<typeof samplingServices>
  engines: Pick<ReturnType<typeof engineServices>, 'all'>
  provider: Pick<Provider, 'stats'>
  now: () => Date
  log: Logger
}

/** Less than the time until a machine is due again. */
const statsTimeoutMs = 10_000

/** Stands for all simulated machines. */
const simulatedMachines = 0

/**
 * Samples what the instances on real machines use. Of simulated machines, it is computed, and only looked at for instances
 * that are to stop when they are idle.
 */
export function createSamplingLoop({ sampling, engines, provider, now, log }: SamplingLoopDeps): Loop {
  let lookedAt = Number.NEGATIVE_INFINITY

  function simulatedDue(): number[] {
    const at = now().getTime()
    // Absolute, since the clock may have been set back.
    if (Math.abs(at - lookedAt) < sampleMs) return []
    lookedAt = at
    return [simulatedMachines]
  }

  return createLoop<number>({
    name: 'sampling',
    async leaseDue(limit) {
      // Without real machines, the database is not asked for them.
      const real = (await engines.all()).size === 0 ? [] : await sampling.claimDue(limit)
      return real.length < limit ? [...real, ...simulatedDue()] : real
    },
    async work(machineId) {
      if (machineId === simulatedMachines) return await sampling.noteSimulatedIdle()
      try {
        await sampling.record(machineId, await provider.stats(machineId, AbortSignal.timeout(statsTimeoutMs)))
      } catch (error) {
        // A silent machine is reported once, where its engine is followed.
        if (!isUnreachable(error)) throw error
      }
    },
    describe: machineId => ({ 'berth.machine.id': machineId }),
    concurrency: 16,
    pollMs: 3_000,
    log,
  })
}
