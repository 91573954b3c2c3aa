import type { OfferField } from '../../domain/offers/fields.ts'

/** Every figure that an offer, its price, its GPU model and its machine show, named as its field. */
export const orderFields = {
  PRICE_PER_HOUR: { value: 'pricePerHour', description: 'Price per hour of GPUs and disk while the instance runs.' },
  PRICE_PER_GPU_HOUR: {
    value: 'pricePerGpuHour',
    description: 'Price per hour of GPUs and disk, divided by the number of GPUs.',
  },
  GPU_PRICE_PER_HOUR: { value: 'gpuPricePerHour', description: 'Price per hour of the GPUs without a disk.' },
  DISK_PRICE_PER_HOUR: { value: 'diskPricePerHour', description: 'Price per hour of the disk alone.' },
  TFLOPS_PER_DOLLAR: { value: 'tflopsPerDollar', description: 'TFLOPS per US dollar of the hourly price.' },
  DLPERF_PER_DOLLAR: {
    value: 'dlperfPerDollar',
    description: 'Deep learning performance per US dollar of the hourly price.',
  },
  MINIMUM_BID_PER_HOUR: {
    value: 'minimumBidPerHour',
    description: 'Lowest bid for all GPUs of the offer that would win them now, per hour.',
  },
  DISK_PRICE_PER_GB_MONTH: { value: 'diskPricePerGbMonth', description: 'Price of one GB of disk for 720 hours.' },
  DOWNLOAD_PRICE_PER_GB: { value: 'downloadPricePerGb', description: 'Price of one GB downloaded.' },
  UPLOAD_PRICE_PER_GB: { value: 'uploadPricePerGb', description: 'Price of one GB uploaded.' },
  SCORE: {
    value: 'score',
    description:
      'Performance per dollar, on demand with a disk of 8 GB, multiplied by reliability. Independent of `pricing`.',
  },
  DLPERF: { value: 'dlperf', description: 'Deep learning performance score of all GPUs in the offer.' },
  TFLOPS: { value: 'tflops', description: 'Single-precision TFLOPS of all GPUs in the offer.' },
  NUM_GPUS: { value: 'numGpus', description: 'Number of GPUs in the offer.' },
  GPU_FRACTION: { value: 'gpuFraction', description: "Share of the machine's GPUs that the offer contains." },
  GPU_RAM_MB: { value: 'gpuRamMb', description: 'Memory of one GPU, as it reports.' },
  GPU_RAM_GB: { value: 'gpuRamGb', description: 'Memory of one GPU, as its maker states it.' },
  GPU_TOTAL_RAM_MB: { value: 'gpuTotalRamMb', description: 'Memory of all GPUs in the offer.' },
  GPU_MEMORY_BANDWIDTH_GIGABYTES_PER_SECOND: {
    value: 'gpuMemoryBandwidthGigabytesPerSecond',
    description: 'Memory bandwidth of one GPU.',
  },
  GPU_MAX_POWER_WATTS: { value: 'gpuMaxPowerWatts', description: 'Power limit of one GPU.' },
  GPU_MAX_TEMP_CELSIUS: {
    value: 'gpuMaxTempCelsius',
    description: 'Highest recent temperature of any GPU in the machine.',
  },
  GPU_LANES: { value: 'gpuLanes', description: 'Number of PCI Express lanes of each GPU.' },
  NVLINK_GIGABYTES_PER_SECOND: { value: 'nvlinkGigabytesPerSecond', description: 'NVLink bandwidth between GPUs.' },
  PCI_GENERATION: { value: 'pciGeneration', description: 'PCI Express generation of the machine.' },
  PCIE_GIGABYTES_PER_SECOND: {
    value: 'pcieGigabytesPerSecond',
    description: 'Measured bandwidth between CPU and GPU.',
  },
  CPU_CORES: { value: 'cpuCores', description: 'Number of virtual cores of the whole machine.' },
  CPU_CORES_EFFECTIVE: { value: 'cpuCoresEffective', description: 'Number of virtual cores that come with the GPUs.' },
  CPU_GHZ: { value: 'cpuGhz', description: 'CPU clock speed of the machine.' },
  CPU_RAM_GB: { value: 'cpuRamGb', description: 'Main memory of the whole machine.' },
  CPU_RAM_MB: { value: 'cpuRamMb', description: 'Main memory of the whole machine.' },
  MAX_DISK_GB: { value: 'maxDiskGb', description: 'Largest disk that a rental of the offer can have.' },
  TOTAL_DISK_GB: { value: 'totalDiskGb', description: 'Disk size of the whole machine.' },
  FREE_DISK_GB: { value: 'freeDiskGb', description: 'Disk space of the machine that is not rented.' },
  DISK_READ_MEGABYTES_PER_SECOND: {
    value: 'diskReadMegabytesPerSecond',
    description: 'Measured read bandwidth of the disk.',
  },
  DOWNLOAD_MBPS: { value: 'downloadMbps', description: 'Measured download bandwidth of the machine.' },
  UPLOAD_MBPS: { value: 'uploadMbps', description: 'Measured upload bandwidth of the machine.' },
  FREE_PORTS: { value: 'freePorts', description: 'Number of public ports that are not rented.' },
  CUDA_VERSION: {
    value: 'cudaVersion',
    description: 'Newest CUDA version that the driver supports. Machines without CUDA count as older than all.',
  },
  DRIVER_VERSION: { value: 'driverVersion', description: 'Version of the GPU driver.' },
  OS_VERSION: {
    value: 'osVersion',
    description: 'Version of Ubuntu. Machines with an unknown version count as older than all.',
  },
  COMPUTE_CAPABILITY: {
    value: 'computeCapability',
    description: 'CUDA compute capability of the GPU model. Models without CUDA count as lower than all.',
  },
  RELIABILITY: { value: 'reliability', description: 'Reliability of the machine, from 0 to 1.' },
  LISTED_UNTIL: { value: 'listedUntil', description: 'Time when the machine leaves the market.' },
  // Ids ascend in the order in which offers are inserted. `listedAt` is the time of the transaction, so the two orders
  // differ only between transactions that ran at the same time. No index has `listedAt`.
  LISTED_AT: { value: 'id', description: 'Time when the offer was listed.' },
} as const satisfies Record<string, { value: OfferField; description: string }>
