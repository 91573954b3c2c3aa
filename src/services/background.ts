// The work that a gateway's loops do. No face offers it.

import { dueBillingServices } from './billing/due/due.ts'
import { compose } from './compose.ts'
import type { Deps } from './deps.ts'
import { retentionServices } from './events/retention.ts'
import { housekeepingServices } from './housekeeping.ts'
import { sampleChores } from './instances/metrics/chores.ts'
import { samplingServices } from './instances/metrics/sampling.ts'
import { duePolicyServices } from './instances/policy/due.ts'
import { engineChangeServices } from './machines/engines/changes.ts'
import { reliabilityChores } from './machines/reliability.ts'
import { clockStepChores } from './reconciliation/clock-steps.ts'
import { reconciliationServices } from './reconciliation/reconciliation.ts'
import { deliveryServices } from './webhooks/delivery.ts'

export function createBackground(deps: Deps, eventRetentionDays: number, countClockBack: () => number) {
  return {
    reconciliation: reconciliationServices(deps),
    policies: duePolicyServices(deps),
    billing: dueBillingServices(deps, deps.admission),
    deliveries: deliveryServices(deps),
    chores: compose(
      housekeepingServices(deps),
      retentionServices(deps, eventRetentionDays),
      sampleChores(deps),
      reliabilityChores(deps),
      clockStepChores(deps, countClockBack),
    ),
    engineChanges: engineChangeServices(deps),
    sampling: samplingServices(deps),
  }
}
