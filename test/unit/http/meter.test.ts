import { describe, expect, it } from 'vitest'
import { type Actor, anonymousActor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { createMeters, type Payer } from '../../../src/http/limits/meter.ts'
import { rowPoints } from '../../../src/http/limits/points.ts'

const keyPointsPerSecond = 1_000
const actor: Actor = { accountId: 1, apiKeyId: 1, publicId: 'a', permissions: null }

function createCaller(payer: Payer) {
  let nowMs = 0
  const now = () => new Date(nowMs)
  const meterOf = createMeters({ keyPointsPerSecond, now, testNow: now })
  return {
    advance: (seconds: number) => {
      nowMs += seconds * 1_000
    },
    /** Asks as faces do. Returns undefined, or in how many seconds to ask again. */
    ask(points: number): number | undefined {
      const meter = meterOf({ address: '192.0.2.1' })
      try {
        meter.takeRequest(payer)
        meter.take(payer, points)
        return undefined
      } catch (error) {
        if (error instanceof DomainError && error.code === 'RATE_LIMITED') return error.details.seconds
        throw error
      }
    },
  }
}

describe('a request that costs more than can be saved', () => {
  it.each([
    ['an anonymous search of 5,000 rows', anonymousActor, 5_000 * rowPoints],
    ['a query of 10,000 fields', actor, 10_000],
  ])('is answered to a caller that has all points: %s', (_name, payer, points) => {
    expect(createCaller(payer).ask(points)).toBeUndefined()
  })

  it('takes all points, and no more', () => {
    const { ask, advance } = createCaller(actor)
    expect([ask(1_000_000), ask(0)]).toEqual([undefined, 1])
    advance(1)
    expect(ask(0)).toBeUndefined()
  })

  it('is answered after the time that its refusal names', () => {
    const { ask, advance } = createCaller(actor)
    expect(ask(5_000)).toBeUndefined()
    const seconds = ask(1_000_000)
    expect(seconds).toBe(6)
    advance(seconds ?? 0)
    expect(ask(1_000_000)).toBeUndefined()
    expect(ask(0)).toBe(1)
  })
})
