import type { ContainerRef } from '../../domain/instances/containers.ts'
import { type Run, runsOf } from './container.ts'
import { simulateStats } from './stats.ts'
import { createSimulatedWorld, type RunStatement } from './world.ts'

type Engines = { all(): Promise<ReadonlyMap<number, unknown>> }

/** What the instances on simulated machines use, for the services. Machines with an engine are real. */
export function createSimulation(query: RunStatement, engines: Engines) {
  const world = createSimulatedWorld(query)
  return {
    realMachines: engines.all,
    statsAt: simulateStats,
    async runsOf({ instanceId }: Pick<ContainerRef, 'instanceId'>): Promise<Run[]> {
      const found = await world.find(instanceId)
      return found ? runsOf(found.container) : []
    },
  }
}
