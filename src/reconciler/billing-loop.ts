import type { Logger } from 'pino'
import type { AccountLease, dueBillingServices } from '../services/billing/due/due.ts'
import { createLoop, type Loop } from './loop.ts'

export type BillingLoopDeps = { billing: ReturnType<typeof dueBillingServices>; log: Logger }

/** Runs due billing actions of accounts. A failed one is retried when its lease expires. */
export function createBillingLoop({ billing, log }: BillingLoopDeps): Loop {
  return createLoop<AccountLease>({
    name: 'billing',
    leaseDue: limit => billing.leaseDue(limit),
    work: lease => billing.perform(lease),
    concurrency: 4,
    log,
  })
}
