import { invalidInput } from '../errors.ts'
import type { GpuModel, Machine } from '../machines/machines.ts'
import { diskPricePerHour } from '../money.ts'
import type { OfferField } from '../offers/fields.ts'
import type { Condition } from '../offers/filter.ts'
import { diskMbOf } from '../offers/offers.ts'
import type { Direction } from '../offers/order.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'
import { newVolumeIssues } from './volumes.ts'

/** The free disk of a machine. It is not stored: it is the machine, as of a time. */
export type VolumeOffer = Machine & { gpuModel: GpuModel; asOf: Date }

/** What a volume of an offer costs. */
export type VolumeOfferPrice = {
  sizeMb: number
  /** Per hour. */
  priceNanos: bigint
}

export function priceVolume(
  { diskPricePerGbMonthNanos }: Pick<VolumeOffer, 'diskPricePerGbMonthNanos'>,
  sizeMb: number,
): VolumeOfferPrice {
  return { sizeMb, priceNanos: diskPricePerHour(diskPricePerGbMonthNanos, sizeMb) }
}

/** The size in MB. Throws if no volume can have it. */
export function requireVolumeSizeMb(sizeGb: number): number {
  const issues = newVolumeIssues({ sizeGb })
  if (issues.length > 0) throw invalidInput(issues)
  return diskMbOf(sizeGb) as number
}

/**
 * The fields that volume offers can be filtered by: the `OfferField`s that REST shows of a volume offer, and `gpuName`.
 * REST ignores conditions on other fields, since clients send the same filters to both searches.
 */
const volumeOfferFields = [
  'machineId',
  'hostId',
  'gpuName',
  'country',
  'city',
  'datacenter',
  'verification',
  'verified',
  'reliability',
  'diskPricePerGbMonth',
  'freeDiskGb',
  'diskReadMegabytesPerSecond',
  'downloadMbps',
  'uploadMbps',
  'staticIp',
  'cpuGhz',
  'cudaVersion',
  'cudaVersionNumber',
  'driverVersion',
  'driverVersionNumber',
  'availableSeconds',
  'external',
] as const satisfies OfferField[]
export type VolumeOfferField = (typeof volumeOfferFields)[number]
export type VolumeOfferCondition = Condition & { field: VolumeOfferField }

/** Whether a condition of a search for GPUs applies to storage. */
export function isVolumeOfferCondition(condition: Condition): condition is VolumeOfferCondition {
  return (volumeOfferFields as readonly OfferField[]).includes(condition.field)
}

export type VolumeOfferOrder = { field: 'price' | 'reliability' | 'freeDisk'; direction: Direction }

/** An offer's position in an order: its value, and its machine as a tiebreaker. */
type VolumeOfferPosition = { value: string; id: number }

const scopeOf = ({ field, direction }: VolumeOfferOrder) => `storage by ${field} ${direction}`

export function printVolumeOfferCursor({ value, id }: VolumeOfferPosition, order: VolumeOfferOrder): string {
  return printCursor(scopeOf(order), [value, id])
}

export function parseVolumeOfferCursor(cursor: string, order: VolumeOfferOrder): VolumeOfferPosition {
  const [value, id, ...rest] = parseCursor(cursor, scopeOf(order))
  const isId = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < 2 ** 31
  const format = order.field === 'reliability' ? /^\d{1,18}(\.\d{1,18})?(e-\d{1,3})?$/ : /^\d{1,18}$/
  if (typeof value === 'string' && format.test(value) && isId && rest.length === 0) return { value, id }
  throw invalidCursor()
}
