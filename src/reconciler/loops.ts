// The loops that work on what is due. If a pass over an instance throws, its next pass is postponed (`postpone`). Any
// other item whose work throws is retried when its lease expires.

import type { Logger } from 'pino'
import type { dueBillingServices } from '../services/billing/due/due.ts'
import type { AccountLease } from '../services/billing/due/quiet.ts'
import type { duePolicyServices, PolicyLease } from '../services/instances/policy/due.ts'
import type { InstanceLease } from '../services/reconciliation/leases.ts'
import type { ReconcilerDeps } from './deps.ts'
import { createLoop, type Loop } from './loop.ts'
import { reconcile } from './reconcile.ts'

/** Passes that run at once. Most wait for a machine, and what they ask of the database is sent together. */
const maxConcurrentPasses = 100

export function createInstanceLoop(deps: ReconcilerDeps): Loop {
  const { reconciliation, log } = deps
  return createLoop<InstanceLease>({
    name: 'instances',
    leaseDue: (limit, busy) => reconciliation.leaseDue(limit, busy),
    leasesAll: true,
    work: lease => reconcile(deps, lease),
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
    concurrency: maxConcurrentAccounts,
    restMs: 100,
    log,
  })
}
