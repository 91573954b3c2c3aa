// Reads what all running containers of a machine use.

import type { Logger } from 'pino'
import type { ContainerStats } from '../../../domain/instances/metrics.ts'
import type { Listed } from '../container.ts'
import { EngineError } from '../engine/error.ts'
import type { Machine } from '../machine.ts'
import { idsIn, labelFilter, labels, phaseOf } from '../names.ts'
import { mapConcurrently } from './concurrently.ts'
import { createDiskSizes } from './disks.ts'
import { type CpuTime, cpuCoresOf, cpuTimeOf, type EngineStats, memoryOf, trafficOf } from './engine-stats.ts'
import { createGpuReader } from './gpus.ts'

/** Containers that are asked at once. The engine reads many files for each. */
const concurrency = 4

export function createStatsReader({ log, now }: { log: Logger; now: () => Date }) {
  /** The CPU times of the last sampling, by machine and container. */
  const lastTimes = new Map<number, Map<string, CpuTime>>()
  const diskSizes = createDiskSizes({ log, now })
  const readGpus = createGpuReader(now)

  return async (machineId: number, machine: Machine, signal: AbortSignal): Promise<ContainerStats[]> => {
    const before = lastTimes.get(machineId)
    const times = new Map<string, CpuTime>()
    const containers = await listRunning(machine, signal)
    const disks = containers.length > 0 ? diskSizes(machineId, machine) : new Map<string, number>()

    async function read(container: Listed): Promise<ContainerStats[]> {
      const { Id } = container
      const [instanceId] = idsIn(labels.instance, [container])
      const stats = await readStats(machine, Id, signal)
      if (!stats || instanceId === undefined) return []
      const time = cpuTimeOf(stats)
      if (time) times.set(Id, time)
      return [
        {
          ...{ instanceId, cpuCores: cpuCoresOf(time, before?.get(Id)), memoryBytes: memoryOf(stats) },
          ...{ diskBytes: disks.get(Id) ?? null, ...trafficOf(stats) },
          gpus: await readGpus(machine, container, signal),
        },
      ]
    }

    const found = await mapConcurrently(containers, concurrency, read)
    lastTimes.set(machineId, times)
    return found.flat()
  }
}

/** Without those that are being made, or that stop. */
async function listRunning({ client, engine }: Machine, signal: AbortSignal): Promise<Listed[]> {
  const query = { filters: { ...labelFilter(engine), status: ['running'] } }
  const listed = await client.call<Listed[]>('GET', '/containers/json', { query, signal })
  return listed.filter(({ Names }) => phaseOf(Names[0] ?? '') === 'complete')
}

/** Undefined for a container that has ended meanwhile. */
async function readStats({ client }: Machine, id: string, signal: AbortSignal): Promise<EngineStats | undefined> {
  // With `one-shot`, the engine answers at once, instead of counting for a second.
  const query = { stream: false, 'one-shot': true }
  try {
    return await client.call<EngineStats>('GET', `/containers/${id}/stats`, { query, signal })
  } catch (error) {
    if (error instanceof EngineError) return undefined
    throw error
  }
}
