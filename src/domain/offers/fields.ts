import { ramGbOf } from '../machines/gpu-ram.ts'
import type { GpuModel, Machine } from '../machines/machines.ts'
import { computeCapabilityNumberOf, driverVersionNumberOf, versionNumberOf } from '../machines/versions.ts'
import { usdToNumber } from '../money.ts'
import { isRentable, type Offer } from './offers.ts'

/**
 * How a filter compares a field: `usd` exactly, `text` without case, `number` as floats, `version` number by number. An
 * order compares texts by code points, with case.
 */
export type FieldType = 'number' | 'usd' | 'text' | 'version' | 'boolean'
export type FieldValue = number | bigint | string | boolean

/** `Facts` is what the field reads of an offer. */
type Field<Type extends FieldType, Value extends FieldValue, Facts> = { type: Type; read: (offer: Facts) => Value }

const number = <Facts = Offer>(read: (offer: Facts) => number): Field<'number', number, Facts> => {
  return { type: 'number', read }
}
const usd = <Facts = Offer>(read: (offer: Facts) => bigint): Field<'usd', bigint, Facts> => ({ type: 'usd', read })
const text = (read: (offer: Offer) => string): Field<'text', string, Offer> => ({ type: 'text', read })
/** A missing version is "", which comes before every version. */
const version = (read: (offer: Offer) => string | null): Field<'version', string, Offer> => {
  return { type: 'version', read: offer => read(offer) ?? '' }
}
const boolean = <Facts = Offer>(read: (offer: Facts) => boolean): Field<'boolean', boolean, Facts> => {
  return { type: 'boolean', read }
}

type Price = Pick<Offer, 'price'>
type Block = Pick<Offer, 'numGpus'>
type Model<Fact extends keyof GpuModel> = { machine: { gpuModel: Pick<GpuModel, Fact> } }

/**
 * The fields that a search can filter by and, except for booleans, order by. The search statement has a column for each
 * (columns.ts). GraphQL and REST list the fields that they offer.
 */
