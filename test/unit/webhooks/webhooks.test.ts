import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Event, eventReadOperations } from '../../../src/domain/events/events.ts'
import { payloadOf } from '../../../src/domain/events/payload.ts'
import { maxAttempts, maxRetryDays, parseWebhookInput, retryDelayMs } from '../../../src/domain/webhooks/webhooks.ts'

describe('a failed delivery', () => {
  const failed = { error: 'It failed.' }
  const attempts = fc.integer({ min: 1, max: 20 })
  const id = fc.bigInt({ min: 1n, max: 2n ** 62n })

  it('is retried after growing delays with jitter that is the same for the same attempt', () => {
    const pauses = [10, 60, 300, 1_800, 7_200, 21_600, 43_200, 86_400]
    fc.assert(
      fc.property(id, attempts, (delivery, count) => {
        const due = retryDelayMs(delivery, count, failed)
        expect(retryDelayMs(delivery, count, failed)).toBe(due)
        const pause = pauses[count - 1]
        expect(due === null).toBe(pause === undefined)
        if (pause === undefined) return
        const seconds = (due as number) / 1_000
        expect(seconds).toBeGreaterThanOrEqual(pause)
        expect(seconds).toBeLessThanOrEqual(pause * 1.2)
      }),
    )
    expect(maxAttempts).toBe(pauses.length + 1)
  })

  it('has its last attempt before its event is purged', () => {
    fc.assert(
      fc.property(id, delivery => {
        let last = 0
        for (let count = 1; count < maxAttempts; count += 1) last += retryDelayMs(delivery, count, failed) as number
        expect(last).toBeLessThan(maxRetryDays * 86_400_000)
      }),
    )
  })

  it('is not retried at the same time as other deliveries that failed together with it', () => {
    const due = Array.from({ length: 100 }, (_, index) => retryDelayMs(BigInt(index), 3, failed))
    expect(new Set(due).size).toBeGreaterThan(90)
    expect(Math.max(...(due as number[])) - Math.min(...(due as number[]))).toBeGreaterThan(50_000)
  })

  it('is retried after any status but 2xx, which is success, and 410, which ends the retries', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), responseStatus => {
        const ends = (responseStatus >= 200 && responseStatus < 300) || responseStatus === 410
        expect(retryDelayMs(1n, 1, { responseStatus }) === null).toBe(ends)
      }),
    )
  })
})

describe('the URL of a webhook', () => {
  const kinds = ['CREDIT_GRANTED'] as const
  const read = (url: string, allowsHttp = false) => parseWebhookInput({ url, kinds }, allowsHttp).url

  it.each([
    ['https://example.com', 'https://example.com/'],
    ['https://EXAMPLE.com:8443/a?b=c', 'https://example.com:8443/a?b=c'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ])('%s is stored as %s', (url, kept) => {
    expect(read(url)).toBe(kept)
  })

  it.each([
    `https://example.com/${'a'.repeat(2_028)}`,
    `https://${'a'.repeat(60).concat('.').repeat(4).slice(3)}example.com/`,
  ])('may be as long as %s', url => {
    expect(read(url)).toBe(url)
  })

  it.each([
    ['', 'must be an absolute URL'],
    ['example.com', 'must be an absolute URL'],
    ['ftp://example.com/', 'must be an absolute URL'],
    ['file:///etc/passwd', 'must be an absolute URL'],
    ['http://example.com/', 'must begin with https://'],
    ['https://me@example.com/', 'must not contain a user name or password'],
    ['https://:hush@example.com/', 'must not contain a user name or password'],
    ['https://example.com/#', 'must not contain a fragment'],
    ['https://example.com/#a', 'must not contain a fragment'],
    [`https://${'a'.repeat(60).concat('.').repeat(5)}example.com/`, 'is too long'],
    [`https://example.com/${'ü'.repeat(1_000)}`, 'is too long'],
    [`https://example.com/${'a'.repeat(2_048)}`, 'must have at most 2048 characters'],
    ['https://example.com/\0', 'must be well-formed Unicode'],
  ])('%j is refused: %s', (url, message) => {
    expect(() => read(url)).toThrow(`url: ${message}`)
  })

  it('needs no TLS when the operator allows plain HTTP', () => {
    expect(read('http://example.com/', true)).toBe('http://example.com/')
  })
})

describe('the payload of an event', () => {
  const event: Event = {
    ...{ xid: 1n, id: 7n, kind: 'INSTANCE_BID_CHANGED', accountId: 2, instanceId: 3n },
    ...{ actorKind: 'api_key', apiKeyId: 4, subjectType: 'Instance', subjectId: 3n },
    ...{
      before: { gpuPriceNanos: '200000000' },
      after: { gpuPriceNanos: '250000001' },
      reason: 'USER_REQUEST',
      note: null,
    },
    createdAt: new Date('2026-11-21T12:00:00.000Z'),
  }

  it('has the names of the GraphQL face', () => {
    expect(payloadOf(event)).toEqual({
      ...{ id: 'evt_7', kind: 'INSTANCE_BID_CHANGED', createdAt: '2026-11-21T12:00:00.000Z', accountId: 'acc_2' },
      ...{ actor: { kind: 'API_KEY', apiKeyId: 'key_4' }, subjectId: 'ins_3', reason: 'USER_REQUEST' },
      ...{ before: { bidPerHour: '0.2' }, after: { bidPerHour: '0.250000001' } },
    })
  })

  it.each([
    [
      'VOLUME_CREATED',
      { diskNanos: '5000000', sizeMb: 12_500, volumeId: '9' },
      { pricePerHour: '0.005', sizeGb: 12.5, volumeId: 'vol_9' },
    ],
    [
      'INSTANCE_CREATED',
      { templateHash: null, machineId: 8, mode: 'jupyterProxy' },
      { templateHashId: null, machineId: 'mch_8', mode: 'JUPYTER_PROXY' },
    ],
    ['INSTANCE_OUTBID', { minimumBidNanos: '301000000' }, { minimumBidPerHour: '0.301' }],
    ['CREDIT_GRANTED', { creditNanos: '-1' }, { credit: '-0.000000001' }],
    ['API_KEY_SECRET_ROTATED', { apiKeyId: 5, permissions: null }, { apiKeyId: 'key_5', permissions: null }],
    ['WEBHOOK_TESTED', { webhookId: 6 }, { webhookId: 'whk_6' }],
  ] as const)('of %s has its facts in GraphQL names and units', (kind, after, shown) => {
    expect(payloadOf({ ...event, kind, before: null, after }).after).toEqual(shown)
  })

  it('omits parts that the event lacks', () => {
    const bare = { ...event, before: null, after: null, reason: null }
    expect(Object.keys(payloadOf(bare))).toEqual(['id', 'kind', 'createdAt', 'accountId', 'actor', 'subjectId'])
  })

  it.each(['operator', 'system'] as const)('says that the %s acted, without a key', actorKind => {
    const { actor } = payloadOf({ ...event, actorKind, apiKeyId: null })
    expect(actor).toEqual({ kind: actorKind.toUpperCase() })
  })

  it('of any kind has no amount in nano-dollars', () => {
    for (const kind of Object.keys(eventReadOperations) as (keyof typeof eventReadOperations)[]) {
      const { after } = payloadOf({ ...event, kind, after: { gpuPriceNanos: '1', otherNanos: '1', diskMb: 1 } })
      expect(Object.values(after as object)).toEqual(['0.000000001', '0.000000001', 0.001])
      expect(JSON.stringify(after)).not.toMatch(/Nanos|Mb/)
    }
  })
})
