import type { Logger } from 'pino'
import type { duePolicyServices, PolicyLease } from '../services/instances/policy/due.ts'
import { createLoop, type Loop } from './loop.ts'

export type PolicyLoopDeps = { policies: ReturnType<typeof duePolicyServices>; log: Logger }

/** Does to instances what was arranged for an instant. One that could not be done is when its lease has run out. */
export function createPolicyLoop({ policies, log }: PolicyLoopDeps): Loop {
  return createLoop<PolicyLease>({
    name: 'policies',
    claim: limit => policies.claimDue(limit),
    work: lease => policies.perform(lease),
    concurrency: 2,
    log,
  })
}
