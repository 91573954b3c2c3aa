export const verifications = ['verified', 'unverified', 'deverified'] as const
export type Verification = (typeof verifications)[number]

export const gpuVendors = ['nvidia', 'amd'] as const
export type GpuVendor = (typeof gpuVendors)[number]

/** A GPU model by its trade name, with the facts that all its cards share. */
export type GpuModel = {
  id: number
  name: string
  vendor: GpuVendor
  ramMb: number
  /** GB/s: bytes, not bits. */
  memoryBandwidthGigabytesPerSecond: number
  tflops: number
  maxPowerWatts: number
  /** CUDA compute capability as a version such as 8.9; null without CUDA. */
  computeCapability: string | null
}

/**
 * A host's computer. Prices are nano-dollars: per GPU per hour, per GB of disk per month, per GB of traffic. Speeds are
 * bytes per second in `nvlinkGigabytesPerSecond`, `pcieGigabytesPerSecond` and `diskReadMegabytesPerSecond` (GB/s and MB/s), and bits in `downloadMbps` and
 * `uploadMbps` (Mb/s).
 */
export type Machine = {
  id: number
  hostId: number
  gpuModelId: number
  numGpus: number
  dlperfPerGpu: number
  gpuMaxTempCelsius: number
  gpuDisplayActive: boolean
  gpuLanes: number
  nvlinkGigabytesPerSecond: number
  pciGeneration: number
  pcieGigabytesPerSecond: number
  /** Null without CUDA. */
  cudaVersion: string | null
  driverVersion: string
  cpuName: string
  cpuArch: string
  cpuCores: number
  cpuGhz: number
  cpuRamMb: number
  hasAvx: boolean
  motherboard: string
  /** Null if the host does not state it. */
  osVersion: string | null
  diskName: string
  diskReadMegabytesPerSecond: number
  diskMb: number
  freeDiskMb: number
  downloadMbps: number
  uploadMbps: number
  publicIp: string
  staticIp: boolean
  firstPort: number
  lastPort: number
  freePorts: number
  country: string
  city: string
  datacenter: boolean
  vmsEnabled: boolean
  /** Whether each container has only the disk that it was rented with. */
  limitsDisk: boolean
  verification: Verification
  reliability: number
  gpuNanos: bigint
  minBidGpuNanos: bigint
  /** Nano-dollars per GB of disk per month of 720 hours. */
  diskPricePerGbMonthNanos: bigint
  downloadPricePerGbNanos: bigint
  uploadPricePerGbNanos: bigint
  listedAt: Date
  listedUntil: Date
  /** Since when the machine takes no new rentals because its operator drained it; null if it is not drained. */
  drainedAt: Date | null
  /** When the machine left the market; null while it is on it. */
  unlistedAt: Date | null
  /** Since when a stop is overdue for confirmation; null if none is. Meanwhile the machine takes no new rentals. */
  unconfirmedAt: Date | null
}

/** The facts of a machine that decide its market. */
export type MarketMachine = Pick<
  Machine,
  | 'id'
  | 'gpuModelId'
  | 'numGpus'
  | 'dlperfPerGpu'
  | 'freeDiskMb'
  | 'freePorts'
  | 'country'
  | 'verification'
  | 'reliability'
  | 'gpuNanos'
  | 'minBidGpuNanos'
  | 'diskPricePerGbMonthNanos'
  | 'listedUntil'
  | 'drainedAt'
  | 'unconfirmedAt'
>

/** No machine has more GPUs. */
export const maxGpus = 16

export type Block = { firstGpu: number; numGpus: number }

/** The blocks of GPUs that can be rented: the whole machine, and every aligned power of two that fits. */
export function blocksOf(numGpus: number): Block[] {
  const blocks: Block[] = [{ firstGpu: 0, numGpus }]
  for (let size = 1; size < numGpus; size *= 2) {
    for (let firstGpu = 0; firstGpu + size <= numGpus; firstGpu += size) blocks.push({ firstGpu, numGpus: size })
  }
  return blocks
}
