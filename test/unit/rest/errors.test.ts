import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { errorResponse, uncertainOutcome } from '../../../src/rest/errors.ts'

const connectionLost = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
const explainError = async (error: unknown) => {
  const response = errorResponse(error)
  return { status: response?.status, body: await response?.json(), retryAfter: response?.headers.get('retry-after') }
}

describe('what may have been done', () => {
  const route = { notIdempotent: true, takesIdempotencyKey: true }

  it.each([connectionLost, new DomainError('UNAVAILABLE', 'Try again in a moment.', { undone: false })])(
    'is answered with a status that no client repeats, and with what to do',
    async error => {
      const { status, body, retryAfter } = await explainError(uncertainOutcome(route, error))
      expect([status, body.error, retryAfter]).toEqual([409, 'outcome_unknown', null])
      expect(body.msg).toMatch(/may or may not have been executed.*Check.*Idempotency-Key/)
    },
  )

  it('may be repeated with the key that it came with', async () => {
    const { status, body } = await explainError(uncertainOutcome(route, connectionLost, 'job-1'))
    expect([status, body.msg]).toEqual([
      409,
      expect.stringContaining('Repeat the request with the same Idempotency-Key'),
    ])
  })

  it('tells nothing of a key to a route that takes none', async () => {
    const { body } = await explainError(uncertainOutcome({ notIdempotent: true }, connectionLost))
    expect(body.msg).not.toContain('Idempotency-Key')
  })

  it('is what it was where doing it twice does no more', async () => {
    const { status, retryAfter } = await explainError(uncertainOutcome({}, connectionLost))
    expect([status, retryAfter]).toEqual([503, '1'])
  })

  it('is no refusal, and no bug', () => {
    const refusal = new DomainError('INSUFFICIENT_CREDIT', 'You lack credit.', {
      availableNanos: 0n,
      neededNanos: null,
    })
    const bug = new TypeError('x is undefined')
    expect([uncertainOutcome(route, refusal), uncertainOutcome(route, bug)]).toEqual([refusal, bug])
  })
})

it('too many requests are told so in all the words that clients look for', async () => {
  expect(await explainError(new DomainError('TOO_MANY_STREAMS', 'Too many.'))).toEqual({
    status: 429,
    body: { success: false, error: 'rate_limited', msg: 'Too many.', detail: 'Too many.' },
    retryAfter: '1',
  })
})
