import { describe, expect, it } from 'vitest'
import { importColumns, requiredColumns } from '../../../src/domain/machines/import-columns.ts'
import {
  findColumnIssues,
  type ImportRow,
  parseMachines,
  sortIssues,
} from '../../../src/domain/machines/import-rows.ts'
import { aGpuModel } from '../../support/factories.ts'
import { aMachineLine, anImport, newModelColumns } from '../../support/machines/import-files.ts'

const now = new Date('2026-11-21T12:00:00.000Z')
const known = new Map([['RTX 4090', aGpuModel()]])
const read = (...lines: Record<string, unknown>[]) => parseMachines(anImport(...lines), known, now)
const problems = (...lines: Record<string, unknown>[]) =>
  sortIssues(read(...lines).issues).map(({ path, message }) => `${path}: ${message}`)

describe('an import file', () => {
  it('is refused with the issues of all rows, including rows that cannot be parsed', () => {
    const [first, last] = anImport({ numGpus: '0' }, { country: 'Sweden' }) as [ImportRow, ImportRow]
    const rows = [first, { place: 'line 1½', problem: 'has 2 fields.' }, last]
    const { issues, machines } = parseMachines(rows, known, now)
    expect(machines).toEqual([])
    expect(sortIssues(issues).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'line 1: numGpus: must be a whole number from 1 to 16, not "0".',
      'line 1½: has 2 fields.',
      'line 2: country: must be two capital letters, as in ISO 3166, not "Sweden".',
      expect.stringContaining('line 2: publicIp: '),
    ])
  })
})

