import type { Issue } from '../../domain/errors.ts'
import { parseDriverVersion } from '../../domain/machines/machines.ts'
import type { OfferField } from '../../domain/offers/fields.ts'
import {
  type Condition,
  checkFilter,
  emptyComparisonMessage,
  type OfferFilter as Filter,
  type Operator,
  parseCondition,
  quoteValue,
} from '../../domain/offers/filter.ts'
import { builder } from '../builder.ts'
import { tryParseId } from '../ids.ts'
import { FloatFilter, IntFilter, StringFilter, UsdFilter, VersionFilter } from '../inputs/filters.ts'
import { VerificationStatus } from '../machines/machines.ts'

type FilterInput = { or?: FilterInput[] | null | undefined } & { [Field in OfferField]?: unknown }

export const OfferFilter = builder.inputRef<FilterInput>('OfferFilter').implement({
  description: 'Which offers are wanted. Every field that is given must hold; null and absent fields say nothing.',
  fields: t => ({
    or: t.field({ type: [OfferFilter], description: 'At least one of these holds too. At most three levels deep.' }),
    rentable: t.boolean({ description: 'Whether it can be rented now. True when absent; null asks for both.' }),
    verified: t.boolean({ description: 'Whether the machine is verified.' }),
    verification: t.field({
      type: [VerificationStatus],
      description: 'How far the machine has been checked: one of these.',
    }),
    machineId: t.id({ description: 'Offers of this machine, such as `mch_42`, or `42`.' }),
    hostId: t.int({ description: 'Offers of this host.' }),

    gpuName: t.field({ type: StringFilter, description: 'GPU model, such as "RTX 4090".' }),
    gpuArchitecture: t.field({ type: StringFilter, description: '`nvidia` or `amd`.' }),
    numGpus: t.field({ type: IntFilter, description: 'GPUs of the offer.' }),
    gpuFraction: t.field({ type: FloatFilter, description: "Share of the machine's GPUs, 0 to 1." }),
    gpuRamMb: t.field({ type: IntFilter, description: 'Memory of one GPU in MB.' }),
    gpuTotalRamMb: t.field({ type: IntFilter, description: 'Memory of all GPUs of the offer in MB.' }),
    gpuMemoryBandwidthGbps: t.field({ type: FloatFilter, description: 'Memory bandwidth of one GPU in GB/s.' }),
    gpuMaxPowerWatts: t.field({ type: FloatFilter, description: 'Power limit of one GPU in watts.' }),
    gpuMaxTempCelsius: t.field({
      type: FloatFilter,
      description: 'Hottest GPU of the machine lately, in degrees Celsius.',
    }),
    gpuDisplayActive: t.boolean({ description: 'Whether a display is attached to a GPU.' }),
    computeCapability: t.field({ type: IntFilter, description: 'CUDA compute capability times 100.' }),
    nvlinkGbps: t.field({ type: FloatFilter, description: 'Bandwidth between GPUs in GB/s; 0 without NVLink.' }),

    tflops: t.field({ type: FloatFilter, description: 'Single precision TFLOPS of the offer.' }),
    tflopsPerDollar: t.field({ type: FloatFilter, description: 'TFLOPS per dollar an hour.' }),
    dlperf: t.field({ type: FloatFilter, description: 'Deep learning performance of the offer.' }),
    dlperfPerDollar: t.field({ type: FloatFilter, description: 'Deep learning performance per dollar an hour.' }),
    score: t.field({ type: FloatFilter, description: 'Performance per dollar times reliability.' }),

    cpuArch: t.field({ type: StringFilter, description: '`amd64` or `arm64`.' }),
    cpuCores: t.field({ type: IntFilter, description: 'Virtual cores of the whole machine.' }),
    cpuCoresEffective: t.field({ type: FloatFilter, description: "Virtual cores that go with the offer's GPUs." }),
    cpuGhz: t.field({ type: FloatFilter, description: 'Clock speed in GHz.' }),
    cpuRamMb: t.field({ type: IntFilter, description: 'Memory of the whole machine in MB.' }),
    hasAvx: t.boolean({ description: 'Whether the CPU has AVX instructions.' }),
    motherboard: t.field({ type: StringFilter, description: 'The board as its maker names it.' }),
    osVersion: t.field({ type: FloatFilter, description: 'Version of Ubuntu: 22.04.' }),
    driverVersion: t.field({ type: VersionFilter, description: 'Version of the GPU driver.' }),
    cudaVersion: t.field({ type: FloatFilter, description: 'Newest CUDA that the driver runs: 12.8.' }),
    pciGeneration: t.field({ type: FloatFilter, description: 'PCI Express generation.' }),
    pcieGbps: t.field({ type: FloatFilter, description: 'Bandwidth between CPU and GPU in GB/s.' }),

    diskGb: t.field({ type: FloatFilter, description: 'Disk that nobody rents, in GB.' }),
    diskMbps: t.field({ type: FloatFilter, description: 'Read bandwidth of the disk in MB/s.' }),
    downloadMbps: t.field({ type: FloatFilter, description: 'Download bandwidth in Mb/s.' }),
    uploadMbps: t.field({ type: FloatFilter, description: 'Upload bandwidth in Mb/s.' }),
    directPorts: t.field({ type: IntFilter, description: 'Public ports that nobody rents.' }),
    staticIp: t.boolean({ description: 'Whether the public address stays.' }),

    country: t.field({ type: StringFilter, description: 'Where the machine stands: ISO 3166, two letters.' }),
    datacenter: t.boolean({ description: 'Whether it stands in a data center.' }),
    vmsEnabled: t.boolean({ description: 'Whether it runs virtual machines.' }),
    reliability: t.field({
      type: FloatFilter,
      description: 'Share of the time that the machine kept its promises, 0 to 1.',
    }),
    availableSeconds: t.field({ type: FloatFilter, description: 'How long a rental can last, in seconds from now.' }),

    pricePerHour: t.field({ type: UsdFilter, description: 'What the GPUs and the disk asked for cost an hour.' }),
    computePricePerHour: t.field({ type: UsdFilter, description: 'What the GPUs cost an hour, without a disk.' }),
    pricePerGpuHour: t.field({ type: UsdFilter, description: 'The price per hour, divided by the GPUs.' }),
    minimumBidPerHour: t.field({ type: UsdFilter, description: 'The least bid that would win the GPUs now.' }),
    storagePerGbMonth: t.field({ type: UsdFilter, description: 'Price of a GB of disk for 720 hours.' }),
    downloadPerGb: t.field({ type: UsdFilter, description: 'Price of a GB downloaded.' }),
    uploadPerGb: t.field({ type: UsdFilter, description: 'Price of a GB uploaded.' }),
  }),
})

