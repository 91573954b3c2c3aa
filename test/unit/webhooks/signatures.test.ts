import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { generateSecret, signatureHeaders } from '../../../src/services/webhooks/signatures.ts'

const at = new Date('2026-11-21T12:00:00.999Z')

describe('the signature of Standard Webhooks', () => {
  const signedAt = new Date(1_614_265_330_999)
  // The example in the tests of its libraries.
  const known = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
  const sign = (...secrets: string[]) =>
    signatureHeaders(secrets, 'msg_p5jXN8AQM9LWM0D4loKWxJek', signedAt, '{"test": 2432232314}')

  it('equals the known signature of an example', () => {
    expect(sign('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')).toMatchObject({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': known,
    })
  })

  it('has a part for each secret, the newest first', () => {
    const both = sign('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', generateSecret())['webhook-signature']
    expect(both).toMatch(/^v1,\S{44} v1,\S{44}$/)
    expect(both.startsWith(known)).toBe(true)
  })

  it('is that of the same bytes for a secret of an older version, in the URL-safe alphabet', () => {
    const bytes = Buffer.from('fb'.repeat(32), 'hex')
    const [older, newer] = [`whsec_${bytes.toString('base64url')}`, `whsec_${bytes.toString('base64')}`]
    expect([older.includes('-'), older.includes('_', 6)]).toEqual([true, true])
    expect(sign(older)['webhook-signature']).toBe(sign(newer)['webhook-signature'])
  })
})

describe('a new secret', () => {
  it('is one that the library takes as it is', () => {
    for (let count = 0; count < 100; count += 1) {
      const secret = generateSecret()
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      const { 'webhook-signature': signature } = signatureHeaders([secret], 'evt_1', at, '{"ü":1}')
      expect(new Webhook(secret).sign('evt_1', at, '{"ü":1}')).toBe(signature)
    }
  })
})

describe('the signature from before Standard Webhooks', () => {
  it('equals the signature that a receiver computes with the text of the secret', () => {
    // printf '1795262400.{"a":1}' | openssl dgst -sha256 -hmac whsec_one
    const one = '6572fe57c040680d4bc3cadb8f3d909010d081fa5a2b9b3c9f95df814196f0be'
    const sign = (...secrets: string[]) => signatureHeaders(secrets, 'evt_1', at, '{"a":1}')['berth-signature']
    expect(sign('whsec_one')).toBe(`t=1795262400,v1=${one}`)
    expect(sign('whsec_one', 'whsec_two')).toMatch(new RegExp(`^t=1795262400,v1=${one},v1=[0-9a-f]{64}$`))
  })
})
