// What instances use of their machines: as it is measured, and as means over periods.

import { type Issue, invalidInput } from '../errors.ts'
import type { MachineShare } from './containers.ts'

/** What a running container uses at an instant. Null is what the machine does not say. */
export type ContainerStats = {
  instanceId: bigint
  /** CPU cores in use, on average since the time before: 1.5 is one and a half. */
  cpuCores: number | null
  memoryBytes: number | null
  /** What the container has written to its own disk, without volumes. */
  diskBytes: number | null
  /** Network traffic since the container started. */
  receivedBytes: number | null
  sentBytes: number | null
  /** By the index that the instance itself gives its GPUs. */
  gpus: GpuStats[]
}

export type GpuStats = {
  /** Percent of the time in which the GPU was busy, 0 to 100. */
  utilization: number | null
  memoryMb: number | null
}

/** What the use of a simulated container follows from, besides the time. */
export type SimulatedLoad = {
  instanceId: bigint
  image: string
  numGpus: number
  diskMb: number
  share: MachineShare | null
  /** When the container was started. */
  upAt: Date
}

/** What an instance used in a period: means, and the traffic at its end. */
export type InstanceMetrics = {
  startsAt: Date
  endsAt: Date
  cpuCores: number | null
  memoryMb: number | null
  diskMb: number | null
  receivedMb: number | null
  sentMb: number | null
  gpus: GpuStats[]
}

/** Instances are measured at this interval. */
export const sampleMs = 15_000
/** Samples are kept for at least an hour, and means of minutes for a week. */
export const keptSamplesMs = 3_600_000
export const keptMinutesMs = 7 * 86_400_000

/** The last `lastSeconds`, in periods of `resolutionSeconds`. */
export type MetricsRange = { lastSeconds: number; resolutionSeconds: number }

export const maxPoints = 1_440
export const maxLastSeconds = keptMinutesMs / 1_000
export const minResolutionSeconds = sampleMs / 1_000
const maxFineSeconds = keptSamplesMs / 1_000

export function checkMetricsRange(range: MetricsRange): void {
  const issues = metricsRangeIssues(range)
  if (issues.length > 0) throw invalidInput(issues)
}

function metricsRangeIssues({ lastSeconds, resolutionSeconds }: MetricsRange): Issue[] {
  const last = (message: string): Issue[] => [{ path: 'lastSeconds', message }]
  const resolution = (message: string): Issue[] => [{ path: 'resolutionSeconds', message }]
  if (lastSeconds < minResolutionSeconds || lastSeconds > maxLastSeconds)
    return last(`must be from ${minResolutionSeconds} to ${maxLastSeconds} (7 days), not ${lastSeconds}.`)
  if (resolutionSeconds < minResolutionSeconds || resolutionSeconds > maxLastSeconds)
    return resolution(`must be from ${minResolutionSeconds} to ${maxLastSeconds}, not ${resolutionSeconds}.`)
  if (resolutionSeconds % minResolutionSeconds !== 0)
    return resolution(`must be a multiple of ${minResolutionSeconds}, not ${resolutionSeconds}.`)
  if (resolutionSeconds < 60 && lastSeconds > maxFineSeconds)
    return resolution(
      `must be at least 60 if lastSeconds is more than ${maxFineSeconds}: older samples are means of minutes.`,
    )
  if (resolutionSeconds > 60 && resolutionSeconds % 60 !== 0)
    return resolution(`must be 15, 30, 45 or whole minutes, not ${resolutionSeconds}.`)
  return pointCount({ lastSeconds, resolutionSeconds }) > maxPoints
    ? resolution(`must be at least ${Math.ceil(lastSeconds / maxPoints)}: an answer has at most ${maxPoints} points.`)
    : []
}

export function pointCount({ lastSeconds, resolutionSeconds }: MetricsRange): number {
  return Math.ceil(lastSeconds / resolutionSeconds)
}

/** The begin of the period that contains an instant. Periods are aligned to whole multiples of their length. */
export function periodStart(ms: number, lengthMs: number): number {
  return Math.floor(ms / lengthMs) * lengthMs
}

const mb = 1_000_000

/** The means of some stats, and the traffic of the last one. Undefined without any. */
export function meanOf(stats: readonly ContainerStats[], startsAt: Date, endsAt: Date): InstanceMetrics | undefined {
  const last = stats.at(-1)
  if (!last) return undefined
  return {
    ...{ startsAt, endsAt, cpuCores: mean(stats.map(({ cpuCores }) => cpuCores)) },
    memoryMb: inMb(mean(stats.map(({ memoryBytes }) => memoryBytes))),
    diskMb: inMb(mean(stats.map(({ diskBytes }) => diskBytes))),
    receivedMb: inMb(last.receivedBytes),
    sentMb: inMb(last.sentBytes),
    gpus: last.gpus.map((_, index) => ({
      utilization: mean(stats.map(({ gpus }) => gpus[index]?.utilization ?? null)),
      memoryMb: mean(stats.map(({ gpus }) => gpus[index]?.memoryMb ?? null)),
    })),
  }
}

export function inMb(bytes: number | bigint | null): number | null {
  return bytes === null ? null : Number(bytes) / mb
}

function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}

/** The mean load of an instance's GPUs, in percent. Null if no GPU says its load. */
export function meanGpuUtilization({ gpus }: Pick<InstanceMetrics, 'gpus'>): number | null {
  return mean(gpus.map(({ utilization }) => utilization))
}
