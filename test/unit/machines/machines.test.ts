import { describe, expect, it } from 'vitest'
import { blocksOf } from '../../../src/domain/machines/machines.ts'

describe('the blocks of a machine', () => {
  const blocks = (numGpus: number) => blocksOf(numGpus).map(({ firstGpu, numGpus: count }) => `${firstGpu}+${count}`)

  it('are the whole machine and every aligned power of two', () => {
    expect(blocks(1)).toEqual(['0+1'])
    expect(blocks(2)).toEqual(['0+2', '0+1', '1+1'])
    expect(blocks(4)).toEqual(['0+4', '0+1', '1+1', '2+1', '3+1', '0+2', '2+2'])
  })

  it('do not include blocks that do not fit', () => {
    expect(blocks(6)).toEqual(['0+6', '0+1', '1+1', '2+1', '3+1', '4+1', '5+1', '0+2', '2+2', '4+2', '0+4'])
    expect(blocks(3)).toEqual(['0+3', '0+1', '1+1', '2+1', '0+2'])
  })

  it.each([1, 2, 3, 5, 6, 7, 8, 12, 16])('of %i GPUs are distinct and stay within the machine', numGpus => {
    const all = blocksOf(numGpus)
    expect(new Set(blocks(numGpus)).size).toBe(all.length)
    expect(all.every(block => block.firstGpu + block.numGpus <= numGpus)).toBe(true)
  })
})
