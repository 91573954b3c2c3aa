import type { Logger } from 'pino'
import type { AccountLease, dueBillingServices } from '../services/billing/due/due.ts'
import { createLoop, type Loop } from './loop.ts'

export type BillingLoopDeps = { billing: ReturnType<typeof dueBillingServices>; log: Logger }

/** Does what is due for the money of accounts. One that could not be looked at is when its lease has run out. */
export function createBillingLoop({ billing, log }: BillingLoopDeps): Loop {
  return createLoop<AccountLease>({
    name: 'billing',
    claim: limit => billing.claimDue(limit),
    work: lease => billing.perform(lease),
    concurrency: 4,
    log,
  })
}
