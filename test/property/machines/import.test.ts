import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharesPort } from '../../../src/domain/machines/addresses.ts'
import { findColumnIssues, parseMachines } from '../../../src/domain/machines/import-rows.ts'
import { printDriverVersion } from '../../../src/domain/machines/versions.ts'
import { printUsd } from '../../../src/domain/money.ts'
import { parseRows } from '../../../src/operator/machines-file.ts'
import { aGpuModel, aMachine, type MachineAttributes } from '../../support/factories.ts'
import { aMachineLine, anImport, printCsv } from '../../support/machines/import-files.ts'

const now = new Date('2026-11-21T12:00:00.000Z')
const known = new Map([['RTX 4090', aGpuModel()]])

// The import trims values, so these have no space around them.
const line = (unit: fc.Arbitrary<string>) => fc.string({ unit, maxLength: 60 }).map(text => text.trim())
const text = line(
  fc.oneof(fc.constantFrom('"', ',', ';', ' ', '=', "'"), fc.string({ unit: 'grapheme', maxLength: 1 })),
)
const anything = line(
  fc.oneof(fc.constantFrom('"', ',', '\n', ' ', '\\'), fc.string({ unit: 'grapheme', maxLength: 1 })),
)
const nanos = (max: bigint) => fc.bigInt({ min: 1n, max })
const thousandths = (least: number, most: number) => fc.integer({ min: least * 1_000, max: most * 1_000 })

const machine: fc.Arbitrary<MachineAttributes> = fc
  .record({
    numGpus: fc.integer({ min: 1, max: 16 }),
    driverVersion: fc.integer({ min: 0, max: 2 ** 31 - 1 }).map(number => printDriverVersion(number, 'nvidia')),
    cudaVersion: fc.constantFrom('11.8', '12.10', '13.0', '13'),
    gpuNanos: nanos(1_000_000_000_000n),
    diskPricePerGbMonthNanos: nanos(10_000_000_000n),
    downloadPricePerGbNanos: nanos(10_000_000_000n),
    cpuName: text.filter(name => name !== ''),
    city: text,
    cpuRamMb: thousandths(1, 4_000),
    diskMb: thousandths(8, 100_000),
    reliability: fc.double({ min: 0, max: 1, noNaN: true }).map(share => Number(share.toFixed(6))),
    datacenter: fc.boolean(),
    cpuArch: fc.constantFrom('amd64', 'arm64'),
    verification: fc.constantFrom('verified' as const, 'unverified' as const, 'deverified' as const),
    listedUntil: fc.date({
      min: new Date('2026-11-21T12:00:00.001Z'),
      max: new Date('9999-01-01'),
      noInvalidDate: true,
    }),
    ports: fc.tuple(fc.integer({ min: 1, max: 65_535 }), fc.integer({ min: 1, max: 65_535 })),
    publicIp: fc.ipV4(),
  })
  .map(({ ports, ...facts }) => {
    const minBidGpuNanos = facts.gpuNanos / 3n + 1n
    return aMachine({ ...facts, minBidGpuNanos, firstPort: Math.min(...ports), lastPort: Math.max(...ports) })
  })

/** A machine as its host writes it in an import file. */
function printMachine(facts: MachineAttributes): Record<string, unknown> {
  const {
    gpuNanos,
    minBidGpuNanos,
    diskPricePerGbMonthNanos,
    downloadPricePerGbNanos,
    uploadPricePerGbNanos,
    cpuRamMb,
    diskMb,
    ...rest
  } = facts
  return {
    ...rest,
    gpuModel: 'RTX 4090',
    pricePerGpuHour: printUsd(gpuNanos),
    minimumBidPerGpuHour: printUsd(minBidGpuNanos),
    storagePricePerGbMonth: printUsd(diskPricePerGbMonthNanos),
    downloadPricePerGb: printUsd(downloadPricePerGbNanos),
    uploadPricePerGb: printUsd(uploadPricePerGbNanos),
    cpuRamGb: cpuRamMb / 1_000,
    diskGb: diskMb / 1_000,
    listedUntil: rest.listedUntil.toISOString(),
  }
}

const inCsv = (lines: Record<string, unknown>[], end: string, quoted: (text: string) => boolean) =>
  parseRows(new TextEncoder().encode(printCsv(lines, end, quoted)), 'csv')
const inJson = (lines: Record<string, unknown>[]) => parseRows(new TextEncoder().encode(JSON.stringify(lines)), 'json')
const ends = fc.constantFrom('\n', '\r\n')

describe('an imported machine', () => {
  it('survives printing and parsing, as CSV and as JSON', () => {
    fc.assert(
      fc.property(
        fc.array(machine, { minLength: 1, maxLength: 5 }),
        ends,
        fc.func(fc.boolean()),
        (all, end, quoted) => {
          // Each machine has its own address.
          const machines = all.map((facts, index) => ({ ...facts, publicIp: `10.0.0.${index}` }))
          const lines = machines.map(printMachine)
          expect(findColumnIssues(Object.keys(lines[0] as object))).toEqual([])
          for (const rows of [inCsv(lines, end, quoted), inJson(lines)]) {
            const read = parseMachines(rows, known, now)
            expect(read.issues).toEqual([])
            expect(read.machines).toEqual(machines.map(facts => ({ ...facts, gpuModel: 'RTX 4090' })))
          }
        },
      ),
    )
  })
})

describe('a CSV file', () => {
  it('preserves every text', () => {
    fc.assert(
      fc.property(
        fc.array(anything, { minLength: 1, maxLength: 5 }),
        ends,
        fc.func(fc.boolean()),
        (texts, end, quoted) => {
          const lines = texts.map(cpuName => aMachineLine({ cpuName }))
          expect(inCsv(lines, end, quoted).map(({ fields }) => fields)).toEqual(lines)
        },
      ),
    )
  })
})

describe('the addresses of a file', () => {
  const address = fc.record({
    publicIp: fc.constantFrom('10.0.0.1', '10.0.0.2'),
    firstPort: fc.integer({ min: 1, max: 30 }),
    length: fc.integer({ min: 0, max: 8 }),
  })

  it('are refused exactly when two of them share a port', () => {
    fc.assert(
      fc.property(fc.array(address, { maxLength: 6 }), drawn => {
        const addresses = drawn.map(({ length, ...rest }) => ({ ...rest, lastPort: rest.firstPort + length }))
        const shared = addresses.some((a, index) => addresses.slice(index + 1).some(b => sharesPort(a, b)))
        expect(parseMachines(anImport(...addresses), known, now).issues.length > 0).toBe(shared)
      }),
    )
  })
})
