import type { Logger } from 'pino'
import type { PolicyLease, policyServices } from '../services/instances/policy/policy.ts'
import { createLoop, type Loop } from './loop.ts'

export type PolicyDeps = { policies: ReturnType<typeof policyServices>; log: Logger }

/** Does to instances what was arranged for an instant. One that could not be done is when its lease has run out. */
export function createPolicyLoop({ policies, log }: PolicyDeps): Loop {
  return createLoop<PolicyLease>({
    name: 'policies',
    claim: limit => policies.claim(limit),
    work: lease => policies.perform(lease),
    concurrency: 2,
    log,
  })
}
