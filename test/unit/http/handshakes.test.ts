import { describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { createHandshakeLimits } from '../../../src/http/limits/handshakes.ts'
import { createMeters } from '../../../src/http/limits/meter.ts'
import { limitRules, pagePoints } from '../../../src/http/limits/points.ts'

const keyPointsPerSecond = 100
const client = { address: '192.0.2.1' }
const actor: Actor = { accountId: 1, apiKeyId: 1, publicId: 'a', permissions: null }
const affordable = (perSecond: number) => (perSecond * limitRules.windowSeconds) / pagePoints

/** A gateway to which a key and a secret of a host were sent before. */
async function createGateway() {
  let nowMs = 0
  const now = () => new Date(nowMs)
  const meterOf = createMeters({ keyPointsPerSecond, now, testNow: now })
  const admit = createHandshakeLimits({ meterOf, unknownPerAddress: 1 })
  await meterOf(client).check(
    'key',
    async () => actor,
    found => found,
  )
  await meterOf(client).check('host', async () => true)
  return {
    advance: (ms: number) => {
      nowMs += ms
    },
    /** The refusal, or undefined. */
    shake(authorization?: string): string | undefined {
      const admitted = admit(client, authorization)
      if (typeof admitted === 'string') return admitted
      admitted.accept()
      return undefined
    },
  }
}

function exhaust(shake: () => string | undefined): { admitted: number; refusal: string } {
  for (let admitted = 0; admitted < 10_000; admitted += 1) {
    const refusal = shake()
    if (refusal !== undefined) return { admitted, refusal }
  }
  throw new Error('Nothing was refused.')
}

describe('a handshake', () => {
  it('takes points of a key that is known, and is refused without any', async () => {
    const { shake, advance } = await createGateway()
    const { admitted, refusal } = exhaust(() => shake('Bearer key'))
    expect(admitted).toBe(affordable(keyPointsPerSecond))
    expect(refusal).toMatch(/^HTTP\/1\.1 429 .*\r\nretry-after: 1\r\n.*This API key asks for too much at once/is)
    expect(shake()).toBeUndefined()
    advance(1_000)
    expect(shake('Bearer key')).toBeUndefined()
  })

  it.each([
    ['no key', undefined],
    ['an unknown key', 'Bearer other'],
    ['the secret of a host', 'Bearer host'],
  ])('takes points of the address if it has %s', async (_name, authorization) => {
    const { shake } = await createGateway()
    const { admitted, refusal } = exhaust(() => shake(authorization))
    expect(admitted).toBe(affordable(limitRules.addressPointsPerSecond))
    expect(refusal).toMatch(/^HTTP\/1\.1 429 .*\r\nretry-after: 1\r\n.*Your address asks for too much/is)
    expect(shake('Bearer key')).toBeUndefined()
  })
})