export const offerFields = {
  id: number(offer => Number(offer.id)),
  machineId: number(offer => offer.machineId),
  hostId: number(offer => offer.machine.hostId),

  gpuName: text(offer => offer.machine.gpuModel.name),
  gpuVendor: text(offer => offer.machine.gpuModel.vendor),
  gpuRamMb: number(offer => offer.machine.gpuModel.ramMb),
  gpuRamGb: number((offer: Model<'ramMb'>) => ramGbOf(offer.machine.gpuModel.ramMb)),
  gpuTotalRamMb: number((offer: Block & Model<'ramMb'>) => offer.machine.gpuModel.ramMb * offer.numGpus),
  gpuMemoryBandwidthGigabytesPerSecond: number(offer => offer.machine.gpuModel.memoryBandwidthGigabytesPerSecond),
  gpuMaxPowerWatts: number(offer => offer.machine.gpuModel.maxPowerWatts),
  computeCapability: version(offer => offer.machine.gpuModel.computeCapability),
  computeCapabilityNumber: number(offer => computeCapabilityNumberOf(offer.machine.gpuModel.computeCapability)),
  numGpus: number(offer => offer.numGpus),
  gpuFraction: number(offer => offer.numGpus / offer.machine.numGpus),
  gpuMaxTempCelsius: number(offer => offer.machine.gpuMaxTempCelsius),
  gpuDisplayActive: boolean(offer => offer.machine.gpuDisplayActive),
  gpuLanes: number(offer => offer.machine.gpuLanes),
  nvlinkGigabytesPerSecond: number(offer => offer.machine.nvlinkGigabytesPerSecond),

  tflops: number(tflopsOf),
  tflopsPerDollar: number(
    (offer: Block & Model<'tflops'> & Price) => tflopsOf(offer) / usdToNumber(offer.price.totalNanos),
  ),
  dlperf: number(offer => offer.dlperf),
  dlperfPerDollar: number((offer: Pick<Offer, 'dlperf'> & Price) => offer.dlperf / usdToNumber(offer.price.totalNanos)),
  score: number(offer => offer.score),

  pciGeneration: number(offer => offer.machine.pciGeneration),
  pcieGigabytesPerSecond: number(offer => offer.machine.pcieGigabytesPerSecond),
  cudaVersion: version(offer => offer.machine.cudaVersion),
  driverVersion: version(offer => offer.machine.driverVersion),
  // REST clients compare versions as numbers.
  cudaVersionNumber: number(offer => versionNumberOf(offer.machine.cudaVersion)),
  driverVersionNumber: number(offer => driverVersionNumberOf(offer.machine.driverVersion)),
  cpuArch: text(offer => offer.machine.cpuArch),
  cpuCores: number(offer => offer.machine.cpuCores),
  cpuCoresEffective: number(cpuCoresEffectiveOf),
  cpuGhz: number(offer => offer.machine.cpuGhz),
  cpuRamMb: number(offer => offer.machine.cpuRamMb),
  cpuRamGb: number(offer => offer.machine.cpuRamMb / 1000),
  hasAvx: boolean(offer => offer.machine.hasAvx),
  motherboard: text(offer => offer.machine.motherboard),
  osVersion: version(offer => offer.machine.osVersion),
  osVersionNumber: number(offer => versionNumberOf(offer.machine.osVersion)),

  totalDiskGb: number(offer => offer.machine.diskMb / 1000),
  maxDiskGb: number(offer => offer.machine.freeDiskMb / 1000),
  freeDiskGb: number(offer => offer.machine.freeDiskMb / 1000),
  diskReadMegabytesPerSecond: number(offer => offer.machine.diskReadMegabytesPerSecond),
  downloadMbps: number(offer => offer.machine.downloadMbps),
  uploadMbps: number(offer => offer.machine.uploadMbps),
  freePorts: number(offer => offer.machine.freePorts),
  staticIp: boolean(offer => offer.machine.staticIp),

  country: text(offer => offer.machine.country),
  city: text(offer => offer.machine.city),
  datacenter: boolean(offer => offer.machine.datacenter),
  vmsEnabled: boolean(offer => offer.machine.vmsEnabled),
  limitsDisk: boolean(offer => offer.machine.limitsDisk),
  verification: text(offer => offer.machine.verification),
  verified: boolean(offer => offer.machine.verification === 'verified'),
  reliability: number(offer => offer.machine.reliability),
  rentable: boolean(isRentable),
  // Whether the caller rents it. A rental uses up the offer's id, so no offer on the market is rented.
  rented: boolean(() => false),
  // No offer comes from another market.
  external: boolean(() => false),
  listedUntil: number(offer => offer.machine.listedUntil.getTime() / 1000),
  availableSeconds: number(availableSecondsOf),

  pricePerHour: usd((offer: Price) => offer.price.totalNanos),
  gpuPricePerHour: usd((offer: Price) => offer.price.gpuPriceNanos),
  pricePerGpuHour: usd((offer: Price) => offer.price.perGpuNanos),
  diskPricePerHour: usd((offer: Price) => offer.price.diskNanos),
  minimumBidPerHour: usd(offer => offer.minBidNanos),
  diskPricePerGbMonth: usd(offer => offer.machine.diskPricePerGbMonthNanos),
  downloadPricePerGb: usd(offer => offer.machine.downloadPricePerGbNanos),
  uploadPricePerGb: usd(offer => offer.machine.uploadPricePerGbNanos),
} as const satisfies Record<string, Field<FieldType, FieldValue, Offer>>

export type OfferField = keyof typeof offerFields

export function fieldTypeOf(field: OfferField): FieldType {
  return offerFields[field].type
}

export function fieldValueOf(offer: Offer, field: OfferField): FieldValue {
  return offerFields[field].read(offer)
}

export function availableSecondsOf(offer: { machine: Pick<Machine, 'listedUntil'>; asOf: Date }): number {
  return (offer.machine.listedUntil.getTime() - offer.asOf.getTime()) / 1000
}

/** The machine's CPU cores in proportion to the offer's share of its GPUs. */
export function cpuCoresEffectiveOf({
  machine,
  numGpus,
}: Block & { machine: Pick<Machine, 'cpuCores' | 'numGpus'> }): number {
  return (machine.cpuCores * numGpus) / machine.numGpus
}

export function tflopsOf(offer: Block & Model<'tflops'>): number {
  return offer.machine.gpuModel.tflops * offer.numGpus
}
