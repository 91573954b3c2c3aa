// What the engine counts for a container, and what follows from it.

import type { ContainerStats } from '../../../domain/instances/metrics.ts'

/** Counts that an engine does not have may be absent. */
export type EngineStats = {
  /** When the engine read the counts. */
  read: string
  cpu_stats?: { cpu_usage?: { total_usage?: number } }
  memory_stats?: { usage?: number; stats?: Record<string, number> }
  networks?: Record<string, { rx_bytes: number; tx_bytes: number }>
}

/** The CPU time that a container had used at an instant, in ns and ms. */
export type CpuTime = { usedNs: number; atMs: number }

/** A mean over a longer time says little about now. */
const maxMeanMs = 120_000

export function cpuTimeOf({ read, cpu_stats }: EngineStats): CpuTime | undefined {
  const usedNs = cpu_stats?.cpu_usage?.total_usage
  const atMs = Date.parse(read)
  return usedNs === undefined || Number.isNaN(atMs) ? undefined : { usedNs, atMs }
}

/** The mean number of cores in use since the time before. Null without one, and if the container was started again since. */
export function cpuCoresOf(now: CpuTime | undefined, before: CpuTime | undefined): number | null {
  if (!now || !before) return null
  const ms = now.atMs - before.atMs
  if (ms <= 0 || ms > maxMeanMs || now.usedNs < before.usedNs) return null
  return (now.usedNs - before.usedNs) / 1_000_000 / ms
}

/** Without the files that the kernel keeps in memory and can drop, as `docker stats` counts. */
export function memoryOf({ memory_stats }: EngineStats): number | null {
  const { usage, stats = {} } = memory_stats ?? {}
  if (usage === undefined) return null
  // The names in version 1 and 2 of cgroups.
  const droppable = stats['total_inactive_file'] ?? stats['inactive_file'] ?? 0
  return Math.max(0, usage - droppable)
}

export function trafficOf({ networks }: EngineStats): Pick<ContainerStats, 'receivedBytes' | 'sentBytes'> {
  if (!networks) return { receivedBytes: null, sentBytes: null }
  const sum = (name: 'rx_bytes' | 'tx_bytes') => Object.values(networks).reduce((total, one) => total + one[name], 0)
  return { receivedBytes: sum('rx_bytes'), sentBytes: sum('tx_bytes') }
}
