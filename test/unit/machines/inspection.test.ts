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
    expect(findBrokenPromises(machine, { ...facts, cpuRamMb: 61_500 }, gpus)).toEqual([])
    expect(findBrokenPromises(machine, { ...facts, gpuMemoryMb: [24_564, 22_731] }, gpus)).toEqual([])
    expect(findBrokenPromises(machine, facts, { gpuAccess: 'none', gpuUuids: [] })).toEqual([])
    expect(findBrokenPromises(machine, { ...facts, gpuMemoryMb: [] }, { gpuAccess: 'none', gpuUuids: [] })).toEqual([])
  })

  it.each<[string, Partial<EngineFacts>]>([
    ['cpuCores', { cpuCores: 15 }],
    ['cpuRamGb', { cpuRamMb: 60_000 }],
    ['cpuArch', { cpuArch: 'arm64' }],
    ['gpus', { gpuAccesses: ['none'] }],
    ['gpuRamMb', { gpuMemoryMb: [24_564, 16_380] }],
    ['clock', { clockAheadMs: -130_000 }],
  ])('but not with less: %s', (path, less) => {
    expect(pathsOf(machine, { ...facts, ...less }, gpus)).toEqual([path])
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
