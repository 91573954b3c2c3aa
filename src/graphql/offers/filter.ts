import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { FloatFilter, IdFilter, IntFilter, StringFilter, UsdFilter, VersionFilter } from '../filters.ts'
import { GpuVendor } from '../machines/gpu-models.ts'
import { Region, VerificationStatus } from '../machines/machines.ts'
import type { Availability, FilterInput } from './parse-filter.ts'

const OfferAvailability = enumOf<Availability>('OfferAvailability', 'Whether offers can be rented now.', {
  available: 'Offers that can be rented now.',
  unavailable: 'Offers that cannot be rented now, because their GPUs are taken or their host does not list them.',
  any: 'All offers, whether they can be rented now or not.',
})
export const OfferFilter = builder.inputRef<FilterInput>('OfferFilter').implement({
  description:
    'Conditions for offers. All given fields must match. A field that is null or absent says nothing, except that `availability` then means `AVAILABLE`.',
  fields: t => ({
    or: t.field({
      type: [OfferFilter],
      description:
        'Alternatives. At least one of them must match in addition to the other fields. They nest at most three levels deep.',
    }),
    availability: t.field({
      type: OfferAvailability,
      description:
        'Whether the offer can be rented now. Null and absent mean `AVAILABLE`; inside `or`, they say nothing.',
    }),
    verified: t.boolean({ description: 'Whether the machine is verified.' }),
    verification: t.field({
      type: [VerificationStatus],
      description: 'Verification status of the machine: one of these.',
    }),
    machineId: t.field({ type: IdFilter, description: 'ID of the machine, such as `mch_42` or `42`.' }),
    hostId: t.field({ type: IdFilter, description: 'ID of the host of the machine, such as `hst_42` or `42`.' }),

    gpuName: t.field({ type: StringFilter, description: 'Name of the GPU model, such as "RTX 4090".' }),
    gpuVendor: t.field({ type: [GpuVendor], description: 'Vendor of the GPU model: one of these.' }),
    numGpus: t.field({ type: IntFilter, description: 'Number of GPUs in the offer.' }),
    gpuFraction: t.field({
      type: FloatFilter,
      description: "Share of the machine's GPUs that the offer contains, 0 to 1.",
    }),
    gpuRamGb: t.field({
      type: FloatFilter,
      description: 'Memory of one GPU in GB as its maker states it: 24 for a card that reports 24,564 MB.',
    }),
    gpuRamMb: t.field({ type: IntFilter, description: 'Memory of one GPU in MB.' }),
    gpuTotalRamMb: t.field({ type: IntFilter, description: 'Memory of all GPUs in the offer, in MB.' }),
    gpuMemoryBandwidthGigabytesPerSecond: t.field({
      type: FloatFilter,
      description: 'Memory bandwidth of one GPU in GB/s (gigabytes).',
    }),
    gpuMaxPowerWatts: t.field({ type: FloatFilter, description: 'Power limit of one GPU in watts.' }),
    gpuMaxTempCelsius: t.field({
      type: FloatFilter,
      description: 'Highest recent temperature of any GPU in the machine, in degrees Celsius.',
    }),
    gpuDisplayActive: t.boolean({ description: 'Whether a display is attached to a GPU.' }),
    computeCapability: t.field({
      type: VersionFilter,
      description: 'CUDA compute capability of the GPU model, such as "8.9".',
    }),
    gpuLanes: t.field({ type: IntFilter, description: 'Number of PCI Express lanes of each GPU.' }),
    nvlinkGigabytesPerSecond: t.field({
      type: FloatFilter,
      description: 'NVLink bandwidth between GPUs in GB/s (gigabytes); 0 without NVLink.',
    }),

    tflops: t.field({ type: FloatFilter, description: 'Single-precision TFLOPS of all GPUs in the offer.' }),
    tflopsPerDollar: t.field({ type: FloatFilter, description: 'TFLOPS per US dollar of the hourly price.' }),
    dlperf: t.field({ type: FloatFilter, description: 'Deep learning performance score of all GPUs in the offer.' }),
    dlperfPerDollar: t.field({
      type: FloatFilter,
      description: 'Deep learning performance per US dollar of the hourly price.',
    }),
    score: t.field({
      type: FloatFilter,
      description:
        'Performance per dollar, on demand with a disk of 8 GB, multiplied by reliability. Independent of `pricing`. Higher is better.',
    }),

    cpuArch: t.field({ type: StringFilter, description: 'CPU architecture: `amd64` or `arm64`.' }),
    cpuCores: t.field({ type: IntFilter, description: 'Number of virtual cores of the whole machine.' }),
    cpuCoresEffective: t.field({
      type: FloatFilter,
      description: "Number of virtual cores that come with the offer's GPUs.",
    }),
    cpuGhz: t.field({ type: FloatFilter, description: 'CPU clock speed in GHz.' }),
    cpuRamGb: t.field({ type: FloatFilter, description: 'Main memory of the whole machine in GB.' }),
    cpuRamMb: t.field({ type: IntFilter, description: 'Main memory of the whole machine in MB: 1,000 are a GB.' }),
    hasAvx: t.boolean({ description: 'Whether the CPU has AVX instructions.' }),
    motherboard: t.field({ type: StringFilter, description: 'Name of the motherboard, as its maker states it.' }),
    osVersion: t.field({ type: VersionFilter, description: 'Version of Ubuntu, such as "22.04".' }),
    driverVersion: t.field({ type: VersionFilter, description: 'Version of the GPU driver, such as "580.105.08".' }),
    cudaVersion: t.field({
      type: VersionFilter,
      description: 'Newest CUDA version that the driver supports, such as "12.8".',
    }),
    pciGeneration: t.field({ type: FloatFilter, description: 'Generation of PCI Express, such as 4.' }),
    pcieGigabytesPerSecond: t.field({
      type: FloatFilter,
      description: 'Measured bandwidth between CPU and GPU in GB/s (gigabytes).',
    }),

    maxDiskGb: t.field({
      type: FloatFilter,
      description: 'Largest disk that a rental of the offer can have, in GB.',
    }),
    totalDiskGb: t.field({ type: FloatFilter, description: 'Disk size of the whole machine in GB.' }),
    freeDiskGb: t.field({ type: FloatFilter, description: 'Disk space of the machine that is not rented, in GB.' }),
    diskReadMegabytesPerSecond: t.field({
      type: FloatFilter,
      description: 'Measured read bandwidth of the disk in MB/s (megabytes).',
    }),
    downloadMbps: t.field({ type: FloatFilter, description: 'Measured download bandwidth in Mb/s (megabits).' }),
    uploadMbps: t.field({ type: FloatFilter, description: 'Measured upload bandwidth in Mb/s (megabits).' }),
    freePorts: t.field({
      type: IntFilter,
      description: 'Number of public ports of the machine that are not rented.',
    }),
    staticIp: t.boolean({ description: 'Whether the public IP address is static.' }),

    country: t.field({ type: StringFilter, description: 'Country of the machine: two letters, ISO 3166.' }),
    city: t.field({ type: StringFilter, description: 'City of the machine, as its host states it.' }),
    region: t.field({ type: [Region], description: 'Region of the world of the machine: one of these.' }),
    datacenter: t.boolean({ description: 'Whether the machine is in a data center.' }),
    vmsEnabled: t.boolean({ description: 'Whether the machine can run virtual machines.' }),
    limitsDisk: t.boolean({
      description: 'Whether each instance of the machine can use only the disk that it was rented with.',
    }),
    reliability: t.field({
      type: FloatFilter,
      description:
        'Reliability of the machine, 0 to 1: what its operator states, lowered by failed starts and by the time without an answer in the last 30 days.',
    }),
    availableSeconds: t.field({ type: FloatFilter, description: 'Longest possible rental, in seconds from now.' }),

    pricePerHour: t.field({
      type: UsdFilter,
      description: 'Price per hour of the GPUs and the disk for the `pricing` of the search, in US dollars.',
    }),
    gpuPricePerHour: t.field({
      type: UsdFilter,
      description: 'Price per hour of the GPUs without a disk for the `pricing` of the search, in US dollars.',
    }),
    diskPricePerHour: t.field({
      type: UsdFilter,
      description: 'Price per hour of the disk alone for the `pricing` of the search, in US dollars.',
    }),
    pricePerGpuHour: t.field({
      type: UsdFilter,
      description: '`pricePerHour` divided by the number of GPUs, in US dollars.',
    }),
    minimumBidPerHour: t.field({
      type: UsdFilter,
      description: 'Lowest bid for all GPUs of the offer that would win them now, in US dollars per hour.',
    }),
    diskPricePerGbMonth: t.field({
      type: UsdFilter,
      description: 'Price of one GB of disk for 720 hours, in US dollars.',
    }),
    downloadPricePerGb: t.field({ type: UsdFilter, description: 'Price of one GB downloaded, in US dollars.' }),
    uploadPricePerGb: t.field({ type: UsdFilter, description: 'Price of one GB uploaded, in US dollars.' }),
  }),
})
