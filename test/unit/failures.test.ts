import { describe, expect, it } from 'vitest'
import { DomainError } from '../../src/domain/errors.ts'
import { explainFailure, isDuplicate } from '../../src/services/failures.ts'

const withCode = (code: string) => Object.assign(new Error('secret detail'), { code })
/** As Prisma wraps the driver's error, and the driver PostgreSQL's. */
const wrapped = (code: string) =>
  Object.assign(new Error('secret'), { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: code } } } })

describe('a failure of the database', () => {
  it.each([
    ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2034'],
    ...['57P01', '57P02', '57P03', '57P05', '57014', '55P03', '25P03', '25006', '40001', '40P01'],
    ...['53200', '53300', '53400', '08001', '08003', '08006'],
    ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'ENETUNREACH'],
  ])('with code %s means try again', code => {
    for (const error of [withCode(code), wrapped(code)]) {
      expect(explainFailure(error)).toMatchObject({
        code: 'UNAVAILABLE',
        message: 'The database did not answer in time. Try again in a moment.',
      })
    }
  })

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Query read timeout',
  ])('without a code (%s) means the same', message => {
    expect(explainFailure(new Error(message))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each(['P2020', '22003', '22021'])('with code %s is about a value that cannot be stored', code => {
    expect(explainFailure(wrapped(code))).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it.each(['23505', 'P2002'])('with code %s is a duplicate', code => {
    expect(isDuplicate(wrapped(code))).toBe(true)
    expect(isDuplicate(withCode('23503'))).toBe(false)
  })
})

describe('anything else', () => {
  it.each([new Error('a bug'), withCode('42703'), 'a text', undefined])('is a bug and stays what it is: %s', error => {
    expect(explainFailure(error)).toBe(error)
  })

  it('that was refused already stays refused', () => {
    const refusal = new DomainError('NOT_FOUND', 'Nothing here.')
    expect(explainFailure(refusal)).toBe(refusal)
  })

  it('with causes in a circle is not followed for ever', () => {
    const error = new Error('round') as Error & { cause: unknown }
    error.cause = error
    expect(explainFailure(error)).toBe(error)
  })
})
