import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { doubtOf, explain } from '../../../src/rest/errors.ts'

const lost = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
const answered = async (error: unknown) => {
  const response = explain(error)
  return { status: response?.status, body: await response?.json(), retryAfter: response?.headers.get('retry-after') }
}

describe('what may have been done', () => {
  const route = { countsTwice: true, repeatable: true }

  it.each([lost, new DomainError('UNAVAILABLE', 'Try again in a moment.', { undone: false })])(
    'is answered with a status that no client repeats, and with what to do',
    async error => {
      const { status, body, retryAfter } = await answered(doubtOf(route, error))
      expect([status, body.error, retryAfter]).toEqual([409, 'outcome_unknown', null])
      expect(body.msg).toMatch(/may have happened.*Look.*Idempotency-Key/)
    },
  )

  it('may be repeated with the key that it came with', async () => {
    const { status, body } = await answered(doubtOf(route, lost, 'job-1'))
    expect([status, body.msg]).toEqual([409, expect.stringContaining('Repeat it with the same Idempotency-Key')])
  })

  it('tells nothing of a key to a route that takes none', async () => {
    const { body } = await answered(doubtOf({ countsTwice: true }, lost))
    expect(body.msg).not.toContain('Idempotency-Key')
  })

  it('is what it was where doing it twice does no more', async () => {
    const { status, retryAfter } = await answered(doubtOf({}, lost))
    expect([status, retryAfter]).toEqual([503, '1'])
  })

  it('is no refusal, and no bug', () => {
    const refusal = new DomainError('INSUFFICIENT_CREDIT', 'You lack credit.', {
      availableNanos: 0n,
      neededNanos: null,
    })
    const bug = new TypeError('x is undefined')
    expect([doubtOf(route, refusal), doubtOf(route, bug)]).toEqual([refusal, bug])
  })
})

it('too many requests are told so in all the words that clients look for', async () => {
  expect(await answered(new DomainError('TOO_MANY_STREAMS', 'Too many.'))).toEqual({
    status: 429,
    body: { success: false, error: 'rate_limited', msg: 'Too many.', detail: 'Too many.' },
    retryAfter: '1',
  })
})
