import { invalidInput } from '../errors.ts'
import type { ChargeKind } from './balance.ts'

export type UsageBucketSize = 'hour' | 'day' | 'month'
export type UsageDimension = 'kind' | 'instance' | 'apiKey'

type BucketedPeriod = { from: Date; to: Date; bucket: UsageBucketSize }
export type UsageQuery = BucketedPeriod & { groupBy: readonly UsageDimension[] }

/** A part of the period that is asked for, up to but not with its end. */
export type BucketBounds = { start: Date; end: Date }

/** What one group cost in one span; null in what it is not told apart by. */
export type UsageGroup = {
  kind: ChargeKind | null
  instanceId: bigint | null
  volumeId: bigint | null
  apiKeyId: number | null
  costNanos: bigint
}
export type UsageBucket = BucketBounds & { costNanos: bigint; groups: UsageGroup[] }
export type Usage = { from: Date; to: Date; costNanos: bigint; buckets: UsageBucket[] }

/** The hours of 31 days. */
export const maxBuckets = 744
/** Groups in all buckets together. */
export const maxGroups = 10_000

/** The hours, days or months of UTC that a period has a part in. Only the first and the last may be cut. */
export function splitIntoBuckets({ from, to, bucket }: BucketedPeriod): BucketBounds[] {
  const count = countBuckets({ from, to, bucket })
  if (from >= to) throw invalidInput([{ path: 'to', message: 'must be later than "from".' }])
  if (count > maxBuckets) {
    const message = `makes ${count} ${bucket}s of the period; at most ${maxBuckets} are allowed.`
    throw invalidInput([{ path: 'bucket', message }])
  }
  const first = bucketIndexOf(from, bucket)
  const borders = Array.from({ length: count - 1 }, (_, index) => bucketStart(first + index + 1, bucket))
  return [from, ...borders].map((start, index) => ({ start, end: borders[index] ?? to }))
}

/** How many there would be; none of a period that ends before it begins. */
export function countBuckets({ from, to, bucket }: BucketedPeriod): number {
  return from < to ? bucketIndexOf(new Date(to.getTime() - 1), bucket) - bucketIndexOf(from, bucket) + 1 : 0
}

/** The month of UTC that an instant is in. */
export function monthOf(instant: Date): BucketBounds {
  const place = bucketIndexOf(instant, 'month')
  return { start: bucketStart(place, 'month'), end: bucketStart(place + 1, 'month') }
}

export function tooManyGroups() {
  const message = `makes more than ${maxGroups} groups. Ask for a shorter period, longer buckets or fewer groups.`
  return invalidInput([{ path: 'groupBy', message }])
}

const bucketLengthsMs = { hour: 3_600_000, day: 86_400_000 }

/** How many there were before it since 1970, in UTC. */
function bucketIndexOf(instant: Date, bucket: UsageBucketSize): number {
  if (bucket === 'month') return (instant.getUTCFullYear() - 1970) * 12 + instant.getUTCMonth()
  return Math.floor(instant.getTime() / bucketLengthsMs[bucket])
}

function bucketStart(place: number, bucket: UsageBucketSize): Date {
  return bucket === 'month' ? new Date(Date.UTC(1970, place)) : new Date(place * bucketLengthsMs[bucket])
}
