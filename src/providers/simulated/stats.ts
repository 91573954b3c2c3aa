// What a simulated container uses. The figures follow from its id and the time, so that all gateways show the same, and
// nothing has to be measured or kept.

import type { ContainerStats, SimulatedLoad } from '../../domain/instances/metrics.ts'
import type { Container } from './container.ts'
import { isIdle } from './script.ts'

const minuteMs = 60_000
const mb = 1_000_000

/** The load of each GPU in percent: another number each minute. The log of the container prints the same. */
export function busyPercent({ instanceId, image }: Pick<SimulatedLoad, 'instanceId' | 'image'>, ms: number): number {
  if (isIdle(image)) return 0
  const minute = Math.floor(ms / minuteMs)
  return 40 + ((minute * 37 + Number(instanceId % 55n)) % 55)
}

export function loadOf(instanceId: bigint, { made, upAt }: Container): SimulatedLoad {
  const { image, gpus, diskMb, share } = made
  return { instanceId, image, numGpus: gpus.length, diskMb, share, upAt: upAt ?? new Date(0) }
}

/** What a running container uses at an instant. */
export function simulateStats(load: SimulatedLoad, at: Date): ContainerStats {
  const { instanceId, numGpus, diskMb, share, upAt } = load
  const busy = busyPercent(load, at.getTime())
  const minutes = Math.max(0, Math.floor((at.getTime() - upAt.getTime()) / minuteMs))
  return {
    instanceId,
    cpuCores: share && Math.round(share.cpus * (2 + busy * 0.6)) / 100,
    memoryBytes: share && Math.round(share.memoryMb * (0.05 + busy * 0.006)) * mb,
    diskBytes: Math.round(diskMb * 0.3) * mb,
    receivedBytes: (500 + minutes * 20) * mb,
    sentBytes: minutes * 2 * mb,
    gpus: Array.from({ length: numGpus }, () => ({ utilization: busy, memoryMb: busy * 80 })),
  }
}