describe('an imported machine', () => {
  it('has the values of its host, and the defaults of the columns otherwise', () => {
    expect(read({})).toMatchObject({ issues: [], newModels: [] })
    expect(read({}).machines).toEqual([
      {
        gpuModel: 'RTX 4090',
        numGpus: 2,
        driverVersion: '570.172.08',
        cudaVersion: '12.8',
        gpuNanos: 350_000_000n,
        minBidGpuNanos: 175_000_000n,
        diskPricePerGbMonthNanos: 200_000_000n,
        downloadPricePerGbNanos: 0n,
        uploadPricePerGbNanos: 0n,
        listedUntil: new Date('2027-12-31T00:00:00.000Z'),
        cpuName: 'AMD EPYC 7713',
        cpuArch: 'amd64',
        cpuCores: 128,
        cpuGhz: 0,
        cpuRamMb: 257_500,
        hasAvx: true,
        motherboard: '',
        osVersion: null,
        diskName: '',
        diskReadMegabytesPerSecond: 0,
        diskMb: 1_800_000,
        downloadMbps: 900,
        uploadMbps: 800.5,
        publicIp: '203.0.113.7',
        staticIp: false,
        firstPort: 20_000,
        lastPort: 20_099,
        country: 'SE',
        city: '',
        datacenter: false,
        vmsEnabled: false,
        verification: 'unverified',
        reliability: 1,
        dlperfPerGpu: 82.6,
        gpuMaxTempCelsius: 0,
        gpuDisplayActive: false,
        gpuLanes: 16,
        nvlinkGigabytesPerSecond: 0,
        pciGeneration: 0,
        pcieGigabytesPerSecond: 0,
      },
    ])
  })

  it('may use JSON numbers and booleans', () => {
    const { machines, issues } = read({
      numGpus: 4,
      datacenter: true,
      pricePerGpuHour: 0.4,
      minimumBidPerGpuHour: null,
    })
    expect(issues).toEqual([])
    expect(machines).toMatchObject([{ numGpus: 4, datacenter: true, gpuNanos: 400_000_000n }])
  })

  it.each([
    ['cudaVersion', '12.10', '12.10'],
    ['cudaVersion', '12.1', '12.1'],
    ['cudaVersion', 12.8, '12.8'],
    ['cudaVersion', 13, '13'],
    ['cudaVersion', 0, null],
    ['cudaVersion', '0.0', null],
    ['driverVersion', '565.77', '565.77'],
    ['osVersion', '24.04.3', '24.04.3'],
    ['osVersion', 22.04, '22.04'],
    ['osVersion', '0', null],
    // A spreadsheet drops the zero of 20.10.
    ['osVersion', 20.1, '20.10'],
  ])('has the %s %j as %j', (column, given, stored) => {
    expect(read({ [column]: given })).toMatchObject({ issues: [], machines: [{ [column]: stored }] })
  })

  it('may write a known compute capability in another way', () => {
    expect(problems({ gpuComputeCapability: 8.9 }, { gpuComputeCapability: '8.90', publicIp: '203.0.113.8' })).toEqual([
      'line 2: gpuComputeCapability: differs from the known value of the GPU model "RTX 4090".',
    ])
    expect(problems({ gpuComputeCapability: '08.9' })).toEqual([])
  })

  it('has no AVX by default on ARM, and a minimum bid above zero at the lowest price', () => {
    expect(read({ cpuArch: 'arm64', pricePerGpuHour: '0.000000001' }).machines).toMatchObject([
      { hasAvx: false, minBidGpuNanos: 1n },
    ])
  })

  it.each([
    ['numGpus', '17', 'must be a whole number from 1 to 16, not "17".'],
    ['numGpus', 1.5, 'must be a whole number from 1 to 16, not 1.5.'],
    ['numGpus', [2], 'must be a whole number from 1 to 16, not [2].'],
    ['driverVersion', '2148', 'must be a version such as 570.172.08, not "2148".'],
    ['driverVersion', '1.2.3.4', 'must be a version such as 570.172.08, not "1.2.3.4".'],
    ['cudaVersion', 'v12', 'must be a version such as 12.8, or 0, not "v12".'],
    ['cudaVersion', '-1', 'must be a version such as 12.8, or 0, not "-1".'],
    ['osVersion', 'jammy', 'must be a version such as 24.04, or 0, not "jammy".'],
    ['gpuComputeCapability', '8.905', 'must be a version such as 8.9, or 0, not "8.905".'],
    ['gpuComputeCapability', '8.10', 'differs from the known value of the GPU model "RTX 4090".'],
    ['pricePerGpuHour', '0', 'must be dollars from 0.000000001 to 1000, with at most nine decimal places, not "0".'],
    ['pricePerGpuHour', '0.0000000001', 'must be dollars from 0.000000001 to 1000'],
    ['minimumBidPerGpuHour', '0.350000001', 'must be at most pricePerGpuHour.'],
    ['listedUntil', '2027-02-30', 'must be an instant'],
    ['listedUntil', '2027-02-03T12:00', 'must be an instant'],
    ['listedUntil', '2026-11-21T12:00:00Z', 'must be later than now, 2026-11-21T12:00:00.000Z.'],
    ['cpuName', 'two\nlines', 'must be one line of at most 128 characters'],
    ['diskGb', '7.9', 'must be a number from 8 to 100000, not "7.9".'],
    ['diskGb', '1e3', 'must be a number from 8 to 100000, not "1e3".'],
    ['publicIp', '203.0.113.07', 'must be an IPv4 address'],
    ['publicIp', '203.0.113.7.', 'must be an IPv4 address'],
    ['lastPort', '19999', 'must be at least firstPort, 20000, not 19999.'],
    ['country', 'Sweden', 'must be two capital letters'],
    ['vmsEnabled', 'maybe', 'must be true or false, not "maybe".'],
    ['verification', 'Verified', 'must be one of verified, unverified, deverified, not "Verified".'],
    ['reliability', '99', 'must be a number from 0 to 1, not "99".'],
    ['gpuTflops', '82', 'differs from the known value of the GPU model "RTX 4090".'],
  ])('is refused with %s %j', (column, value, message) => {
    expect(problems({ [column]: value })).toEqual([expect.stringContaining(`line 1: ${column}: ${message}`)])
  })

  it.each([
    ['numGpus', '0', '1', '16', '17'],
    ['pricePerGpuHour', '0', '0.000000001', '1000', '1000.000000001'],
    ['minimumBidPerGpuHour', '0', '0.000000001', '1000', '1000.000000001'],
    ['storagePricePerGbMonth', '-0.000000001', '0', '10', '10.000000001'],
    ['downloadPricePerGb', '-0.000000001', '0', '10', '10.000000001'],
    ['uploadPricePerGb', '-0.000000001', '0', '10', '10.000000001'],
    ['cpuCores', '0', '1', '4096', '4097'],
    ['cpuRamGb', '0.0009', '0.001', '1000000', '1000000.1'],
    ['diskGb', '7.999', '8', '100000', '100000.1'],
    ['downloadMbps', '-0.1', '0', '10000000', '10000000.1'],
    ['uploadMbps', '-0.1', '0', '10000000', '10000000.1'],
    ['firstPort', '0', '1', '65535', '65536'],
    ['lastPort', '0', '1', '65535', '65536'],
    ['reliability', '-0.01', '0', '1', '1.01'],
    ['dlperfPerGpu', '0.0009', '0.001', '1000000', '1000000.1'],
    ['gpuMaxTempCelsius', '-100.1', '-100', '200', '200.1'],
    ['gpuLanes', '0', '1', '64', '65'],
    ['nvlinkGigabytesPerSecond', '-0.1', '0', '1000000', '1000000.1'],
    ['pciGeneration', '-0.1', '0', '20', '20.1'],
    ['pcieGigabytesPerSecond', '-0.1', '0', '1000000', '1000000.1'],
    ['cpuGhz', '-0.1', '0', '100', '100.1'],
    ['diskReadMegabytesPerSecond', '-0.1', '0', '10000000', '10000000.1'],
    ['gpuRamMb', '0', '1', '100000000', '100000001'],
    ['gpuMemoryBandwidthGigabytesPerSecond', '-0.1', '0', '1000000', '1000000.1'],
    ['gpuTflops', '0.0009', '0.001', '1000000', '1000000.1'],
    ['gpuMaxPowerWatts', '-0.1', '0', '100000', '100000.1'],
  ])('cannot have the %s %s, can have %s and %s, and cannot have %s', (column, ...values) => {
    const [below, least, most, above] = values.map(value => importColumns[column]?.type.parse(value))
    expect([below, above]).toEqual([undefined, undefined])
    expect(least).toBeDefined()
    expect(most).toBeDefined()
  })

  it.each([
    ['gpuModel', 64],
    ['cpuName', 128],
    ['city', 64],
    ['motherboard', 128],
    ['diskName', 128],
  ])('can have a %s of at most %i characters', (column, most) => {
    const parse = (characters: number) => importColumns[column]?.type.parse('x'.repeat(characters))
    expect([parse(most), parse(most + 1)]).toEqual(['x'.repeat(most), undefined])
  })

  it('gets every issue reported, row by row', () => {
    expect(
      problems({ numGpus: '', cpuCores: 'x', color: 'red' }, {}, { publicIp: '203.0.113.8', city: 5, country: '' }),
    ).toEqual([
      'line 1: "color": is not the name of a column.',
      'line 1: numGpus: is missing.',
      'line 1: cpuCores: must be a whole number from 1 to 4096, not "x".',
      'line 2: publicIp: ports 20000 to 20099 of 203.0.113.7 overlap with those of line 1.',
      'line 3: country: is missing.',
    ])
  })
})

