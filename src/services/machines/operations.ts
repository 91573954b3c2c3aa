import { compose } from '../compose.ts'
import type { DataDeps } from '../deps.ts'
import { inviteOperations } from './agents/invite.ts'
import { machineChangeOperations } from './change.ts'
import { importOperations } from './import.ts'
import { machineListOperations } from './list.ts'
import { machineOperations } from './machines.ts'
import { marketOperations } from './market-operations.ts'
import { outageOperations } from './outages.ts'

export function createMachineOperations(deps: DataDeps) {
  return {
    machines: compose(
      machineOperations(deps),
      importOperations(deps),
      machineListOperations(deps),
      marketOperations(deps),
      machineChangeOperations(deps),
      outageOperations(deps),
      inviteOperations(deps),
    ),
  }
}