/**
 * The filter in the words of the domain, or an error that names everything that is wrong with it. A `complete` one is
 * refused where a field compares with nothing: a variable was forgotten, and what is found will cost money.
 */
export function parseOfferFilter(input: FilterInput, { complete = false } = {}): Filter {
  const issues: Issue[] = []
  const filter = parseFilterLevel(input, 'filter', issues, complete)
  if (input.rentable === undefined) filter.conditions.push({ field: 'rentable', operator: 'eq', value: true })
  return checkFilter(filter, issues)
}

/** The same of a filter without alternatives, whose fields are named as here. */
export function parseConditions(input: object): Condition[] {
  const issues: Issue[] = []
  return checkFilter(parseFilterLevel(input, 'filter', issues), issues).conditions
}

function parseFilterLevel({ or, ...fields }: FilterInput, path: string, issues: Issue[], complete = false): Filter {
  const conditions: Condition[] = []
  // The schema lets only fields of FilterInput through, each named as in the domain.
  for (const [field, input] of Object.entries(fields) as [OfferField, unknown][]) {
    const comparisons = comparisonsOf(input, `${path}.${field}`)
    if (complete && input && comparisons.length === 0)
      issues.push({ path: `${path}.${field}`, message: emptyComparisonMessage })
    for (const { operator, operand, path: place } of comparisons) {
      const condition = parseComparison(field, operator, operand)
      if (typeof condition === 'string') issues.push({ path: place, message: `${condition}.` })
      else conditions.push(condition)
    }
  }
  if (or?.length === 0) issues.push({ path: `${path}.or`, message: 'must have at least one alternative.' })
  const alternatives = (or ?? []).map((alternative, index) =>
    parseFilterLevel(alternative, `${path}.or.${index}`, issues, complete),
  )
  return { conditions, alternatives }
}

type Comparison = { operator: Operator; operand: unknown; path: string }

/** What an input says of its field, whose operators the schema has checked. A value by itself must be equal, and of a list one must be. */
function comparisonsOf(input: unknown, path: string): Comparison[] {
  if (input === null || input === undefined) return []
  if (Array.isArray(input)) return [{ operator: 'in', operand: input, path }]
  if (typeof input !== 'object') return [{ operator: 'eq', operand: input, path }]
  return Object.entries(input)
    .filter(([, operand]) => operand !== null && operand !== undefined)
    .map(([operator, operand]) => ({ operator: operator as Operator, operand, path: `${path}.${operator}` }))
}

/** Ids and versions are texts here, and numbers in the domain. */
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
