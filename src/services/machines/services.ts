import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { gpuModelServices } from './gpu-models.ts'
import { hostedMachineServices } from './hosted.ts'
import { machineServices } from './machines.ts'
import { renterCostServices } from './renter-costs.ts'

export function createMachineServices(deps: Deps) {
  return {
    gpuModels: gpuModelServices(deps),
    machines: compose(machineServices(deps), hostedMachineServices(deps), renterCostServices(deps)),
  }
}
