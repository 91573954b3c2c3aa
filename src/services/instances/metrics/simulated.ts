// Computes what instances on simulated machines used.

import { machineShareOf } from '../../../domain/instances/containers.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import {
  type InstanceMetrics,
  type MetricsRange,
  meanOf,
  periodStart,
  sampleMs,
} from '../../../domain/instances/metrics.ts'
import type { SimulatedLoad, Simulation } from './port.ts'

/** What is read of an instance for its metrics. */
export type MeasuredInstance = Pick<
  Instance,
  'id' | 'accountId' | 'machineId' | 'numGpus' | 'diskMb' | 'status' | 'statusChangedAt' | 'destroyedAt'
> & {
  launch: Pick<Instance['launch'], 'image'>
  machine: Pick<Instance['machine'], 'cpuCores' | 'cpuRamMb' | 'numGpus'>
}

export function loadOf(instance: MeasuredInstance, upAt = instance.statusChangedAt): SimulatedLoad {
  const { id, launch, numGpus, diskMb, machine } = instance
  return { instanceId: id, image: launch.image, numGpus, diskMb, share: machineShareOf(machine, numGpus), upAt }
}

/** What a running instance uses now. */
export function simulateNewest(simulation: Simulation, instance: MeasuredInstance, at: Date): InstanceMetrics {
  const stats = simulation.statsAt(loadOf(instance), at)
  return meanOf([stats], new Date(at.getTime() - sampleMs), at) as InstanceMetrics
}

/** The means of periods, oldest first. Periods in which the container did not run are left out. */
export async function simulatePast(
  simulation: Simulation,
  instance: MeasuredInstance,
  { lastSeconds, resolutionSeconds }: MetricsRange,
  at: Date,
): Promise<InstanceMetrics[]> {
  const runs = await simulation.runsOf({ machineId: instance.machineId, instanceId: instance.id })
  const lengthMs = resolutionSeconds * 1_000
  const stepMs = Math.min(lengthMs, 60_000)
  const found: InstanceMetrics[] = []
  for (let ms = periodStart(at.getTime() - lastSeconds * 1_000, lengthMs); ms <= at.getTime(); ms += lengthMs) {
    const stats = []
    for (let step = ms; step < ms + lengthMs && step <= at.getTime(); step += stepMs) {
      const run = runs.find(({ begin, end }) => begin.getTime() <= step && (end === null || step < end.getTime()))
      if (run) stats.push(simulation.statsAt(loadOf(instance, run.begin), new Date(step)))
    }
    const mean = meanOf(stats, new Date(ms), new Date(ms + lengthMs))
    if (mean) found.push(mean)
  }
  return found
}
