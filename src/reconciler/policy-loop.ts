import type { Logger } from 'pino'
import type { duePolicyServices, PolicyLease } from '../services/instances/policy/due.ts'
import { createLoop, type Loop } from './loop.ts'

export type PolicyLoopDeps = { policies: ReturnType<typeof duePolicyServices>; log: Logger }

/** Runs due policies of instances. A failed one is retried when its lease expires. */
export function createPolicyLoop({ policies, log }: PolicyLoopDeps): Loop {
  return createLoop<PolicyLease>({
    name: 'policies',
    leaseDue: limit => policies.leaseDue(limit),
    work: lease => policies.perform(lease),
    concurrency: 2,
    log,
  })
}
