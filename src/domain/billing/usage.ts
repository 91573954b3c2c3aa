import { invalidInput } from '../errors.ts'
import type { ChargeKind } from './balance.ts'

export type UsageBucketSize = 'hour' | 'day' | 'month'
export type UsageDimension = 'kind' | 'instance' | 'apiKey'

type BucketedPeriod = { from: Date; to: Date; bucket: UsageBucketSize }
export type UsageQuery = BucketedPeriod & { groupBy: readonly UsageDimension[] }

/** A part of the requested period. Excludes `end`. */
export type BucketBounds = { start: Date; end: Date }

/** The cost of one group in one bucket. A dimension is null if the query does not group by it. */
export type UsageGroup = {
  kind: ChargeKind | null
  instanceId: bigint | null
  volumeId: bigint | null
  apiKeyId: number | null
  costNanos: bigint
}
export type UsageBucket = BucketBounds & { costNanos: bigint; groups: UsageGroup[] }
export type Usage = { from: Date; to: Date; costNanos: bigint; buckets: UsageBucket[] }

/** Enough for the hours of 31 days. */
export const maxBuckets = 744
/** Limit on the groups in all buckets together. */
export const maxGroups = 10_000

/** Splits a period at UTC hours, days or months. Only the first and the last bucket can be shorter. */
export function splitIntoBuckets({ from, to, bucket }: BucketedPeriod): BucketBounds[] {
  const count = countBuckets({ from, to, bucket })
  if (from >= to) throw invalidInput([{ path: 'to', message: 'must be later than "from".' }])
  if (count > maxBuckets) {
    const message = `splits the period into ${count} ${bucket}s; at most ${maxBuckets} are allowed.`
    throw invalidInput([{ path: 'bucket', message }])
  }
  const first = bucketIndexOf(from, bucket)
  const borders = Array.from({ length: count - 1 }, (_, index) => bucketStart(first + index + 1, bucket))
  return [from, ...borders].map((start, index) => ({ start, end: borders[index] ?? to }))
}

/** The number of buckets; 0 if the period ends before it begins. */
export function countBuckets({ from, to, bucket }: BucketedPeriod): number {
  return from < to ? bucketIndexOf(new Date(to.getTime() - 1), bucket) - bucketIndexOf(from, bucket) + 1 : 0
}

/** The UTC month that contains an instant. */
export function monthOf(instant: Date): BucketBounds {
  const place = bucketIndexOf(instant, 'month')
  return { start: bucketStart(place, 'month'), end: bucketStart(place + 1, 'month') }
}

export function tooManyGroups() {
  const message = `makes more than ${maxGroups} groups. Ask for a shorter period, longer buckets or fewer groups.`
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
