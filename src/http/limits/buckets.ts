// Token buckets. A bucket is full at first, and refills at a constant rate. It needs no timer: its level is computed when
// somebody asks.

export type BucketRules = { capacity: number; perSecond: number }
export type Buckets<Holder> = ReturnType<typeof createBuckets<Holder>>

/** When there are more, full ones are forgotten first, which changes nothing. */
const maxBuckets = 20_000
/** How many of the oldest are looked at for a full one. */
const maxLooks = 8

type Bucket = { level: number; atMs: number }

export function createBuckets<Holder>({ capacity, perSecond }: BucketRules, nowMs: () => number, maxSize = maxBuckets) {
  const buckets = new Map<Holder, Bucket>()

  function levelNow({ level, atMs }: Bucket, now: number): number {
    return Math.min(capacity, level + ((now - atMs) * perSecond) / 1_000)
  }

  function levelOf(holder: Holder): number {
    const bucket = buckets.get(holder)
    return bucket ? levelNow(bucket, nowMs()) : capacity
  }

  function makeRoom(now: number): void {
    if (buckets.size < maxSize) return
    let looks = 0
    for (const [holder, bucket] of buckets) {
      looks += 1
      buckets.delete(holder)
      if (looks >= maxLooks || levelNow(bucket, now) >= capacity) return
      // It comes after all others now.
      buckets.set(holder, bucket)
    }
  }

  return {
    capacity,
    perSecond,
    levelOf,
    /** For how long the holder must wait for these points. Zero if they are there; for more than the capacity, if the bucket is full. */
    waitMs(holder: Holder, points: number): number {
      return Math.max(0, ((Math.min(points, capacity) - levelOf(holder)) / perSecond) * 1_000)
    },
    /** Takes points, or gives some back. The level may fall below zero. */
    take(holder: Holder, points: number): void {
      const now = nowMs()
      const bucket = buckets.get(holder)
      if (bucket) {
        bucket.level = Math.min(capacity, levelNow(bucket, now) - points)
        bucket.atMs = now
        return
      }
      makeRoom(now)
      buckets.set(holder, { level: Math.min(capacity, capacity - points), atMs: now })
    },
    count: () => buckets.size,
  }
}
