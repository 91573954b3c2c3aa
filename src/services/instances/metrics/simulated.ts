// Computes what instances on simulated machines used.

import { machineShareOf } from '../../../domain/instances/containers.ts'
import {
  type InstanceMetrics,
  type MetricsRange,
  meanOf,
  periodStart,
  type SimulatedLoad,
  sampleMs,
} from '../../../domain/instances/metrics.ts'
import type { MeasuredInstance } from './measured.ts'
import type { Run, Simulation } from './port.ts'

const minuteMs = 60_000

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
  const runs = await simulation.runsOf({ instanceId: instance.id })
  const lengthMs = resolutionSeconds * 1_000
  const found: InstanceMetrics[] = []
  for (let ms = periodStart(at.getTime() - lastSeconds * 1_000, lengthMs); ms <= at.getTime(); ms += lengthMs) {
    const end = Math.min(ms + lengthMs, at.getTime() + 1)
    const stats = runs.flatMap(run =>
      instantsOf(run, ms, end).map(instant => simulation.statsAt(loadOf(instance, run.begin), instant)),
    )
    const mean = meanOf(stats, new Date(ms), new Date(ms + lengthMs))
    if (mean) found.push(mean)
  }
  return found
}

/** The begin of a run in a period, and each minute after it. The load of a simulated container changes each minute. */
function instantsOf({ begin, end }: Run, periodBegin: number, periodEnd: number): Date[] {
  const instants: Date[] = []
  const until = Math.min(periodEnd, end?.getTime() ?? periodEnd)
  for (let ms = Math.max(periodBegin, begin.getTime()); ms < until; ms = periodStart(ms, minuteMs) + minuteMs) {
    instants.push(new Date(ms))
  }
  return instants
}
