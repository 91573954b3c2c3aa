// The columns with which hosts describe machines, in the units that people write: one table for reading, checking and
// for the help. What a host need not know has a default; 0 stands for what nobody measured.

import { type ColumnType, decimal, instant, integer, matching, oneOf, text, usd, yesNo } from './import-column-types.ts'
import { parseDriverVersion, verifications } from './machines.ts'

type Column<Value = unknown> = {
  type: ColumnType<Value>
  meaning: string
  /** Absent where the column is required, or where what is absent follows from the rest. */
  defaultValue?: Value
  /** What is said of its absence in the help, for lack of a constant. */
  defaultNote?: string
}

const driverVersionType: ColumnType<number> = {
  expected: 'a version such as 570.172.08',
  parse(value) {
    const version = parseDriverVersion(value)
    // What four bytes hold.
    return version !== undefined && version < 2 ** 31 ? version : undefined
  },
}
const ipv4Type = matching(
  /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/,
  'an IPv4 address such as 203.0.113.7',
)
const countryType = matching(/^[A-Z]{2}$/, 'two capital letters, as in ISO 3166')
const gpuPriceType = usd(1n, 1_000_000_000_000n)
const unitPriceType = usd(0n, 10_000_000_000n)
const unknownModelNote = 'only for a GPU model that Berth does not know'

export const machineColumns = {
  gpuModel: { type: text(64), meaning: 'GPU model, by its name in the trade' },
  numGpus: { type: integer(1, 16), meaning: 'how many' },
  driverVersion: { type: driverVersionType, meaning: 'of the GPUs' },
  cudaVersion: { type: decimal(0, 100), meaning: 'the newest that the driver runs; 0 where CUDA does not run' },
  gpuPricePerHour: { type: gpuPriceType, meaning: '$ for one GPU' },
  minBidPerHour: {
    type: gpuPriceType,
    meaning: '$ for one GPU; no bid below it is accepted',
    defaultNote: 'half of the price when absent',
  },
  storagePricePerGbMonth: { type: unitPriceType, meaning: '$ for a GB of disk and 720 hours' },
  downloadPricePerGb: { type: unitPriceType, meaning: '$', defaultValue: 0n },
  uploadPricePerGb: { type: unitPriceType, meaning: '$', defaultValue: 0n },
  listedUntil: { type: instant, meaning: 'no rental runs longer' },
  cpuName: { type: text(128), meaning: 'as its maker calls it' },
  cpuCores: { type: integer(1, 4_096), meaning: 'logical ones' },
  cpuRamGb: { type: decimal(0.001, 1_000_000, 1_000), meaning: 'memory' },
  diskGb: { type: decimal(8, 100_000, 1_000), meaning: 'what renters share' },
  downloadMbps: { type: decimal(0, 10_000_000), meaning: 'measured' },
  uploadMbps: { type: decimal(0, 10_000_000), meaning: 'measured' },
  publicIp: { type: ipv4Type, meaning: 'machines on one address share no port' },
  firstPort: { type: integer(1, 65_535), meaning: 'the first that renters are given' },
  lastPort: { type: integer(1, 65_535), meaning: 'the last one' },
  country: { type: countryType, meaning: 'where it stands' },
  city: { type: text(64), meaning: 'where it stands', defaultValue: '' },
  datacenter: { type: yesNo, meaning: 'it stands in one', defaultValue: false },
  staticIp: { type: yesNo, meaning: 'the address stays', defaultValue: false },
  vmsEnabled: { type: yesNo, meaning: 'virtual machines run on it', defaultValue: false },
  verification: { type: oneOf(...verifications), meaning: 'what the operator found', defaultValue: 'unverified' },
  reliability: { type: decimal(0, 1), meaning: 'share of the time that it kept its promises', defaultValue: 1 },
  dlperfPerGpu: {
    type: decimal(0.001, 1_000_000),
    meaning: 'deep learning performance of one GPU',
    defaultNote: "the model's TFLOPS when absent",
  },
  gpuMaxTempCelsius: { type: decimal(-100, 200), meaning: 'the hottest GPU', defaultValue: 0 },
  gpuDisplayActive: { type: yesNo, meaning: 'a screen is on a GPU', defaultValue: false },
  gpuLanes: { type: integer(1, 64), meaning: 'PCIe lanes of a GPU', defaultValue: 16 },
  nvlinkGbps: { type: decimal(0, 1_000_000), meaning: 'GB/s between GPUs; 0 without', defaultValue: 0 },
  pciGeneration: { type: decimal(0, 20), meaning: 'of PCIe', defaultValue: 0 },
  pcieGbps: { type: decimal(0, 1_000_000), meaning: 'GB/s, measured', defaultValue: 0 },
  cpuArch: { type: oneOf('amd64', 'arm64'), meaning: 'instruction set', defaultValue: 'amd64' },
  cpuGhz: { type: decimal(0, 100), meaning: 'at most', defaultValue: 0 },
  hasAvx: { type: yesNo, meaning: 'the CPU has AVX', defaultNote: 'whether cpuArch is amd64 when absent' },
  motherboard: { type: text(128), meaning: 'as its maker calls it', defaultValue: '' },
  osVersion: { type: decimal(0, 10_000), meaning: 'of Ubuntu, such as 24.04', defaultValue: 0 },
  diskName: { type: text(128), meaning: 'as its maker calls it', defaultValue: '' },
  diskMbps: { type: decimal(0, 10_000_000), meaning: 'MB/s, measured', defaultValue: 0 },
} as const satisfies Record<string, Column<never> | Column>

const gpuModelColumns = {
  gpuArchitecture: { type: oneOf('nvidia', 'amd'), meaning: 'maker', defaultNote: unknownModelNote },
  gpuRamMb: { type: integer(1, 100_000_000), meaning: 'memory of one GPU', defaultNote: unknownModelNote },
  gpuMemoryBandwidthGbps: { type: decimal(0, 1_000_000), meaning: 'GB/s', defaultNote: unknownModelNote },
  gpuTflops: { type: decimal(0.001, 1_000_000), meaning: 'FP32', defaultNote: unknownModelNote },
  gpuMaxPowerWatts: { type: decimal(0, 100_000), meaning: 'of one GPU', defaultNote: unknownModelNote },
  gpuComputeCapability: {
    type: decimal(0, 100, 100),
    meaning: 'of CUDA, such as 8.9; 0 where CUDA does not run',
    defaultNote: unknownModelNote,
  },
} as const satisfies Record<string, Column<never> | Column>

export const importColumns: Record<string, Column> = { ...machineColumns, ...gpuModelColumns } as Record<string, Column>

export const requiredColumns = Object.entries(importColumns)
  .filter(([, { defaultValue, defaultNote }]) => defaultValue === undefined && defaultNote === undefined)
  .map(([name]) => name)

type ValuesOf<Columns extends Record<string, { type: ColumnType<unknown> }>> = {
  [Name in keyof Columns]: Columns[Name] extends { type: ColumnType<infer Value> } ? Value : never
}
/** What a line says, as far as it can be read. */
export type ImportValues = Partial<MachineValues & ValuesOf<typeof gpuModelColumns>>
export type MachineValues = ValuesOf<typeof machineColumns>
