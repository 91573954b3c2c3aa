// The columns with which hosts describe machines, in the units that people write: one table for reading, checking and
// for the help. What a host need not know has a default; 0 stands for what nobody measured.

import { decimal, instant, type Kind, like, oneOf, text, usd, whole, yesNo } from './import-kinds.ts'
import { parseDriverVersion, verifications } from './machines.ts'

type Column<Value = unknown> = {
  kind: Kind<Value>
  meaning: string
  /** Absent where the column is required, or where what is absent follows from the rest. */
  fallback?: Value
  /** What is said of its absence in the help, for lack of a constant. */
  otherwise?: string
}

const driver: Kind<number> = {
  must: 'a version such as 570.172.08',
  read(value) {
    const version = parseDriverVersion(value)
    // What four bytes hold.
    return version !== undefined && version < 2 ** 31 ? version : undefined
  },
}
const ipv4 = like(/^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/, 'an IPv4 address such as 203.0.113.7')
const country = like(/^[A-Z]{2}$/, 'two capital letters, as in ISO 3166')
const price = usd(1n, 1_000_000_000_000n)
const unitPrice = usd(0n, 10_000_000_000n)
const ofUnknown = 'only for a GPU model that Berth does not know'

export const machineColumns = {
  gpuModel: { kind: text(64), meaning: 'GPU model, by its name in the trade' },
  numGpus: { kind: whole(1, 16), meaning: 'how many' },
  driverVersion: { kind: driver, meaning: 'of the GPUs' },
  cudaVersion: { kind: decimal(0, 100), meaning: 'the newest that the driver runs; 0 where CUDA does not run' },
  gpuPricePerHour: { kind: price, meaning: '$ for one GPU' },
  minBidPerHour: {
    kind: price,
    meaning: '$ for one GPU; no bid below it is accepted',
    otherwise: 'half of the price when absent',
  },
  storagePricePerGbMonth: { kind: unitPrice, meaning: '$ for a GB of disk and 720 hours' },
  downloadPricePerGb: { kind: unitPrice, meaning: '$', fallback: 0n },
  uploadPricePerGb: { kind: unitPrice, meaning: '$', fallback: 0n },
  listedUntil: { kind: instant, meaning: 'no rental runs longer' },
  cpuName: { kind: text(128), meaning: 'as its maker calls it' },
  cpuCores: { kind: whole(1, 4_096), meaning: 'logical ones' },
  cpuRamGb: { kind: decimal(0.001, 1_000_000, 1_000), meaning: 'memory' },
  diskGb: { kind: decimal(8, 100_000, 1_000), meaning: 'what renters share' },
  downloadMbps: { kind: decimal(0, 10_000_000), meaning: 'measured' },
  uploadMbps: { kind: decimal(0, 10_000_000), meaning: 'measured' },
  publicIp: { kind: ipv4, meaning: 'machines on one address share no port' },
  firstPort: { kind: whole(1, 65_535), meaning: 'the first that renters are given' },
  lastPort: { kind: whole(1, 65_535), meaning: 'the last one' },
  country: { kind: country, meaning: 'where it stands' },
  city: { kind: text(64), meaning: 'where it stands', fallback: '' },
  datacenter: { kind: yesNo, meaning: 'it stands in one', fallback: false },
  staticIp: { kind: yesNo, meaning: 'the address stays', fallback: false },
  vmsEnabled: { kind: yesNo, meaning: 'virtual machines run on it', fallback: false },
  verification: { kind: oneOf(...verifications), meaning: 'what the operator found', fallback: 'unverified' },
  reliability: { kind: decimal(0, 1), meaning: 'share of the time that it kept its promises', fallback: 1 },
  dlperfPerGpu: {
    kind: decimal(0.001, 1_000_000),
    meaning: 'deep learning performance of one GPU',
    otherwise: "the model's TFLOPS when absent",
  },
  gpuMaxTempCelsius: { kind: decimal(-100, 200), meaning: 'the hottest GPU', fallback: 0 },
  gpuDisplayActive: { kind: yesNo, meaning: 'a screen is on a GPU', fallback: false },
  gpuLanes: { kind: whole(1, 64), meaning: 'PCIe lanes of a GPU', fallback: 16 },
  nvlinkGbps: { kind: decimal(0, 1_000_000), meaning: 'GB/s between GPUs; 0 without', fallback: 0 },
  pciGeneration: { kind: decimal(0, 20), meaning: 'of PCIe', fallback: 0 },
  pcieGbps: { kind: decimal(0, 1_000_000), meaning: 'GB/s, measured', fallback: 0 },
  cpuArch: { kind: oneOf('amd64', 'arm64'), meaning: 'instruction set', fallback: 'amd64' },
  cpuGhz: { kind: decimal(0, 100), meaning: 'at most', fallback: 0 },
  hasAvx: { kind: yesNo, meaning: 'the CPU has AVX', otherwise: 'whether cpuArch is amd64 when absent' },
  motherboard: { kind: text(128), meaning: 'as its maker calls it', fallback: '' },
  osVersion: { kind: decimal(0, 10_000), meaning: 'of Ubuntu, such as 24.04', fallback: 0 },
  diskName: { kind: text(128), meaning: 'as its maker calls it', fallback: '' },
  diskMbps: { kind: decimal(0, 10_000_000), meaning: 'MB/s, measured', fallback: 0 },
} as const satisfies Record<string, Column<never> | Column>

const gpuModelColumns = {
  gpuArchitecture: { kind: oneOf('nvidia', 'amd'), meaning: 'maker', otherwise: ofUnknown },
  gpuRamMb: { kind: whole(1, 100_000_000), meaning: 'memory of one GPU', otherwise: ofUnknown },
  gpuMemoryBandwidthGbps: { kind: decimal(0, 1_000_000), meaning: 'GB/s', otherwise: ofUnknown },
  gpuTflops: { kind: decimal(0.001, 1_000_000), meaning: 'FP32', otherwise: ofUnknown },
  gpuMaxPowerWatts: { kind: decimal(0, 100_000), meaning: 'of one GPU', otherwise: ofUnknown },
  gpuComputeCapability: {
    kind: decimal(0, 100, 100),
    meaning: 'of CUDA, such as 8.9; 0 where CUDA does not run',
    otherwise: ofUnknown,
  },
} as const satisfies Record<string, Column<never> | Column>

export const importColumns: Record<string, Column> = { ...machineColumns, ...gpuModelColumns } as Record<string, Column>

export const requiredColumns = Object.entries(importColumns)
  .filter(([, { fallback, otherwise }]) => fallback === undefined && otherwise === undefined)
  .map(([name]) => name)

type ValuesOf<Columns extends Record<string, { kind: Kind<unknown> }>> = {
  [Name in keyof Columns]: Columns[Name] extends { kind: Kind<infer Value> } ? Value : never
}
/** What a line says, as far as it can be read. */
export type ImportValues = Partial<MachineValues & ValuesOf<typeof gpuModelColumns>>
export type MachineValues = ValuesOf<typeof machineColumns>
