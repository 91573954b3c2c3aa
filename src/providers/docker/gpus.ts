// GPUs are requested by UUID, because their indices change when a machine restarts. An engine may ignore a request, so
// the driver asks the started container what it has.

import type { Engine } from '../../domain/machines/engines.ts'
import { ContainerFailed } from './failures.ts'
import type { Machine } from './machine.ts'
import { runInContainer } from './processes/process.ts'

export type DeviceRequest = { Driver: string; DeviceIDs: string[] | null; Capabilities?: string[][] | null }

const cdiPrefix = 'nvidia.com/gpu='

export function deviceRequests({ gpuAccess, gpuUuids }: Engine, gpus: readonly number[]): DeviceRequest[] {
  if (gpuAccess === 'none' || gpus.length === 0) return []
  const uuids = gpus.map(index => {
    const uuid = gpuUuids[index]
    if (uuid !== undefined) return uuid
    throw new ContainerFailed({
      code: 'START_FAILED',
      message: `The machine does not know its GPU ${index}.`,
      fault: 'machine',
    })
  })
  return gpuAccess === 'cdi'
    ? [{ Driver: 'cdi', DeviceIDs: uuids.map(uuid => cdiPrefix + uuid) }]
    : [{ Driver: 'nvidia', DeviceIDs: uuids, Capabilities: [['gpu', 'compute', 'utility']] }]
}

/**
 * The NVIDIA runtime reads this variable from the image too, where it may name all GPUs. With "void" it adds none. The
 * engine itself adds those of a request.
 */
export function visibleDevices({ gpuAccess }: Engine, requests: DeviceRequest[]): string {
  return gpuAccess === 'nvidia' ? requests.flatMap(({ DeviceIDs }) => DeviceIDs ?? []).join() || 'void' : 'void'
}

/** Prints the UUIDs of the container's GPUs. Not every image can run the program that the runtime adds. */
const listScript = 'nvidia-smi -L || cat /proc/driver/nvidia/gpus/*/information'

/** Whether a running container has exactly the GPUs that were requested for it. */
export async function hasItsGpus(
  machine: Machine,
  containerId: string,
  requests: DeviceRequest[],
  signal: AbortSignal,
): Promise<boolean> {
  const command = ['/.berth/bin/busybox', 'env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']
  const shell = ['/.berth/bin/busybox', 'sh', '-c', listScript]
  const { output } = await runInContainer(machine, containerId, [...command, ...shell], signal)
  const found = output.match(/GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi) ?? []
  const wanted = requests.flatMap(({ DeviceIDs }) => (DeviceIDs ?? []).map(id => id.replace(cdiPrefix, '')))
  return [...new Set(found)].toSorted().join() === wanted.toSorted().join()
}
