import { describe, expect, it } from 'vitest'
import { type Actor, anonymousActor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Keyless } from '../../../src/http/limits/budgets.ts'
import { createMeters, type Payer } from '../../../src/http/limits/meter.ts'
import { limitRules, rowPoints } from '../../../src/http/limits/points.ts'

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

describe('an IPv6 address', () => {
  const { addressPointsPerSecond, probePointsPerSecond, guessesPerSecond, windowSeconds } = limitRules
  const now = () => new Date(0)
  const rules: [Keyless, string, number][] = [
    ['address', 'network', addressPointsPerSecond * windowSeconds],
    ['probes', 'network-probes', probePointsPerSecond * windowSeconds],
    ['guesses', 'network-guesses', guessesPerSecond * windowSeconds],
  ]

  /** Takes all in one request, or, as guesses, one by one. Returns the headers of the last, and the message of a refusal. */
  function createSpender(purpose: Keyless) {
    const meterOf = createMeters({ keyPointsPerSecond, now, testNow: now })
    return async (address: string, count: number) => {
      let meter = meterOf({ address })
      let message: string | undefined
      try {
        if (purpose !== 'guesses') meter.take(purpose, count)
        for (let guessed = 0; purpose === 'guesses' && guessed < count; guessed += 1) {
          meter = meterOf({ address })
          await meter.check('wrong', async () => undefined)
        }
      } catch (error) {
        message = (error as DomainError).message
      }
      return { message, headers: meter.headers() }
    }
  }

  it.each(rules)('has the %s of four with all that share its first 56 bits', async (purpose, shared, capacity) => {
    const spend = createSpender(purpose)
    const first = await spend('2001:db8::1', capacity)
    expect(first.message).toBeUndefined()
    expect(first.headers['ratelimit']).toMatch(new RegExp(`^"${purpose}";r=0;`))
    const policies = [...(first.headers['ratelimit-policy'] ?? '').matchAll(/"[a-z-]+";q=\d+/g)].map(String)
    expect(policies).toEqual([`"${purpose}";q=${capacity}`, `"${shared}";q=${4 * capacity}`])
    expect((await spend('2001:db8::2', 1)).message).toMatch(/^Your address /)
    for (const network of [1, 2, 3]) expect((await spend(`2001:db8:0:${network}::1`, capacity)).message).toBeUndefined()
    const refused = await spend('2001:db8:0:ff::1', 1)
    expect(refused.message).toMatch(/^The addresses of your network /)
    expect(refused.headers['ratelimit']).toMatch(new RegExp(`^"${shared}";r=0;t=1$`))
    expect((await spend('2001:db8:0:100::1', 1)).message).toBeUndefined()
  })

  it('takes nothing of what it shares when it is refused', async () => {
    const [[purpose, , capacity]] = rules as [(typeof rules)[number]]
    const spend = createSpender(purpose)
    for (let asked = 0; asked < 8; asked += 1) await spend('2001:db8::1', capacity)
    expect((await spend('2001:db8:0:1::1', capacity)).message).toBeUndefined()
  })

  it('may send keys that are valid without end', async () => {
    const meterOf = createMeters({ keyPointsPerSecond, now, testNow: now })
    for (let asked = 0; asked < 5 * guessesPerSecond * windowSeconds; asked += 1)
      await meterOf({ address: '2001:db8::1' }).check(
        `key ${asked}`,
        async () => actor,
        () => actor,
      )
    const spend = meterOf({ address: '2001:db8::1' })
    await spend.check('wrong', async () => undefined)
    expect(spend.headers()['ratelimit']).toMatch(/^"guesses";r=199;/)
  })
})
