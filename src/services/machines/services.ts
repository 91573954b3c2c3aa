import { compose } from '../compose.ts'
import type { Deps } from '../deps.ts'
import { earningServices } from './earnings.ts'
import { gpuModelServices } from './gpu-models.ts'
import { hostedMachineServices } from './hosted.ts'
import { machineServices } from './machines.ts'

export function createMachineServices(deps: Deps) {
  return {
    gpuModels: gpuModelServices(deps),
    machines: compose(machineServices(deps), hostedMachineServices(deps), earningServices(deps)),
  }
}
