import type { Instance } from '../../../domain/instances/instances.ts'

/** What is read of an instance for its metrics. */
export type MeasuredInstance = Pick<
  Instance,
  'id' | 'accountId' | 'machineId' | 'numGpus' | 'diskMb' | 'status' | 'statusChangedAt' | 'destroyedAt'
> & {
  launch: Pick<Instance['launch'], 'image'>
  machine: Pick<Instance['machine'], 'cpuCores' | 'cpuRamMb' | 'numGpus'>
}

export const measuredSelect = {
  id: true,
  accountId: true,
  machineId: true,
  numGpus: true,
  diskMb: true,
  launch: true,
  status: true,
  statusChangedAt: true,
  destroyedAt: true,
  machine: { select: { cpuCores: true, cpuRamMb: true, numGpus: true } },
} as const
