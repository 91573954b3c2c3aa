import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blocksOf, parseDriverVersion, printDriverVersion } from '../../../src/domain/machines/machines.ts'

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

describe('a driver version', () => {
  it.each([
    ['580.105.08', 'nvidia', 580_105_008],
    ['535.86.05', 'nvidia', 535_086_005],
    ['535.183.106', 'nvidia', 535_183_106],
    ['470.0.00', 'nvidia', 470_000_000],
    ['6.3.1', 'amd', 6_003_001],
    ['6.10.0', 'amd', 6_010_000],
    ['6.3.42', 'amd', 6_003_042],
  ] as const)('of %s for %s is stored as a number, and printed in the form of its vendor', (text, vendor, version) => {
    expect(parseDriverVersion(text)).toBe(version)
    expect(printDriverVersion(version, vendor)).toBe(text)
  })

  it('is the same after it is printed and parsed', () => {
    const version = fc.integer({ min: 0, max: 2 ** 31 - 1 })
    fc.assert(
      fc.property(version, fc.constantFrom('nvidia', 'amd'), (number, vendor) => {
        expect(parseDriverVersion(printDriverVersion(number, vendor))).toBe(number)
      }),
    )
  })

  it('may omit its last parts', () => {
    expect(parseDriverVersion('535')).toBe(535_000_000)
    expect(parseDriverVersion('535.86')).toBe(535_086_000)
  })

  it.each(['', 'latest', '535.x', '1.2.3.4', '-1'])('cannot be "%s"', text => {
    expect(parseDriverVersion(text)).toBeUndefined()
  })
})
