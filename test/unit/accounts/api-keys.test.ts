import { describe, expect, it } from 'vitest'
import { parseApiKey, printApiKey } from '../../../src/domain/accounts/api-keys.ts'
import { generateApiKey } from '../../../src/services/accounts/api-keys/identity.ts'

describe('an API key', () => {
  it('has a public part and a secret', () => {
    const [publicId, secret] = ['a1B2c3D4e5F6', 's'.repeat(40)]
    expect(parseApiKey(printApiKey(publicId, secret))).toEqual({ publicId, secret })
  })

  it.each([
    ['nothing', ''],
    ['only a prefix', 'berth_'],
    ['parts that are too short', 'berth_a_b'],
    ['a secret that is too short', `berth_${'a'.repeat(12)}_${'s'.repeat(39)}`],
    ['another prefix', `xerth_${'a'.repeat(12)}_${'s'.repeat(40)}`],
  ])('cannot be parsed from %s', (_what, key) => {
    expect(parseApiKey(key)).toBeUndefined()
  })

  it('is new each time and stored without its secret', () => {
    const [one, other] = [generateApiKey({ permissions: null }), generateApiKey({ permissions: null })]
    expect(one.key).not.toBe(other.key)
    const secret = parseApiKey(one.key)?.secret ?? ''
    expect(one.row.secretHash).toHaveLength(32)
    expect(JSON.stringify(one.row)).not.toContain(secret)
  })
})
