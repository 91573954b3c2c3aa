export const verifications = ['verified', 'unverified', 'deverified'] as const
export type Verification = (typeof verifications)[number]

/** A GPU model as the trade names it, with the facts that all of its cards share. */
export type GpuModel = {
  id: number
  name: string
  architecture: string
  ramMb: number
  memoryBandwidthGbps: number
  tflops: number
  maxPowerWatts: number
  /** CUDA compute capability times 100. */
  computeCapability: number
}

/** A host's computer. Money is nano-dollars: an hour for GPUs, a month for a GB of disk, a GB for traffic. */
export type Machine = {
  id: number
  hostId: number
  gpuModelId: number
  numGpus: number
  dlperfPerGpu: number
  gpuMaxTempCelsius: number
  gpuDisplayActive: boolean
  gpuLanes: number
  nvlinkGbps: number
  pciGeneration: number
  pcieGbps: number
  cudaVersion: number
  driverVersion: number
  cpuName: string
  cpuArch: string
  cpuCores: number
  cpuGhz: number
  cpuRamMb: number
  hasAvx: boolean
  motherboard: string
  osVersion: number
  diskName: string
  diskMbps: number
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
  verification: Verification
  reliability: number
  gpuNanos: bigint
  minBidGpuNanos: bigint
  storageNanos: bigint
  downloadNanos: bigint
  uploadNanos: bigint
  listedAt: Date
  listedUntil: Date
  /** Since when nothing new is rented on it. */
  drainedAt: Date | null
  /** Since when it is off the market. */
  unlistedAt: Date | null
  /** Since when it does not confirm a stop. Nothing new is rented on it until it does. */
  unconfirmedAt: Date | null
}

export type Block = { firstGpu: number; numGpus: number }

/** What of a machine can be rented as one: all of it, and every aligned power of two of its GPUs that fits. */
export function blocksOf(numGpus: number): Block[] {
  const blocks: Block[] = [{ firstGpu: 0, numGpus }]
  for (let size = 1; size < numGpus; size *= 2) {
    for (let firstGpu = 0; firstGpu + size <= numGpus; firstGpu += size) blocks.push({ firstGpu, numGpus: size })
  }
  return blocks
}

/** A driver version is kept as one number, so that versions compare: 535.86.05 is 535086005. */
export function parseDriverVersion(text: string): number | undefined {
  const [, major, minor = '0', patch = '0'] = /^(\d{1,4})(?:\.(\d{1,3}))?(?:\.(\d{1,3}))?$/.exec(text) ?? []
  if (major === undefined) return undefined
  return Number(major) * 1_000_000 + Number(minor) * 1_000 + Number(patch)
}

/**
 * As its maker writes it: NVIDIA's last part has at least two digits, AMD's as few as it needs. The number does not
 * tell whether a last part of zero was written, so it always is: "565.77" is printed as "565.77.00".
 */
export function printDriverVersion(version: number, architecture: string): string {
  const [major, minor, patch] = [Math.floor(version / 1_000_000), Math.floor(version / 1_000) % 1_000, version % 1_000]
  return `${major}.${minor}.${String(patch).padStart(architecture === 'nvidia' ? 2 : 1, '0')}`
}
