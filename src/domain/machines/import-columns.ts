// The columns of a machine import, in the units that people write. Parsing, checks and the help derive from this table.
// A column that a host may not know has a default. In a column of measurements, 0 means not measured.

import { type ColumnType, decimal, instant, integer, matching, oneOf, text, usd, yesNo } from './import-column-types.ts'
import { gpuVendors, maxGpus, verifications } from './machines.ts'
import { parseDriverVersion, parseVersion, versionNumberOf } from './versions.ts'

type Column<Value = unknown> = {
  type: ColumnType<Value>
  meaning: string
  /** Undefined if the column is required, or if what its absence means depends on other columns. */
  defaultValue?: Value
  /** For the help: what the absence of an optional column means, if it has no `defaultValue`. */
  absentNote?: string
}

const driverVersionType: ColumnType<string> = {
  expected: 'a version such as 570.172.08',
  parse(value) {
    const number = parseDriverVersion(value)
    // REST clients read the number into four bytes.
    return number !== undefined && number < 2 ** 31 ? value : undefined
  },
}
/** 0 means that there is none. */
const cudaVersionType: ColumnType<string | null> = {
  expected: 'a version such as 12.8, or 0',
  parse: value => nullIfZero(parseVersion(value)),
}
const computeCapabilityType: ColumnType<string | null> = {
  expected: 'a version such as 8.9, or 0',
  parse: value => (/^\d{1,3}(\.\d{1,2})?$/.test(value) ? nullIfZero(value) : undefined),
}
/** Versions of Ubuntu end with a month of two digits. A number does not have the zero of 20.10. */
const osVersionType: ColumnType<string | null> = {
  expected: 'a version such as 24.04, or 0',
  parse: value => nullIfZero(parseVersion(/^\d+\.\d$/.test(value) ? `${value}0` : value)),
}
function nullIfZero(version: string | undefined): string | null | undefined {
  return version !== undefined && versionNumberOf(version) === 0 ? null : version
}
const ipv4Type = matching(
  /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/,
  'an IPv4 address such as 203.0.113.7',
)
const countryType = matching(/^[A-Z]{2}$/, 'two capital letters, as in ISO 3166')
const gpuPriceType = usd(1n, 1_000_000_000_000n)
const unitPriceType = usd(0n, 10_000_000_000n)
const unknownModelNote = 'required for a GPU model that Berth does not know'

