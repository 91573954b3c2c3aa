import type { Issue } from '../../domain/errors.ts'
import { parseDriverVersion } from '../../domain/machines/machines.ts'
import type { OfferField } from '../../domain/offers/fields.ts'
import {
  type Condition,
  checkFilter,
  emptyFieldMessage,
  type OfferFilter as Filter,
  type Operator,
  parseCondition,
} from '../../domain/offers/filter.ts'
import { quoteValue } from '../../domain/values.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { FloatFilter, IntFilter, StringFilter, UsdFilter, VersionFilter } from '../filters.ts'
import { tryParseId } from '../ids.ts'
import { GpuVendor } from '../machines/gpu-models.ts'
import { VerificationStatus } from '../machines/machines.ts'

const OfferAvailability = enumOf<Availability>('OfferAvailability', 'Whether offers can be rented now.', {
  available: 'Offers that can be rented now.',
  unavailable: 'Offers that cannot be rented now, because their GPUs are taken or their host does not list them.',
  any: 'All offers, whether they can be rented now or not.',
})
type Availability = 'available' | 'unavailable' | 'any'

type FilterInput = {
  or?: FilterInput[] | null | undefined
  availability?: Availability | null | undefined
} & { [Field in OfferField]?: unknown }

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
    machineId: t.id({ description: 'ID of the machine, such as `mch_42` or `42`.' }),
    hostId: t.int({ description: 'Number of the host: `Machine.hostId`.' }),

    gpuName: t.field({ type: StringFilter, description: 'Name of the GPU model, such as "RTX 4090".' }),
    gpuVendor: t.field({ type: [GpuVendor], description: 'Vendor of the GPU model: one of these.' }),
    numGpus: t.field({ type: IntFilter, description: 'Number of GPUs in the offer.' }),
    gpuFraction: t.field({
      type: FloatFilter,
      description: "Share of the machine's GPUs that the offer contains, 0 to 1.",
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
      type: IntFilter,
      description: 'CUDA compute capability times 100: 890 means 8.9. 0 without CUDA.',
    }),
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
    cpuRamMb: t.field({ type: IntFilter, description: 'Main memory of the whole machine in MB.' }),
    hasAvx: t.boolean({ description: 'Whether the CPU has AVX instructions.' }),
    motherboard: t.field({ type: StringFilter, description: 'Name of the motherboard, as its maker states it.' }),
    osVersion: t.field({ type: FloatFilter, description: 'Version of Ubuntu, such as 22.04.' }),
    driverVersion: t.field({ type: VersionFilter, description: 'Version of the GPU driver, such as "580.105.08".' }),
    cudaVersion: t.field({
      type: FloatFilter,
      description: 'Newest CUDA version that the driver supports, such as 12.8; 0 without CUDA.',
    }),
    pciGeneration: t.field({ type: FloatFilter, description: 'PCI Express generation.' }),
    pcieGigabytesPerSecond: t.field({
      type: FloatFilter,
      description: 'Measured bandwidth between CPU and GPU in GB/s (gigabytes).',
    }),

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
    datacenter: t.boolean({ description: 'Whether the machine is in a data center.' }),
    vmsEnabled: t.boolean({ description: 'Whether the machine can run virtual machines.' }),
    reliability: t.field({
      type: FloatFilter,
      description: 'Share of time that the machine worked as offered, 0 to 1.',
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
      description: 'Lowest bid per hour that would win the GPUs now, in US dollars.',
    }),
    diskPricePerGbMonth: t.field({
      type: UsdFilter,
      description: 'Price of one GB of disk for 720 hours, in US dollars.',
    }),
    downloadPricePerGb: t.field({ type: UsdFilter, description: 'Price of one GB downloaded, in US dollars.' }),
    uploadPricePerGb: t.field({ type: UsdFilter, description: 'Price of one GB uploaded, in US dollars.' }),
  }),
})

/**
 * Parses the filter, or throws an error that lists every problem. With `refuseEmptyFields`, a field without a
 * comparison is a problem: the client probably forgot a variable, and the offer found will cost money.
 */
export function parseOfferFilter(input: FilterInput, { refuseEmptyFields = false } = {}): Filter {
  const issues: Issue[] = []
  const availability = input.availability ?? 'available'
  const filter = parseFilterLevel({ ...input, availability }, 'filter', issues, refuseEmptyFields)
  return checkFilter(filter, issues)
}

/** Parses a filter without alternatives. Its fields must have the names of offer fields. */
export function parseConditions(input: object): Condition[] {
  const issues: Issue[] = []
  return checkFilter(parseFilterLevel(input, 'filter', issues), issues).conditions
}

function parseFilterLevel(
  { or, availability, ...fields }: FilterInput,
  path: string,
  issues: Issue[],
  refuseEmptyFields = false,
): Filter {
  const conditions: Condition[] =
    !availability || availability === 'any'
      ? []
      : [{ field: 'rentable', operator: 'eq', value: availability === 'available' }]
  // The schema admits only fields of FilterInput, and each has its name in the domain.
  for (const [field, input] of Object.entries(fields) as [OfferField, unknown][]) {
    const comparisons = comparisonsOf(input, `${path}.${field}`)
    if (refuseEmptyFields && input && comparisons.length === 0)
      issues.push({ path: `${path}.${field}`, message: emptyFieldMessage })
    for (const { operator, operand, path: place } of comparisons) {
      const condition = parseComparison(field, operator, operand)
      if (typeof condition === 'string') issues.push({ path: place, message: `${condition}.` })
      else conditions.push(condition)
    }
  }
  if (or?.length === 0) issues.push({ path: `${path}.or`, message: 'must have at least one alternative.' })
  const anyOf = (or ?? []).map((alternative, index) =>
    parseFilterLevel(alternative, `${path}.or.${index}`, issues, refuseEmptyFields),
  )
  return { conditions, anyOf }
}

type RawComparison = { operator: Operator; operand: unknown; path: string }

/** The comparisons of one field. A plain value means `eq`, a list means `in`. */
function comparisonsOf(input: unknown, path: string): RawComparison[] {
  if (input === null || input === undefined) return []
  if (Array.isArray(input)) return [{ operator: 'in', operand: input, path }]
  if (typeof input !== 'object') return [{ operator: 'eq', operand: input, path }]
  // The cast is safe: the fields of the schema's filter inputs, such as `IntFilter`, are operators.
  return Object.entries(input)
    .filter(([, operand]) => operand !== null && operand !== undefined)
    .map(([operator, operand]) => ({ operator: operator as Operator, operand, path: `${path}.${operator}` }))
}

/** IDs and versions are strings in GraphQL and numbers in the domain. */
function parseComparison(field: OfferField, operator: Operator, operand: unknown): Condition | string {
  if (field === 'machineId') {
    const id = tryParseId('Machine', String(operand))
    return typeof id === 'string' ? id : parseCondition(field, operator, Number(id))
  }
  if (field === 'driverVersion') {
    const version = parseDriverVersion(String(operand))
    if (version === undefined) return `${quoteValue(operand)} is not a version; versions look like 580.105.08`
    return parseCondition(field, operator, version)
  }
  return parseCondition(field, operator, operand)
}
