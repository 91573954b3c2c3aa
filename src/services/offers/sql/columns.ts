// Each field of a search as SQL. Aliases as in the search statement: k is the offer's kind (its GPU model and count), g the
// GPU model, o the offer, m its machine. The arithmetic matches domain/offers/fields.ts; a property test compares them.

import { Prisma } from '../../../database/generated/client.ts'
import { marketedRamGb } from '../../../domain/machines/gpu-ram.ts'
import { mbHoursPerGbMonth } from '../../../domain/money.ts'
import type { OfferField } from '../../../domain/offers/fields.ts'
import { defaultDiskMb, type Pricing } from '../../../domain/offers/offers.ts'

const { sql, raw } = Prisma

type FieldColumn = {
  /**
   * The tables that the column needs. `kind` reads only k and g, so the value is equal for all offers of a kind;
   * `offer` also reads o; `machine` also reads m. The statement joins machines only for a search that needs one of its
   * columns.
   */
  scope: 'kind' | 'offer' | 'machine'
  sql: Prisma.Sql
  /** The columns of m that it reads. */
  machineColumns?: readonly string[]
  /** The same from m and g alone, unless it depends on the block or its price. */
  machineSql?: Prisma.Sql
  /** What a cursor keeps of the column, where that is not its value. */
  positionSql?: Prisma.Sql
}

/** Inputs of a column other than its row. `valueSql` is how a statement has the values that its caller gives. */
export type ColumnContext = { pricing: Pricing; nowSql: Prisma.Sql; valueSql?: (value: Prisma.Sql) => Prisma.Sql }

export function fieldColumnOf(field: OfferField, { pricing, nowSql }: ColumnContext): FieldColumn {
  switch (field) {
    case 'rentable':
      return { scope: 'offer', sql: sql`(o.rentable AND o.listed_until > ${nowSql})` }
    case 'availableSeconds':
      return {
        scope: 'offer',
        sql: sql`extract(epoch FROM o.listed_until - ${nowSql})::float8`,
        machineSql: sql`extract(epoch FROM m.listed_until - ${nowSql})::float8`,
      }
    case 'pricePerHour':
      return { scope: 'offer', sql: totalPriceSql(pricing) }
    case 'gpuPricePerHour':
      return { scope: 'offer', sql: gpuPriceSql(pricing) }
    case 'diskPricePerHour':
      return { scope: 'offer', sql: diskPriceSql(pricing, 'o'), machineSql: diskPriceSql(pricing, 'm') }
    case 'pricePerGpuHour':
      return { scope: 'offer', sql: sql`((${totalPriceSql(pricing)} + k.num_gpus / 2) / k.num_gpus)` }
    case 'tflopsPerDollar':
      return { scope: 'offer', sql: sql`(g.tflops * k.num_gpus / (${totalPriceSql(pricing)}::float8 / 1e9))` }
    case 'dlperfPerDollar':
      return { scope: 'offer', sql: sql`(o.dlperf / (${totalPriceSql(pricing)}::float8 / 1e9))` }
    default:
      return plainColumns[field]
  }
}

/** Prices with the default disk are stored, so that an index can order by them. */
export function storedPriceSql({ rentalKind: type }: Pricing): Prisma.Sql {
  return raw(type === 'onDemand' ? 'o.price_nanos' : 'o.bid_price_nanos')
}

function gpuPriceSql({ rentalKind: type }: Pricing): Prisma.Sql {
  return raw(type === 'onDemand' ? 'o.gpu_price_nanos' : 'o.min_bid_nanos')
}

function totalPriceSql(pricing: Pricing): Prisma.Sql {
  if (pricing.diskMb === defaultDiskMb) return storedPriceSql(pricing)
  return sql`(${gpuPriceSql(pricing)} + ${diskPriceSql(pricing, 'o')})`
}

function diskPriceSql({ diskMb }: Pricing, alias: 'o' | 'm'): Prisma.Sql {
  const [divisor, half] = [raw(String(mbHoursPerGbMonth)), raw(String(mbHoursPerGbMonth / 2n))]
  return sql`((${raw(alias)}.disk_price_per_gb_month_nanos * ${diskMb}::bigint + ${half}) / ${divisor})`
}

type ContextualField =
  | 'rentable'
  | 'availableSeconds'
  | 'pricePerHour'
  | 'gpuPricePerHour'
  | 'diskPricePerHour'
  | 'pricePerGpuHour'
  | 'tflopsPerDollar'
  | 'dlperfPerDollar'

const ofModel = (text: string): FieldColumn => ({ scope: 'kind', sql: raw(text), machineSql: raw(text) })
const ofKind = (text: string): FieldColumn => ({ scope: 'kind', sql: raw(text) })
const ofOffer = (text: string): FieldColumn => ({ scope: 'offer', sql: raw(text) })
/** For the few facts of the machine that `offerRowsOf` (machines/market-writes.ts) copies to its offers. */
const copied = (text: string, machineText: string): FieldColumn => {
  return { scope: 'offer', sql: raw(text), machineSql: raw(machineText) }
}
/** For all other facts of the machine. */
const ofMachine = (column: string, expressionOf = (value: string) => value): FieldColumn => {
  const text = raw(expressionOf(`m.${column}`))
  return { scope: 'machine', sql: text, machineSql: text, machineColumns: [column] }
}
/** For facts that depend on the machine and on how many of its GPUs the offer has. */
const ofShare = (machineColumns: string[], text: string): FieldColumn => {
  return { scope: 'machine', sql: raw(text), machineColumns }
}
/** Versions are compared by their keys. A missing one is "". */
const version = (text: string) => {
  const key = raw(`version_key(${text})`)
  return { sql: key, machineSql: key, positionSql: raw(`coalesce(${text}, '')`) }
}
const versionOfMachine = (column: string): FieldColumn => {
  return { scope: 'machine', ...version(`m.${column}`), machineColumns: [column] }
}
const inGb = (mb: string) => `(${mb}::float8 / 1000)`