export const importMachineColumns = {
  gpuModel: { type: text(64), meaning: 'trade name of the GPU model' },
  numGpus: { type: integer(1, maxGpus), meaning: 'number of GPUs' },
  driverVersion: { type: driverVersionType, meaning: 'GPU driver version' },
  cudaVersion: { type: cudaVersionType, meaning: 'newest CUDA version that the driver supports; 0 without CUDA' },
  pricePerGpuHour: { type: gpuPriceType, meaning: 'US dollars per GPU per hour' },
  minimumBidPerGpuHour: {
    type: gpuPriceType,
    meaning: 'lowest accepted bid, US dollars per GPU per hour',
    absentNote: 'default: half of pricePerGpuHour',
  },
  storagePricePerGbMonth: { type: unitPriceType, meaning: 'US dollars per GB of disk per 720 hours' },
  downloadPricePerGb: { type: unitPriceType, meaning: 'US dollars per GB downloaded', defaultValue: 0n },
  uploadPricePerGb: { type: unitPriceType, meaning: 'US dollars per GB uploaded', defaultValue: 0n },
  listedUntil: { type: instant, meaning: 'end of the listing; no rental runs longer' },
  cpuName: { type: text(128), meaning: 'CPU model' },
  cpuCores: { type: integer(1, 4_096), meaning: 'logical CPU cores' },
  cpuRamGb: { type: decimal(0.001, 1_000_000, 1_000), meaning: 'memory in GB' },
  diskGb: { type: decimal(8, 100_000, 1_000), meaning: 'disk that renters share, in GB' },
  downloadMbps: { type: decimal(0, 10_000_000), meaning: 'measured download speed' },
  uploadMbps: { type: decimal(0, 10_000_000), meaning: 'measured upload speed' },
  publicIp: { type: ipv4Type, meaning: 'public address; machines that share it must not share ports' },
  firstPort: { type: integer(1, 65_535), meaning: 'first port for renters' },
  lastPort: { type: integer(1, 65_535), meaning: 'last port for renters' },
  country: { type: countryType, meaning: 'country of the machine' },
  city: { type: text(64), meaning: 'city of the machine', defaultValue: '' },
  datacenter: { type: yesNo, meaning: 'whether the machine is in a data center', defaultValue: false },
  staticIp: { type: yesNo, meaning: 'whether the public address is permanent', defaultValue: false },
  vmsEnabled: { type: yesNo, meaning: 'whether the machine runs virtual machines', defaultValue: false },
  verification: {
    type: oneOf(...verifications),
    meaning: "result of the operator's check",
    defaultValue: 'unverified',
  },
  reliability: {
    type: decimal(0, 1),
    meaning: 'share of the time that the machine is up; failures of the last 30 days lower it',
    defaultValue: 1,
  },
  dlperfPerGpu: {
    type: decimal(0.001, 1_000_000),
    meaning: 'deep learning performance of one GPU',
    absentNote: "default: the model's TFLOPS",
  },
  gpuMaxTempCelsius: { type: decimal(-100, 200), meaning: 'temperature of the hottest GPU', defaultValue: 0 },
  gpuDisplayActive: { type: yesNo, meaning: 'whether a screen is attached to a GPU', defaultValue: false },
  gpuLanes: { type: integer(1, 64), meaning: 'PCIe lanes per GPU', defaultValue: 16 },
  nvlinkGigabytesPerSecond: {
    type: decimal(0, 1_000_000),
    meaning: 'NVLink GB/s between GPUs; 0 without NVLink',
    defaultValue: 0,
  },
  pciGeneration: { type: decimal(0, 20), meaning: 'PCIe generation', defaultValue: 0 },
  pcieGigabytesPerSecond: { type: decimal(0, 1_000_000), meaning: 'measured PCIe GB/s', defaultValue: 0 },
  cpuArch: { type: oneOf('amd64', 'arm64'), meaning: 'CPU instruction set', defaultValue: 'amd64' },
  cpuGhz: { type: decimal(0, 100), meaning: 'maximum CPU clock', defaultValue: 0 },
  hasAvx: { type: yesNo, meaning: 'whether the CPU has AVX', absentNote: 'default: true for amd64, else false' },
  motherboard: { type: text(128), meaning: 'motherboard model', defaultValue: '' },
  osVersion: { type: osVersionType, meaning: 'Ubuntu version, such as 24.04; 0 if unknown', defaultValue: null },
  diskName: { type: text(128), meaning: 'disk model', defaultValue: '' },
  diskReadMegabytesPerSecond: { type: decimal(0, 10_000_000), meaning: 'measured disk MB/s', defaultValue: 0 },
} as const satisfies Record<string, Column<never> | Column>

/** The prices of a machine, by the columns that have them. */
export const priceFields = {
  pricePerGpuHour: 'gpuNanos',
  minimumBidPerGpuHour: 'minBidGpuNanos',
  storagePricePerGbMonth: 'diskPricePerGbMonthNanos',
  downloadPricePerGb: 'downloadPricePerGbNanos',
  uploadPricePerGb: 'uploadPricePerGbNanos',
} as const satisfies Partial<Record<keyof typeof importMachineColumns, string>>

const importGpuModelColumns = {
  gpuVendor: { type: oneOf(...gpuVendors), meaning: 'GPU vendor', absentNote: unknownModelNote },
  gpuRamMb: { type: integer(1, 100_000_000), meaning: 'memory of one GPU', absentNote: unknownModelNote },
  gpuMemoryBandwidthGigabytesPerSecond: {
    type: decimal(0, 1_000_000),
    meaning: 'memory GB/s',
    absentNote: unknownModelNote,
  },
  gpuTflops: { type: decimal(0.001, 1_000_000), meaning: 'FP32 TFLOPS of one GPU', absentNote: unknownModelNote },
  gpuMaxPowerWatts: { type: decimal(0, 100_000), meaning: 'maximum power of one GPU', absentNote: unknownModelNote },
  gpuComputeCapability: {
    type: computeCapabilityType,
    meaning: 'CUDA compute capability, such as 8.9; 0 without CUDA',
    absentNote: unknownModelNote,
  },
} as const satisfies Record<string, Column<never> | Column>

export const importColumns: Record<string, Column> = { ...importMachineColumns, ...importGpuModelColumns } as Record<
  string,
  Column
>

export const requiredColumns = Object.entries(importColumns)
  .filter(([, { defaultValue, absentNote }]) => defaultValue === undefined && absentNote === undefined)
  .map(([name]) => name)

type ValuesOf<Columns extends Record<string, { type: ColumnType<unknown> }>> = {
  [Name in keyof Columns]: Columns[Name] extends { type: ColumnType<infer Value> } ? Value : never
}
/** The values of a row that could be parsed. */
export type ImportValues = Partial<MachineValues & ValuesOf<typeof importGpuModelColumns>>
export type MachineValues = ValuesOf<typeof importMachineColumns>
