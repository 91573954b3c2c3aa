// What a gateway does without being asked: its loops run it. No face has it.

import { billingServices } from './billing/due/due.ts'
import { compose } from './compose.ts'
import type { Deps } from './deps.ts'
import { retentionServices } from './events/retention.ts'
import { housekeepingServices } from './housekeeping.ts'
import { policyServices } from './instances/policy/policy.ts'
import { measureServices } from './measures.ts'
import { reconciliationServices } from './reconciliation/reconciliation.ts'
import { deliveryServices } from './webhooks/delivery.ts'

export function createBackground(deps: Deps, eventRetentionDays: number) {
  const { purge: purgeEvents } = retentionServices(deps, eventRetentionDays)
  return {
    reconciliation: reconciliationServices(deps),
    policies: policyServices(deps),
    billing: billingServices(deps, deps.admission),
    deliveries: deliveryServices(deps),
    chores: compose(housekeepingServices(deps), { purgeEvents }),
    measures: measureServices(deps),
  }
}
