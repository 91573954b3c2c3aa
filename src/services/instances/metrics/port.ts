// The port to simulated machines. What they use is computed, so it is neither sampled nor kept.

import type { ContainerRef } from '../../../domain/instances/containers.ts'
import type { ContainerStats, SimulatedLoad } from '../../../domain/instances/metrics.ts'

/** A time in which a container ran. `end` is null while it runs. */
export type Run = { begin: Date; end: Date | null }

export type Simulation = {
  /** The machines that are real. All others are simulated. */
  realMachines(): Promise<{ has(machineId: number): boolean }>
  /** What a running container uses at an instant. */
  statsAt(load: SimulatedLoad, at: Date): ContainerStats
  /** The times in which a container ran, oldest first. */
  runsOf(container: Pick<ContainerRef, 'instanceId'>): Promise<Run[]>
}
