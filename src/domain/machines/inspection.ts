// What an operator's machine promises, compared with what its engine says.

import type { Issue } from '../errors.ts'
import type { GpuAccess } from './engines.ts'
import type { Machine } from './machines.ts'

/** What an engine says of itself and its computer. */
export type EngineFacts = {
  /** The id that the engine has given itself. */
  identity: string
  version: string
  cpuCores: number
  cpuRamMb: number
  cpuArch: Machine['cpuArch']
  gpuAccesses: readonly GpuAccess[]
  /** Whether it can keep the disk of a container to a size. */
  limitsDisk: boolean
  /** The memory of GPUs in MiB, as far as NVIDIA's program shows it; absent if nobody ran it there. */
  gpuMemoryMb?: readonly number[]
  /** By how much the engine's clock is ahead of the gateway's. */
  clockAheadMs: number
}

/** Computers have a little less memory than is written on them, and hosts round. */
const ramTolerance = 0.95
/** A GPU that checks its memory for errors shows up to an eighth less than it has. */
const gpuRamTolerance = 7 / 8
/** The engine's times decide how long a container has run, and until when an ended one is charged. */
const clockToleranceMs = 5_000

/** What the operator should know of an engine that the machine gets all the same. */
export function warningsOf({ limitsDisk }: EngineFacts): string[] {
  if (limitsDisk) return []
  return [
    'The engine limits no disks: renters can fill the disk of this machine, and its offers say so. See "Disks" in docs/hosts.md.',
  ]
}

/** Why the machine cannot get the engine: the engine has less than the machine's offers promise. */
export function findBrokenPromises(
  machine: Pick<Machine, 'cpuCores' | 'cpuRamMb' | 'cpuArch' | 'numGpus' | 'vmsEnabled'> & { gpuRamMb: number },
  facts: EngineFacts,
  { gpuAccess, gpuUuids }: { gpuAccess: GpuAccess; gpuUuids: readonly string[] },
): Issue[] {
  const { cpuCores, cpuRamMb, cpuArch, numGpus, vmsEnabled, gpuRamMb } = machine
  const issues: Issue[] = []
  const say = (path: string, message: string) => void issues.push({ path, message })
  if (facts.cpuCores < cpuCores) say('cpuCores', `is ${cpuCores}, but the engine has ${facts.cpuCores} cores.`)
  if (facts.cpuRamMb < cpuRamMb * ramTolerance)
    say('cpuRamGb', `is ${cpuRamMb / 1_000}, but the engine has ${(facts.cpuRamMb / 1_000).toFixed(1)} GB of memory.`)
  if (facts.cpuArch !== cpuArch) say('cpuArch', `is ${cpuArch}, but the engine runs on ${facts.cpuArch}.`)
  if (Math.abs(facts.clockAheadMs) > clockToleranceMs)
    say('clock', `is wrong by ${Math.round(facts.clockAheadMs / 1_000)} seconds. Let the host set it over the network.`)
  if (vmsEnabled) say('vmsEnabled', 'is true, but the engine runs no virtual machines.')
  if (!facts.gpuAccesses.includes(gpuAccess))
    say('gpus', `cannot be given to containers with "${gpuAccess}". The engine offers ${facts.gpuAccesses.join(', ')}.`)
  if (gpuAccess !== 'none' && gpuUuids.length !== numGpus)
    say('gpus', `are ${numGpus}, but ${gpuUuids.length} UUIDs are given.`)
  const least = Math.min(...(facts.gpuMemoryMb ?? []))
  if (gpuAccess !== 'none' && least < gpuRamMb * gpuRamTolerance)
    say('gpuRamMb', `is ${gpuRamMb}, but nvidia-smi shows a GPU with ${least} MiB of memory.`)
  if (new Set(gpuUuids).size < gpuUuids.length) say('gpus', 'have UUIDs that are given twice.')
  return issues
}
