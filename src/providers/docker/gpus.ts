// GPUs are requested by UUID, because their indices change when a machine restarts. An engine may ignore a request, so
// the driver asks the started container what it has.

import type { Engine } from '../../domain/machines/engines.ts'
import { GpusTaken } from '../provider.ts'
import { type Container, type DeviceRequest, findRunningWithGpus } from './container.ts'
import { ContainerFailed } from './failures.ts'
import type { Machine } from './machine.ts'
import { runInContainer } from './processes/process.ts'

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
  return [...new Set(found)].toSorted().join() === uuidsOf(requests).toSorted().join()
}

/**
 * Throws if another container runs on one of the container's GPUs. The database gives no GPU to two instances, but after a
 * fail-over it may have forgotten a rental whose container still runs, or a stop that has just begun.
 */
export async function checkGpusAreFree(
  machine: Machine,
  { Id, HostConfig }: Container,
  signal: AbortSignal,
): Promise<void> {
  const own = new Set(uuidsOf(HostConfig.DeviceRequests))
  if (own.size === 0) return
  const running = await findRunningWithGpus(machine, signal)
  const user = running.find(
    other => other.Id !== Id && uuidsOf(other.HostConfig.DeviceRequests).some(id => own.has(id)),
  )
  if (user) throw new GpusTaken(`The container ${user.Name} still runs on a GPU of the container.`)
}

function uuidsOf(requests: DeviceRequest[] | null | undefined): string[] {
  return (requests ?? []).flatMap(({ DeviceIDs }) => (DeviceIDs ?? []).map(id => id.replace(cdiPrefix, '')))
}
