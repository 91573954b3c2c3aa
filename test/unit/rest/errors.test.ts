import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { errorResponse, replaceUncertainOutcome } from '../../../src/rest/errors.ts'

const connectionLost = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
const explainError = async (error: unknown) => {
  const response = errorResponse(error)
  return { status: response?.status, body: await response?.json(), retryAfter: response?.headers.get('retry-after') }
}

describe('an uncertain outcome', () => {
  const route = { notIdempotent: true, takesIdempotencyKey: true }

  it.each([connectionLost, new DomainError('UNAVAILABLE', 'Try again in a moment.', { undone: false })])(
    'answers 409, which no client retries, and says what to do',
    async error => {
      const { status, body, retryAfter } = await explainError(replaceUncertainOutcome(route, error))
      expect([status, body.error, retryAfter]).toEqual([409, 'outcome_unknown', null])
      expect(body.msg).toMatch(/may or may not have been executed.*Check.*Idempotency-Key/)
    },
  )

  it('says that the request can be repeated with its idempotency key', async () => {
    const { status, body } = await explainError(replaceUncertainOutcome(route, connectionLost, 'job-1'))
    expect([status, body.msg]).toEqual([
      409,
      expect.stringContaining('Repeat the request with the same Idempotency-Key'),
    ])
  })

  it('does not mention the idempotency key on a route that takes none', async () => {
    const { body } = await explainError(replaceUncertainOutcome({ notIdempotent: true }, connectionLost))
    expect(body.msg).not.toContain('Idempotency-Key')
  })

  it('answers 503 on an idempotent route', async () => {
    const { status, retryAfter } = await explainError(replaceUncertainOutcome({}, connectionLost))
    expect([status, retryAfter]).toEqual([503, '1'])
  })

  it('does not replace a refusal or a bug', () => {
    const refusal = new DomainError('INSUFFICIENT_CREDIT', 'You lack credit.', {
      availableNanos: 0n,
      neededNanos: null,
    })
    const bug = new TypeError('x is undefined')
    expect([replaceUncertainOutcome(route, refusal), replaceUncertainOutcome(route, bug)]).toEqual([refusal, bug])
  })
})

it('answers 429 with msg, detail and Retry-After', async () => {
  expect(await explainError(new DomainError('TOO_MANY_STREAMS', 'Too many.'))).toEqual({
    status: 429,
    body: { success: false, error: 'rate_limited', msg: 'Too many.', detail: 'Too many.' },
    retryAfter: '1',
  })
})
