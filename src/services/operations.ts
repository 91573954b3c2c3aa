// The functions behind the operator's commands and the demo market. No face offers them. An `Operation` of
// domain/accounts/permissions is something else: what a permission allows.

import { createAccountOperations } from './accounts/operations.ts'
import { compose } from './compose.ts'
import type { DataDeps } from './deps.ts'
import { createEventOperations } from './events/operations.ts'
import { createInstanceOperations } from './instances/operations.ts'
import { createMachineOperations } from './machines/operations.ts'

export type Operations = ReturnType<typeof createOperations>

export function createOperations(deps: DataDeps) {
  return compose(
    createAccountOperations(deps),
    createInstanceOperations(deps),
    createMachineOperations(deps),
    createEventOperations(deps),
  )
}
