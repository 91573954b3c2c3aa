import { describe, expect, it } from 'vitest'
import { createBuckets } from '../../../src/http/limits/buckets.ts'
import { createKnownSecrets } from '../../../src/http/limits/known-secrets.ts'

describe('buckets', () => {
  const rules = { capacity: 1_000, perSecond: 100 }

  it('admit what costs more than the capacity when full, and refill what it took before anything else', () => {
    let nowMs = 0
    const buckets = createBuckets<string>(rules, () => nowMs)
    expect(buckets.waitMs('a', 3_000)).toBe(0)
    buckets.take('a', 3_000)
    expect(buckets.levelOf('a')).toBe(-2_000)
    expect(buckets.waitMs('a', 1)).toBe(20_010)
    nowMs = 30_000
    expect(buckets.waitMs('a', 3_000)).toBe(0)
  })

  it('stay few: a full one is forgotten first', () => {
    let nowMs = 0
    const buckets = createBuckets<number>(rules, () => nowMs, 3)
    buckets.take(1, 1_000)
    buckets.take(2, 100)
    buckets.take(3, 1_000)
    nowMs = 5_000
    buckets.take(4, 100)
    expect(buckets.count()).toBe(3)
    expect([1, 2, 3, 4].map(buckets.levelOf)).toEqual([500, 1_000, 500, 900])
  })

  it('stay few if none is full', () => {
    const buckets = createBuckets<number>(rules, () => 0, 20)
    for (let holder = 0; holder < 1_000; holder += 1) buckets.take(holder, 1_000)
    expect(buckets.count()).toBe(20)
    expect(buckets.levelOf(999)).toBe(0)
  })
})

it('knows the secrets that were used last', () => {
  const secrets = createKnownSecrets(2)
  for (const secret of ['a', 'b', 'c']) secrets.add(secret, null)
  expect(['a', 'b', 'c'].map(secrets.find)).toEqual([undefined, null, null])
  secrets.delete('b')
  expect(secrets.find('b')).toBeUndefined()
})
