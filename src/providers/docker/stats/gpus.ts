// The load of a container's GPUs, as the program says that the NVIDIA runtime adds to the container.

import type { GpuStats } from '../../../domain/instances/metrics.ts'
import type { Machine } from '../machine.ts'
import { labels } from '../names.ts'
import { runInContainer } from '../processes/process.ts'

const command = [
  ...['/.berth/bin/busybox', 'env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  ...['nvidia-smi', '--query-gpu=uuid,utilization.gpu,memory.used', '--format=csv,noheader,nounits'],
]
const timeoutMs = 5_000
/** After a failure, the container is not asked again for this long: its image may be one that cannot run the program. */
const pauseMs = 300_000

type Labeled = { Id: string; Labels: Record<string, string> }

export type GpuReader = ReturnType<typeof createGpuReader>

export function createGpuReader(now: () => Date) {
  const pausedUntil = new Map<string, number>()

  function pause(id: string, at: number): void {
    for (const [other, until] of pausedUntil) if (until <= at) pausedUntil.delete(other)
    pausedUntil.set(id, at + pauseMs)
  }

  /** Empty for a container without GPUs. */
  return async (machine: Machine, { Id, Labels }: Labeled, signal: AbortSignal): Promise<GpuStats[]> => {
    const uuids = uuidsOf(machine, Labels)
    if (uuids.length === 0) return []
    const at = now().getTime()
    if ((pausedUntil.get(Id) ?? 0) > at) return parseGpuStats('', uuids)
    const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    const { output } = await runInContainer(machine, Id, command, until).catch(() => ({ output: '' }))
    signal.throwIfAborted()
    const gpus = parseGpuStats(output, uuids)
    if (gpus.every(({ utilization, memoryMb }) => utilization === null && memoryMb === null)) pause(Id, at)
    return gpus
  }
}

/** In the order in which the instance has them. */
function uuidsOf({ engine: { gpuAccess, gpuUuids } }: Machine, containerLabels: Labeled['Labels']): string[] {
  const gpus = containerLabels[labels.gpus] ?? ''
  if (gpuAccess === 'none' || gpus === '') return []
  return gpus.split(',').map(index => gpuUuids[Number(index)] ?? '')
}

/** The renter can replace the program, so anything may be printed. What is no number in its range is null. */
export function parseGpuStats(output: string, uuids: readonly string[]): GpuStats[] {
  const lines = output.split('\n').map(line => line.split(',').map(value => value.trim()))
  const byUuid = new Map(lines.map(([uuid = '', ...values]) => [uuid.toLowerCase(), values]))
  return uuids.map(uuid => {
    const [utilization, memoryMb] = byUuid.get(uuid.toLowerCase()) ?? []
    return { utilization: numberIn(utilization, 100), memoryMb: numberIn(memoryMb, 10_000_000) }
  })
}

function numberIn(text: string | undefined, most: number): number | null {
  if (text === undefined || !/^\d{1,8}$/.test(text)) return null
  return Number(text) <= most ? Number(text) : null
}
