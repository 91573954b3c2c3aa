import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compareVersions,
  computeCapabilityNumberOf,
  driverVersionNumberOf,
  parseDriverVersion,
  parseVersion,
  printDriverVersion,
  versionNumberOf,
} from '../../../src/domain/machines/versions.ts'

describe('a version', () => {
  it.each(['12', '12.8', '12.10', '580.105.08', '10.0.19045.1', '0'])('can be %s', text => {
    expect(parseVersion(text)).toBe(text)
  })

  it.each(['', 'new', 'v12', '12.', '.8', '12..8', '1.2.3.4.5', '-1', '1e3', ' 12', '12.8\n', '1234567890'])(
    'cannot be %j',
    text => {
      expect(parseVersion(text)).toBeUndefined()
    },
  )

  it.each([
    [null, '0'],
    ['9', '10'],
    ['12.1', '12.2'],
    ['12.9', '12.10'],
    ['12', '12.0.1'],
    ['535.86.05', '535.183.01'],
    ['535.99.05', '535.99.10'],
  ])('of %s is older than %s', (older, newer) => {
    expect(compareVersions(older, newer)).toBeLessThan(0)
    expect(compareVersions(newer, older)).toBeGreaterThan(0)
  })

  it.each([
    [null, null],
    ['12', '12.0'],
    ['565.77', '565.77.00'],
    ['0.0', '0'],
    ['535.86.05', '535.86.5'],
  ])('of %s is the same as %s', (a, b) => {
    expect(compareVersions(a, b)).toBe(0)
  })

  it.each([
    [null, 0],
    ['13', 13],
    ['12.10', 12.1],
    ['12.8.1', 12.8],
    ['22.04', 22.04],
  ])('of %s is the number %d for REST', (version, number) => {
    expect(versionNumberOf(version)).toBe(number)
  })
})

describe('a compute capability', () => {
  it.each([
    [null, 0],
    ['8.9', 890],
    ['12.0', 1200],
    ['6.1', 610],
    ['9', 900],
    ['9.05', 905],
  ])('of %s is the number %d for REST', (version, number) => {
    expect(computeCapabilityNumberOf(version)).toBe(number)
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
  ] as const)('of %s for %s has a number, and is printed in the form of its vendor', (text, vendor, version) => {
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

  it('that is stored has a number', () => {
    expect(driverVersionNumberOf('565.77')).toBe(565_077_000)
    expect(() => driverVersionNumberOf('latest')).toThrow('latest is not a driver version')
  })

  it('may omit its last parts', () => {
    expect(parseDriverVersion('535')).toBe(535_000_000)
    expect(parseDriverVersion('535.86')).toBe(535_086_000)
  })

  it.each(['', 'latest', '535.x', '1.2.3.4', '-1'])('cannot be "%s"', text => {
    expect(parseDriverVersion(text)).toBeUndefined()
  })
})
