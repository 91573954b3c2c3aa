import { accountOperations, accountServices } from './accounts.ts'
import { apiKeyServices } from './api-keys.ts'
import type { Deps } from './deps.ts'
import { gpuModelServices } from './gpu-models.ts'
import { machineOperations, machineServices } from './machines.ts'
import { offerServices } from './offers.ts'

/** Everything that the faces can ask for. */
export type Services = ReturnType<typeof createServices>
export function createServices(deps: Deps) {
  return {
    accounts: accountServices(deps),
    apiKeys: apiKeyServices(deps),
    gpuModels: gpuModelServices(deps),
    machines: machineServices(deps),
    offers: offerServices(deps),
  }
}

/** What operators do from the command line, and the demo market at first start. No face has it. */
export type Operations = ReturnType<typeof createOperations>
export function createOperations(deps: Deps) {
  return { accounts: accountOperations(deps), machines: machineOperations(deps) }
}
