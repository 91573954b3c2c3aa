// The headers of draft-ietf-httpapi-ratelimit-headers-11.

import { expect, it } from 'vitest'
import type { DomainError } from '../../../src/domain/errors.ts'
import { createMeters } from '../../../src/http/limits/meter.ts'
import { limitRules } from '../../../src/http/limits/points.ts'

const client = { address: '192.0.2.1' }
const perSecond = limitRules.addressPointsPerSecond
const capacity = perSecond * limitRules.windowSeconds

function createMeter() {
  const at = new Date('2026-11-26T12:00:00Z')
  const meterOf = createMeters({ keyPointsPerSecond: 20_000, now: () => at, testNow: () => at })
  return { meter: meterOf(client), again: () => meterOf(client) }
}

/** A list of one structured field item, with its parameters. */
function parseField(text: string | undefined): Record<string, string> {
  const [, name = '', rest = ''] = /^("[a-z]+")((?:;[a-z]+=(?:\d{1,15}|"[a-z-]+"))+)$/.exec(text ?? '') ?? []
  return { name, ...Object.fromEntries([...rest.matchAll(/;(\w+)=([^;]+)/g)].map(([, key, value]) => [key, value])) }
}

it('names the unit of a policy, unless it counts requests', async () => {
  const { meter } = createMeter()
  meter.take('address', 1)
  expect(parseField(meter.headers()['ratelimit-policy'])).toEqual({
    ...{ name: '"address"', q: String(capacity), qu: '"points"', w: '10' },
  })
  await meter.check('wrong', async () => undefined)
  expect(parseField(meter.headers()['ratelimit-policy'])).toEqual({ name: '"guesses"', q: '200', w: '10' })
})

it.each([0, 1, 20, perSecond - 1, perSecond, 7_777, capacity - 1, capacity])(
  'never lets what is left after %d points be read as more per second than the policy allows',
  points => {
    const { meter } = createMeter()
    meter.take('address', points)
    const { name, r, t } = parseField(meter.headers()['ratelimit'])
    expect([name, r]).toEqual(['"address"', String(capacity - points)])
    expect(Number(t)).toBeGreaterThanOrEqual(1)
    expect(Number(r) / Number(t)).toBeLessThanOrEqual(perSecond)
  },
)

it.each([
  [0, capacity],
  [5_000, 18_000],
  [capacity, 100],
  [capacity - 1, 2],
])('ends the time of what is left after %d points when a refused request of %d can be repeated', (taken, points) => {
  const { meter, again } = createMeter()
  meter.take('address', taken)
  // Takes one point, so that not even the capacity is there.
  meter.take('address', taken === capacity ? 0 : 1)
  const refused = again()
  let seconds = 0
  try {
    refused.take('address', points)
  } catch (error) {
    seconds = (error as DomainError<'RATE_LIMITED'>).details.seconds
  }
  const { r, t } = parseField(refused.headers()['ratelimit'])
  expect(seconds).toBeGreaterThanOrEqual(1)
  expect(t).toBe(String(seconds))
  expect(Number(r)).toBeLessThanOrEqual(Math.min(capacity - taken, seconds * perSecond))
})
