import { machineShareOf } from '../../domain/instances/containers.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import { type InstanceMetrics, meanGpuUtilization } from '../../domain/instances/metrics.ts'
import type { InstanceRow } from './row.ts'

type UsageRow = Pick<
  InstanceRow,
  'gpu_util' | 'gpu_temp' | 'cpu_util' | 'mem_limit' | 'mem_usage' | 'vmem_usage' | 'disk_usage' | 'disk_util'
>

/** What an instance uses, in the units that clients expect. Without metrics, all is unknown. */
export function usageRow(
  { machine, numGpus, diskMb: sizeMb }: Instance,
  metrics: InstanceMetrics | undefined,
): UsageRow {
  const { cpus, memoryMb: shareMb } = machineShareOf(machine, numGpus)
  const { cpuCores = null, memoryMb = null, diskMb = null, gpus = [] } = metrics ?? {}
  const gpuMemoryMb = gpus.map(gpu => gpu.memoryMb).filter(used => used !== null)
  return {
    gpu_util: rounded(meanGpuUtilization({ gpus })),
    gpu_temp: null,
    cpu_util: rounded(cpuCores === null ? null : (cpuCores / cpus) * 100) ?? 0,
    mem_limit: shareMb / 1000,
    mem_usage: rounded(inGb(memoryMb)),
    vmem_usage: gpuMemoryMb.length === 0 ? null : rounded(gpuMemoryMb.reduce((sum, used) => sum + used, 0) / 1000),
    disk_usage: rounded(inGb(diskMb)) ?? -1,
    disk_util: rounded(diskMb === null ? null : Math.min(1, diskMb / sizeMb)) ?? -1,
  }
}

function inGb(mb: number | null): number | null {
  return mb === null ? null : mb / 1000
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1000) / 1000
}
