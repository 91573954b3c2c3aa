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
const ofMachine = (text: string): FieldColumn => ({ scope: 'machine', sql: raw(text), machineSql: raw(text) })
/** For facts that depend on the machine and on how many of its GPUs the offer has. */
const ofShare = (text: string): FieldColumn => ({ scope: 'machine', sql: raw(text) })
/** Versions are compared by their keys. A missing one is "". */
const version = (scope: FieldColumn['scope'], text: string): FieldColumn => {
  const key = raw(`version_key(${text})`)
  return { scope, sql: key, machineSql: key, positionSql: raw(`coalesce(${text}, '')`) }
}

/** The rule of `ramGbOf`. Reads g alone, so it is computed once for each kind of offer. */
const ramGbSql = `coalesce((SELECT min(size) FROM unnest('{${marketedRamGb.join(',')}}'::bigint[]) AS size
  WHERE size * 1024 >= g.ram_mb AND size * 1024 * 7 <= g.ram_mb::bigint * 8), ceil(g.ram_mb / 1024.0)::bigint)`

const plainColumns: Record<Exclude<OfferField, ContextualField>, FieldColumn> = {
  id: ofOffer('o.id'),
  machineId: copied('o.machine_id', 'm.id'),
  hostId: ofMachine('m.host_id'),

  gpuName: ofModel('g.name'),
  gpuVendor: ofModel('g.vendor'),
  gpuRamMb: ofModel('g.ram_mb'),
  gpuRamGb: ofModel(ramGbSql),
  gpuTotalRamMb: ofKind('(g.ram_mb * k.num_gpus)'),
  gpuMemoryBandwidthGigabytesPerSecond: ofModel('g.memory_bandwidth_gigabytes_per_second'),
  gpuMaxPowerWatts: ofModel('g.max_power_watts'),
  computeCapability: version('kind', 'g.compute_capability'),
  computeCapabilityNumber: ofModel('round((version_number(g.compute_capability) * 100)::numeric)::bigint'),
  numGpus: ofKind('k.num_gpus'),
  gpuFraction: ofShare('(k.num_gpus::float8 / m.num_gpus)'),
  gpuMaxTempCelsius: ofMachine('m.gpu_max_temp_celsius'),
  gpuDisplayActive: ofMachine('m.gpu_display_active'),
  gpuLanes: ofMachine('m.gpu_lanes'),
  nvlinkGigabytesPerSecond: ofMachine('m.nvlink_gigabytes_per_second'),

  tflops: ofKind('(g.tflops * k.num_gpus)'),
  dlperf: ofOffer('o.dlperf'),
  score: ofOffer('o.score'),

  pciGeneration: ofMachine('m.pci_generation'),
  pcieGigabytesPerSecond: ofMachine('m.pcie_gigabytes_per_second'),
  cudaVersion: version('machine', 'm.cuda_version'),
  driverVersion: version('machine', 'm.driver_version'),
  cudaVersionNumber: ofMachine('version_number(m.cuda_version)'),
  driverVersionNumber: ofMachine('driver_version_number(m.driver_version)'),
  cpuArch: ofMachine('m.cpu_arch'),
  cpuCores: ofMachine('m.cpu_cores'),
  cpuCoresEffective: ofShare('((m.cpu_cores * k.num_gpus)::float8 / m.num_gpus)'),
  cpuGhz: ofMachine('m.cpu_ghz'),
  cpuRamMb: ofMachine('m.cpu_ram_mb'),
  hasAvx: ofMachine('m.has_avx'),
  motherboard: ofMachine('m.motherboard'),
  osVersion: version('machine', 'm.os_version'),
  osVersionNumber: ofMachine('version_number(m.os_version)'),

  totalDiskGb: ofMachine('(m.disk_mb::float8 / 1000)'),
  maxDiskGb: ofMachine('(m.free_disk_mb::float8 / 1000)'),
  freeDiskGb: ofMachine('(m.free_disk_mb::float8 / 1000)'),
  diskReadMegabytesPerSecond: ofMachine('m.disk_read_megabytes_per_second'),
  downloadMbps: ofMachine('m.download_mbps'),
  uploadMbps: ofMachine('m.upload_mbps'),
  freePorts: ofMachine('m.free_ports'),
  staticIp: ofMachine('m.static_ip'),

  country: copied('o.country', 'm.country'),
  city: ofMachine('m.city'),
  datacenter: ofMachine('m.datacenter'),
  vmsEnabled: ofMachine('m.vms_enabled'),
  verification: ofMachine('m.verification::text'),
  verified: ofOffer('o.verified'),
  reliability: copied('o.reliability', 'm.reliability'),
  rented: ofKind('false'),
  external: ofKind('false'),
  listedUntil: copied('extract(epoch FROM o.listed_until)::float8', 'extract(epoch FROM m.listed_until)::float8'),

  minimumBidPerHour: ofOffer('o.min_bid_nanos'),
  diskPricePerGbMonth: copied('o.disk_price_per_gb_month_nanos', 'm.disk_price_per_gb_month_nanos'),
  downloadPricePerGb: ofMachine('m.download_price_per_gb_nanos'),
  uploadPricePerGb: ofMachine('m.upload_price_per_gb_nanos'),
}
