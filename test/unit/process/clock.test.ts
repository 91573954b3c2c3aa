import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClock } from '../../../src/database/clock.ts'

const minuteMs = 60_000
const read = new Date('2026-11-21T12:00:00.000Z')
const since = (instant: Date) => instant.getTime() - read.getTime()

describe('the clock of the database', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('goes on from what was read last, whatever the clock of the process does', () => {
    const clock = createClock()
    expect(clock.read(read, performance.now())).toEqual(read)
    vi.advanceTimersByTime(1_500)
    expect(since(clock.now())).toBe(1_500)
    for (const jumpMs of [5 * minuteMs, -5 * minuteMs]) {
      vi.setSystemTime(Date.now() + jumpMs)
      expect(since(clock.now())).toBe(1_500)
    }
    clock.read(new Date(read.getTime() - minuteMs), performance.now())
    expect(since(clock.now())).toBe(-minuteMs)
  })

  it('is estimated from both sides: never ahead, and never behind', () => {
    const clock = createClock()
    const askedMs = performance.now()
    vi.advanceTimersByTime(400)
    clock.read(read, askedMs)
    expect([since(clock.now()), since(clock.latest())]).toEqual([0, 401])
    vi.advanceTimersByTime(1_000)
    expect([since(clock.now()), since(clock.latest())]).toEqual([1_000, 1_401])
  })

  it('is not estimated from an answer that waited for a lock', () => {
    const clock = createClock()
    clock.read(read, performance.now())
    const later = new Date(read.getTime() + 2_000)
    expect(clock.read(later)).toEqual(later)
    expect([since(clock.now()), since(clock.latest())]).toEqual([0, 1])
  })

  it('says how far the clock of the process is ahead', () => {
    const clock = createClock()
    vi.setSystemTime(read)
    clock.read(read, performance.now())
    vi.setSystemTime(read.getTime() - 5 * minuteMs)
    expect(clock.aheadMs()).toBe(-5 * minuteMs)
  })
})
