import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClock } from '../../../src/database/clock.ts'

const minuteMs = 60_000
const readAt = new Date('2026-11-21T12:00:00.000Z')
const msSinceRead = (instant: Date) => instant.getTime() - readAt.getTime()

describe('the clock of the database', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('continues from the last reading, whatever the clock of the process does', () => {
    const clock = createClock()
    expect(clock.recordReading(readAt, performance.now())).toEqual(readAt)
    vi.advanceTimersByTime(1_500)
    expect(msSinceRead(clock.now())).toBe(1_500)
    for (const jumpMs of [5 * minuteMs, -5 * minuteMs]) {
      vi.setSystemTime(Date.now() + jumpMs)
      expect(msSinceRead(clock.now())).toBe(1_500)
    }
    clock.recordReading(new Date(readAt.getTime() - minuteMs), performance.now())
    expect(msSinceRead(clock.now())).toBe(-minuteMs)
  })

  it('has a lower estimate, which is never ahead, and an upper estimate, which is never behind', () => {
    const clock = createClock()
    const askedMs = performance.now()
    vi.advanceTimersByTime(400)
    clock.recordReading(readAt, askedMs)
    expect([msSinceRead(clock.now()), msSinceRead(clock.latest())]).toEqual([0, 401])
    vi.advanceTimersByTime(1_000)
    expect([msSinceRead(clock.now()), msSinceRead(clock.latest())]).toEqual([1_000, 1_401])
  })

  it('ignores, for its estimates, the time of a lock', () => {
    const clock = createClock()
    clock.recordReading(readAt, performance.now())
    const later = new Date(readAt.getTime() + 2_000)
    expect(clock.timeOfLock(later)).toEqual(later)
    expect([msSinceRead(clock.now()), msSinceRead(clock.latest())]).toEqual([0, 1])
  })

  it('notices that the clock was set, however long the answers took', () => {
    const steps: number[] = []
    const clock = createClock(undefined, ms => steps.push(ms))
    const read = (aheadMs: number, { tookMs = 0, lateMs = 0 } = {}) => {
      const askedMs = performance.now()
      vi.advanceTimersByTime(tookMs)
      const at = new Date(readAt.getTime() + performance.now() - startedMs + aheadMs)
      vi.advanceTimersByTime(lateMs)
      clock.recordReading(at, askedMs)
    }
    const startedMs = performance.now()
    read(0)
    read(0, { tookMs: 20_000 })
    read(0, { lateMs: 20_000 })
    read(4_000)
    expect([steps, clock.steadyMs()]).toEqual([[], Number.POSITIVE_INFINITY])
    read(60 * minuteMs)
    vi.advanceTimersByTime(1_000)
    expect([steps, clock.steadyMs()]).toEqual([[60 * minuteMs - 4_001], 1_000])
    read(0)
    expect([steps.length, steps[1], clock.steadyMs()]).toEqual([2, -60 * minuteMs + 1, 0])
  })

  it('does not take an answer from before a step for another step', () => {
    const steps: number[] = []
    const clock = createClock(undefined, ms => steps.push(ms))
    clock.recordReading(readAt, performance.now())
    const askedMs = performance.now()
    vi.advanceTimersByTime(10)
    clock.recordReading(new Date(readAt.getTime() - 60 * minuteMs), performance.now())
    clock.recordReading(readAt, askedMs)
    expect([steps.length, msSinceRead(clock.now())]).toEqual([1, -60 * minuteMs])
  })

  it('shows how far ahead the clock of the process is', () => {
    const clock = createClock()
    vi.setSystemTime(readAt)
    clock.recordReading(readAt, performance.now())
    vi.setSystemTime(readAt.getTime() - 5 * minuteMs)
    expect(clock.aheadMs()).toBe(-5 * minuteMs)
  })
})
