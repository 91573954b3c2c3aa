import { describe, expect, it } from 'vitest'
import { type EngineFacts, findBrokenPromises, warningsOf } from '../../../src/domain/machines/inspection.ts'

const machine = { cpuCores: 16, cpuRamMb: 64_000, cpuArch: 'amd64', numGpus: 2, vmsEnabled: false, gpuRamMb: 24_576 }
const facts: EngineFacts = {
  ...{ identity: 'one', version: '28.0.0', cpuCores: 16, cpuRamMb: 64_000, cpuArch: 'amd64' },
  gpuAccesses: ['none', 'nvidia'],
  limitsDisk: true,
  clockAheadMs: 0,
}
const gpus = { gpuAccess: 'nvidia' as const, gpuUuids: ['GPU-1', 'GPU-2'] }
const pathsOf = (...args: Parameters<typeof findBrokenPromises>) => findBrokenPromises(...args).map(({ path }) => path)

describe('an engine keeps the promises of a machine', () => {
  it('if it has as much', () => {
    expect(findBrokenPromises(machine, facts, gpus)).toEqual([])
    expect(findBrokenPromises(machine, { ...facts, gpuMemoryMb: [24_564, 22_731] }, gpus)).toEqual([])
    expect(findBrokenPromises(machine, facts, { gpuAccess: 'none', gpuUuids: [] })).toEqual([])
    expect(findBrokenPromises(machine, { ...facts, gpuMemoryMb: [] }, { gpuAccess: 'none', gpuUuids: [] })).toEqual([])
  })

  it.each<Partial<EngineFacts>>([
    { cpuRamMb: 60_800 },
    { gpuMemoryMb: [21_504] },
    { clockAheadMs: 5_000 },
    { clockAheadMs: -5_000 },
  ])('if it has as little, or is as wrong, as is tolerated: %j', tolerated => {
    expect(findBrokenPromises(machine, { ...facts, ...tolerated }, gpus)).toEqual([])
  })

  it.each<[string, Partial<EngineFacts>, string]>([
    ['cpuCores', { cpuCores: 15 }, 'is 16, but the engine has 15 cores.'],
    ['cpuRamGb', { cpuRamMb: 60_799 }, 'is 64, but the engine has 60.8 GB of memory.'],
    ['cpuArch', { cpuArch: 'arm64' }, 'is amd64, but the engine runs on arm64.'],
    ['gpus', { gpuAccesses: ['none'] }, 'cannot be given to containers with "nvidia". The engine offers none.'],
    ['gpuRamMb', { gpuMemoryMb: [24_564, 21_503] }, 'is 24576, but nvidia-smi shows a GPU with 21503 MiB of memory.'],
    ['clock', { clockAheadMs: 5_001 }, 'is wrong by 5 seconds. Let the host set it over the network.'],
    ['clock', { clockAheadMs: -130_000 }, 'is wrong by -130 seconds. Let the host set it over the network.'],
  ])('but not with less: %s %j', (path, less, message) => {
    expect(findBrokenPromises(machine, { ...facts, ...less }, gpus)).toEqual([{ path, message }])
  })

  it('but not of virtual machines, nor with too few GPUs, nor with one GPU twice', () => {
    expect(pathsOf({ ...machine, vmsEnabled: true }, facts, gpus)).toEqual(['vmsEnabled'])
    expect(pathsOf(machine, facts, { ...gpus, gpuUuids: ['GPU-1'] })).toEqual(['gpus'])
    expect(pathsOf(machine, facts, { ...gpus, gpuUuids: ['GPU-1', 'GPU-1'] })).toEqual(['gpus'])
  })
})

it('warns the operator of an engine that limits no disks', () => {
  expect(warningsOf(facts)).toEqual([])
  expect(warningsOf({ ...facts, limitsDisk: false })).toEqual([expect.stringContaining('renters can fill the disk')])
})
