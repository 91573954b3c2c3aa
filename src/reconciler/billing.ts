import type { Logger } from 'pino'
import type { AccountLease, billingServices } from '../services/billing/due/due.ts'
import { createLoop, type Loop } from './loop.ts'

export type BillingDeps = { billing: ReturnType<typeof billingServices>; log: Logger }

/** Does what is due for the money of accounts. One that could not be looked at is when its lease has run out. */
export function createBillingLoop({ billing, log }: BillingDeps): Loop {
  return createLoop<AccountLease>({
    name: 'billing',
    claim: limit => billing.claim(limit),
    work: lease => billing.perform(lease),
    concurrency: 4,
    log,
  })
}
