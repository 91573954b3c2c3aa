import { invalidInput } from '../errors.ts'
import type { ChargeKind } from './balance.ts'
import type { Period } from './charges.ts'

export type UsageBucketSize = 'hour' | 'day' | 'month'

/** The key that a group of costs has in each dimension. Null: the costs have none, as volumes have no label. */
type KeyValues = {
  kind: ChargeKind
  instance: bigint | null
  volume: bigint | null
  /** The key that rented the instance or created the volume. */
  apiKey: number | null
  /** The label that the instance has now. */
  label: string | null
  /** Fixed at the rental, as is the template. */
  gpuModel: number | null
  template: number | null
}
export type UsageDimension = keyof KeyValues
export type UsageKeyOf<D extends UsageDimension> = { dimension: D; value: KeyValues[D] }
export type UsageKey = { [D in UsageDimension]: UsageKeyOf<D> }[UsageDimension]

type BucketedPeriod = Period & { bucket: UsageBucketSize }
export type UsageQuery = BucketedPeriod & { groupBy: readonly UsageDimension[] }

/** The cost of one group. It has a key for each dimension of the query, in the same order. */
export type UsageGroup = { keys: UsageKey[]; costNanos: bigint }
export type UsageBucket = Period & { costNanos: bigint; groups: UsageGroup[] }
/** `totals`: the cost of each group in the whole period, the most expensive group first. */
export type Usage = Period & { costNanos: bigint; totals: UsageGroup[]; buckets: UsageBucket[] }

/** Enough for the hours of 31 days. */
export const maxBuckets = 744
/** Limit on the groups in all buckets together. */
export const maxGroups = 10_000

/** Splits a period at UTC hours, days or months. Only the first and the last bucket can be shorter. */
export function splitIntoBuckets({ startsAt, endsAt, bucket }: BucketedPeriod): Period[] {
  const count = countBuckets({ startsAt, endsAt, bucket })
  if (startsAt >= endsAt) throw invalidInput([{ path: 'endsAt', message: 'must be later than "startsAt".' }])
  if (count > maxBuckets) {
    const message = `splits the period into ${count} ${bucket}s; at most ${maxBuckets} are allowed.`
    throw invalidInput([{ path: 'bucket', message }])
  }
  const first = bucketIndexOf(startsAt, bucket)
  const borders = Array.from({ length: count - 1 }, (_, index) => bucketStart(first + index + 1, bucket))
  return [startsAt, ...borders].map((start, index) => ({ startsAt: start, endsAt: borders[index] ?? endsAt }))
}

/** The number of buckets; 0 if the period ends before it begins. */
export function countBuckets({ startsAt, endsAt, bucket }: BucketedPeriod): number {
  if (startsAt >= endsAt) return 0
  return bucketIndexOf(new Date(endsAt.getTime() - 1), bucket) - bucketIndexOf(startsAt, bucket) + 1
}

/** The UTC month that contains an instant. */
export function monthOf(instant: Date): Period {
  const place = bucketIndexOf(instant, 'month')
  return { startsAt: bucketStart(place, 'month'), endsAt: bucketStart(place + 1, 'month') }
}

export function sumCosts(parts: readonly { costNanos: bigint }[]): bigint {
  return parts.reduce((total, { costNanos }) => total + costNanos, 0n)
}

/** Adds up the groups with the same keys. The most expensive come first, then those that `groups` has first. */
export function sumGroups(groups: readonly UsageGroup[]): UsageGroup[] {
  const sums = [...Map.groupBy(groups, ({ keys }) => printKeys(keys)).values()].map(same => {
    return { keys: (same[0] as UsageGroup).keys, costNanos: sumCosts(same) }
  })
  return sums.toSorted((one, other) => Number(other.costNanos - one.costNanos))
}

/** Differs for different keys of the same dimensions. */
function printKeys(keys: readonly UsageKey[]): string {
  return JSON.stringify(keys.map(({ value }) => (typeof value === 'bigint' ? String(value) : value)))
}

export function tooManyGroups() {
  const message = `makes more than ${maxGroups} groups. Ask for a shorter period, longer buckets or fewer dimensions.`
  return invalidInput([{ path: 'groupBy', message }])
}

const bucketLengthsMs = { hour: 3_600_000, day: 86_400_000 }

/** The number of UTC buckets from 1970 to the one that contains `instant`. */
function bucketIndexOf(instant: Date, bucket: UsageBucketSize): number {
  if (bucket === 'month') return (instant.getUTCFullYear() - 1970) * 12 + instant.getUTCMonth()
  return Math.floor(instant.getTime() / bucketLengthsMs[bucket])
}

function bucketStart(place: number, bucket: UsageBucketSize): Date {
  return bucket === 'month' ? new Date(Date.UTC(1970, place)) : new Date(place * bucketLengthsMs[bucket])
}
