import { pino } from 'pino'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createClock } from '../../src/database/clock.ts'

const at = new Date('2026-11-21T12:00:00.000Z').getTime()

/** A clock that is ahead of the database by so much. */
function aheadBy(ms: number) {
  const lines: { level: number; aheadMs?: number }[] = []
  const changes: boolean[] = []
  const time = { ahead: ms, answerMs: 0, answers: true }
  let now = at
  const clock = createClock({
    now: () => new Date(now + time.ahead),
    async read() {
      if (!time.answers) throw new Error('It does not answer.')
      const read = new Date(now)
      now += time.answerMs
      return read
    },
    log: pino({ base: null }, { write: line => void lines.push(JSON.parse(line)) }),
    onChange: isRight => void changes.push(isRight),
  })
  return { clock, time, lines, changes }
}

afterEach(() => {
  vi.useRealTimers()
})

describe('the clock', () => {
  it.each([0, 30_000, -30_000])('is right when it is ahead by %d ms', async ms => {
    const { clock, lines, changes } = aheadBy(ms)
    await clock.check()
    expect([clock.isRight(), lines, changes]).toEqual([true, [], []])
  })

  it.each([30_001, -30_001])('is not when it is ahead by %d ms, which is told once, until it is again', async ms => {
    const { clock, time, lines, changes } = aheadBy(ms)
    await clock.check()
    await clock.check()
    expect([clock.isRight(), changes]).toEqual([false, [false]])
    expect(lines).toMatchObject([{ level: 50, aheadMs: ms }])
    time.ahead = 0
    await clock.check()
    await clock.check()
    expect([clock.isRight(), changes]).toEqual([true, [false, true]])
    expect(lines).toHaveLength(2)
  })

  it('is not taken for wrong because the database is slow', async () => {
    const { clock, time } = aheadBy(0)
    time.answerMs = 120_000
    await clock.check()
    expect(clock.isRight()).toBe(true)
  })

  it('stays what it was while the database does not answer', async () => {
    const { clock, time } = aheadBy(60_000)
    await clock.check()
    Object.assign(time, { answers: false, ahead: 0 })
    await clock.check()
    expect(clock.isRight()).toBe(false)
  })

  it('is compared every minute, until that is stopped', async () => {
    vi.useFakeTimers()
    const { clock, time } = aheadBy(60_000)
    clock.start()
    await vi.advanceTimersByTimeAsync(59_999)
    expect(clock.isRight()).toBe(true)
    await vi.advanceTimersByTimeAsync(1)
    expect(clock.isRight()).toBe(false)
    clock.stop()
    time.ahead = 0
    await vi.advanceTimersByTimeAsync(600_000)
    expect(clock.isRight()).toBe(false)
  })
})
