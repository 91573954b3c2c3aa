// Each field of a search as SQL. The aliases are those of the search statement: k is the kind of offer, g its GPU
// model, o the offer, m its machine. The arithmetic is that of domain/offers/fields.ts; a property test compares them.

import { Prisma } from '../../../database/generated/client.ts'
import { mbHoursPerGbMonth } from '../../../domain/money.ts'
import type { OfferField } from '../../../domain/offers/fields.ts'
import { defaultDiskMb, type Pricing } from '../../../domain/offers/offers.ts'

const { sql, raw } = Prisma

type Column = {
  /** Known of a whole kind of offer, of one offer, or only of its machine. */
  of: 'kind' | 'offer' | 'machine'
  sql: Prisma.Sql
}

/** What columns depend on beside their row. */
export type Terms = { pricing: Pricing; now: Prisma.Sql }

export function columnOf(field: OfferField, { pricing, now }: Terms): Column {
  switch (field) {
    case 'rentable':
      return { of: 'offer', sql: sql`(o.rentable AND o.listed_until > ${now})` }
    case 'availableSeconds':
      return { of: 'offer', sql: sql`extract(epoch FROM o.listed_until - ${now})::float8` }
    case 'pricePerHour':
      return { of: 'offer', sql: totalPrice(pricing) }
    case 'computePricePerHour':
      return { of: 'offer', sql: computePrice(pricing) }
    case 'pricePerGpuHour':
      return { of: 'offer', sql: sql`((${totalPrice(pricing)} + k.num_gpus / 2) / k.num_gpus)` }
    case 'tflopsPerDollar':
      return { of: 'offer', sql: sql`(g.tflops * k.num_gpus / (${totalPrice(pricing)}::float8 / 1e9))` }
    case 'dlperfPerDollar':
      return { of: 'offer', sql: sql`(o.dlperf / (${totalPrice(pricing)}::float8 / 1e9))` }
    default: {
      const text = plainColumns[field]
      const of = /\bm\./.test(text) ? 'machine' : /\bo\./.test(text) ? 'offer' : 'kind'
      return { of, sql: raw(text) }
    }
  }
}

/** Prices with the default disk are stored, so that an index has their order. */
export function storedPrice({ type }: Pricing): Prisma.Sql {
  return raw(type === 'onDemand' ? 'o.price_nanos' : 'o.bid_price_nanos')
}

function computePrice({ type }: Pricing): Prisma.Sql {
  return raw(type === 'onDemand' ? 'o.compute_nanos' : 'o.min_bid_nanos')
}

function totalPrice(pricing: Pricing): Prisma.Sql {
  if (pricing.diskMb === defaultDiskMb) return storedPrice(pricing)
  const [divisor, half] = [raw(String(mbHoursPerGbMonth)), raw(String(mbHoursPerGbMonth / 2n))]
  return sql`(${computePrice(pricing)} + (o.storage_nanos * ${pricing.diskMb}::bigint + ${half}) / ${divisor})`
}

type Termed =
  | 'rentable'
  | 'availableSeconds'
  | 'pricePerHour'
  | 'computePricePerHour'
  | 'pricePerGpuHour'
  | 'tflopsPerDollar'
  | 'dlperfPerDollar'

const plainColumns: Record<Exclude<OfferField, Termed>, string> = {
  id: 'o.id',
  machineId: 'o.machine_id',
  hostId: 'm.host_id',

  gpuName: 'g.name',
  gpuArchitecture: 'g.architecture',
  gpuRamMb: 'g.ram_mb',
  gpuTotalRamMb: '(g.ram_mb * k.num_gpus)',
  gpuMemoryBandwidthGbps: 'g.memory_bandwidth_gbps',
  gpuMaxPowerWatts: 'g.max_power_watts',
  computeCapability: 'g.compute_capability',
  numGpus: 'k.num_gpus',
  gpuFraction: '(k.num_gpus::float8 / m.num_gpus)',
  gpuMaxTempCelsius: 'm.gpu_max_temp_celsius',
  gpuDisplayActive: 'm.gpu_display_active',
  nvlinkGbps: 'm.nvlink_gbps',

  tflops: '(g.tflops * k.num_gpus)',
  dlperf: 'o.dlperf',
  score: 'o.score',

  pciGeneration: 'm.pci_generation',
  pcieGbps: 'm.pcie_gbps',
  cudaVersion: 'm.cuda_version',
  driverVersion: 'm.driver_version',
  cpuArch: 'm.cpu_arch',
  cpuCores: 'm.cpu_cores',
  cpuCoresEffective: '((m.cpu_cores * k.num_gpus)::float8 / m.num_gpus)',
  cpuGhz: 'm.cpu_ghz',
  cpuRamMb: 'm.cpu_ram_mb',
  hasAvx: 'm.has_avx',
  motherboard: 'm.motherboard',
  osVersion: 'm.os_version',

  diskGb: '(m.free_disk_mb::float8 / 1000)',
  diskMbps: 'm.disk_mbps',
  downloadMbps: 'm.download_mbps',
  uploadMbps: 'm.upload_mbps',
  directPorts: 'm.free_ports',
  staticIp: 'm.static_ip',

  country: 'o.country',
  datacenter: 'm.datacenter',
  vmsEnabled: 'm.vms_enabled',
  verification: 'm.verification::text',
  verified: 'o.verified',
  reliability: 'o.reliability',
  rented: 'false',
  external: 'false',
  listedUntil: 'extract(epoch FROM o.listed_until)::float8',

  minimumBidPerHour: 'o.min_bid_nanos',
  storagePerGbMonth: 'o.storage_nanos',
  downloadPerGb: 'm.download_nanos',
  uploadPerGb: 'm.upload_nanos',
}