/** The rule of `ramGbOf`. Reads g alone, so it is computed once for each kind of offer. */
const ramGbSql = `coalesce((SELECT min(size) FROM unnest('{${marketedRamGb.join(',')}}'::bigint[]) AS size
  WHERE size * 1024 >= g.ram_mb AND size * 1024 * 7 <= g.ram_mb::bigint * 8), ceil(g.ram_mb / 1024.0)::bigint)`

const plainColumns: Record<Exclude<OfferField, ContextualField>, FieldColumn> = {
  id: ofOffer('o.id'),
  machineId: copied('o.machine_id', 'm.id'),
  hostId: ofMachine('host_id'),

  gpuName: ofModel('g.name'),
  gpuVendor: ofModel('g.vendor'),
  gpuRamMb: ofModel('g.ram_mb'),
  gpuRamGb: ofModel(ramGbSql),
  gpuTotalRamMb: ofKind('(g.ram_mb * k.num_gpus)'),
  gpuMemoryBandwidthGigabytesPerSecond: ofModel('g.memory_bandwidth_gigabytes_per_second'),
  gpuMaxPowerWatts: ofModel('g.max_power_watts'),
  computeCapability: { scope: 'kind', ...version('g.compute_capability') },
  computeCapabilityNumber: ofModel('round((version_number(g.compute_capability) * 100)::numeric)::bigint'),
  numGpus: ofKind('k.num_gpus'),
  gpuFraction: ofShare(['num_gpus'], '(k.num_gpus::float8 / m.num_gpus)'),
  gpuMaxTempCelsius: ofMachine('gpu_max_temp_celsius'),
  gpuDisplayActive: ofMachine('gpu_display_active'),
  gpuLanes: ofMachine('gpu_lanes'),
  nvlinkGigabytesPerSecond: ofMachine('nvlink_gigabytes_per_second'),

  tflops: ofKind('(g.tflops * k.num_gpus)'),
  dlperf: ofOffer('o.dlperf'),
  score: ofOffer('o.score'),

  pciGeneration: ofMachine('pci_generation'),
  pcieGigabytesPerSecond: ofMachine('pcie_gigabytes_per_second'),
  cudaVersion: versionOfMachine('cuda_version'),
  driverVersion: versionOfMachine('driver_version'),
  cudaVersionNumber: ofMachine('cuda_version', value => `version_number(${value})`),
  driverVersionNumber: ofMachine('driver_version', value => `driver_version_number(${value})`),
  cpuArch: ofMachine('cpu_arch'),
  cpuCores: ofMachine('cpu_cores'),
  cpuCoresEffective: ofShare(['cpu_cores', 'num_gpus'], '((m.cpu_cores * k.num_gpus)::float8 / m.num_gpus)'),
  cpuGhz: ofMachine('cpu_ghz'),
  cpuRamMb: ofMachine('cpu_ram_mb'),
  cpuRamGb: ofMachine('cpu_ram_mb', inGb),
  hasAvx: ofMachine('has_avx'),
  motherboard: ofMachine('motherboard'),
  osVersion: versionOfMachine('os_version'),
  osVersionNumber: ofMachine('os_version', value => `version_number(${value})`),

  totalDiskGb: ofMachine('disk_mb', inGb),
  maxDiskGb: ofMachine('free_disk_mb', inGb),
  freeDiskGb: ofMachine('free_disk_mb', inGb),
  diskReadMegabytesPerSecond: ofMachine('disk_read_megabytes_per_second'),
  downloadMbps: ofMachine('download_mbps'),
  uploadMbps: ofMachine('upload_mbps'),
  freePorts: ofMachine('free_ports'),
  staticIp: ofMachine('static_ip'),

  country: copied('o.country', 'm.country'),
  city: ofMachine('city'),
  datacenter: ofMachine('datacenter'),
  vmsEnabled: ofMachine('vms_enabled'),
  limitsDisk: ofMachine('limits_disk'),
  verification: ofMachine('verification', value => `${value}::text`),
  verified: ofOffer('o.verified'),
  reliability: copied('o.reliability', 'm.reliability'),
  rented: ofKind('false'),
  external: ofKind('false'),
  listedUntil: copied('extract(epoch FROM o.listed_until)::float8', 'extract(epoch FROM m.listed_until)::float8'),

  minimumBidPerHour: ofOffer('o.min_bid_nanos'),
  diskPricePerGbMonth: copied('o.disk_price_per_gb_month_nanos', 'm.disk_price_per_gb_month_nanos'),
  downloadPricePerGb: ofMachine('download_price_per_gb_nanos'),
  uploadPricePerGb: ofMachine('upload_price_per_gb_nanos'),
}