describe('a new GPU model', () => {
  it('needs all of its facts in one row only', () => {
    const { machines, newModels, issues } = read(newModelColumns, { gpuModel: 'RTX 9090', publicIp: '203.0.113.8' })
    expect(issues).toEqual([])
    const facts = { vendor: 'nvidia', ramMb: 65_536, memoryBandwidthGigabytesPerSecond: 2_500, tflops: 150 }
    expect(newModels).toEqual([{ name: 'RTX 9090', ...facts, maxPowerWatts: 700, computeCapability: '13.1' }])
    expect(machines.map(({ gpuModel, dlperfPerGpu }) => [gpuModel, dlperfPerGpu])).toEqual([
      ['RTX 9090', 150],
      ['RTX 9090', 150],
    ])
  })

  it('takes from the catalog of common models the facts that the imported file omits', () => {
    const common = new Map([['RTX 3090', aGpuModel({ name: 'RTX 3090', ramMb: 24_576, tflops: 35.6 })]])
    const importOf = (line: object) => parseMachines(anImport({ gpuModel: 'RTX 3090', ...line }), known, now, common)
    expect(importOf({})).toMatchObject({ issues: [], newModels: [{ name: 'RTX 3090', ramMb: 24_576, tflops: 35.6 }] })
    expect(importOf({ gpuTflops: '40' })).toMatchObject({ issues: [], newModels: [{ ramMb: 24_576, tflops: 40 }] })
  })

  it('is refused if facts are missing, or if two rows differ', () => {
    const { gpuTflops: _, gpuRamMb: __, ...some } = newModelColumns
    const unknown = 'is required, because Berth does not know the GPU model "RTX 9090" yet.'
    expect(problems(some)).toEqual([`line 1: gpuRamMb: ${unknown}`, `line 1: gpuTflops: ${unknown}`])
    expect(problems(newModelColumns, { ...newModelColumns, gpuRamMb: '1', publicIp: '203.0.113.8' })).toEqual([
      'line 2: gpuRamMb: differs from the known value of the GPU model "RTX 9090".',
    ])
  })
})

describe('machines with the same IP address', () => {
  const ports = (firstPort: number, lastPort: number, publicIp = '203.0.113.7') => ({ firstPort, lastPort, publicIp })

  it('may have adjacent ports', () => {
    expect(problems(ports(200, 299), ports(300, 399), ports(100, 199), ports(150, 250, '203.0.113.8'))).toEqual([])
  })

  it('must not share a port, even if other machines are between them', () => {
    expect(problems(ports(100, 999), ports(200, 210), ports(300, 400), ports(999, 1000))).toEqual([
      expect.stringMatching(/^line 2: .* overlap with those of line 1\.$/),
      expect.stringMatching(/^line 3: .* overlap with those of line 1\.$/),
      expect.stringMatching(/^line 4: .* overlap with those of line 1\.$/),
    ])
  })
})

describe('a header', () => {
  it('must name only columns, each once, and all required ones', () => {
    expect(findColumnIssues(Object.keys(aMachineLine()))).toEqual([])
    expect(requiredColumns).toEqual(Object.keys(aMachineLine()))
    const names = [...Object.keys(aMachineLine()).filter(name => name !== 'country'), 'color', 'city', 'city']
    expect(findColumnIssues(names)).toEqual([
      { path: 'color', message: 'is not the name of a column.' },
      { path: 'city', message: 'appears more than once.' },
      { path: 'country', message: 'is missing.' },
    ])
  })
})
