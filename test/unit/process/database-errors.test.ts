import { describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { isUniqueViolation, translateDatabaseError } from '../../../src/services/database-errors.ts'

const errorWithCode = (code: string) => Object.assign(new Error('secret detail'), { code })
/** An error of PostgreSQL as the driver and then Prisma wrap it. */
const wrappedError = (code: string) =>
  Object.assign(new Error('secret'), { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: code } } } })

/** The codes of failures that may pass, with their kind. */
const transientCodes: [code: string, when: string, meaning: 'uncertain' | 'refused'][] = [
  ['08000', 'the connection failed', 'uncertain'],
  ['08001', 'the client could not connect', 'uncertain'],
  ['08003', 'the connection is gone', 'uncertain'],
  ['08004', 'the server rejected the connection', 'uncertain'],
  ['08006', 'the connection broke', 'uncertain'],
  ['08007', 'the outcome of a transaction is unknown', 'uncertain'],
  ['08P01', 'a pooler ended the connection', 'uncertain'],
  ['25006', 'the server is a standby', 'refused'],
  ['25P03', 'the gateway was idle in a transaction for too long', 'uncertain'],
  ['25P04', 'a transaction lasted too long', 'uncertain'],
  ['28000', 'the role may not connect for now', 'uncertain'],
  ['28P01', 'the password was changed', 'uncertain'],
  ['3D000', 'the database is being restored', 'uncertain'],
  ['40001', 'a transaction could not be serialized', 'uncertain'],
  ['40003', 'the outcome of a statement is unknown', 'uncertain'],
  ['40P01', 'transactions deadlocked', 'uncertain'],
  ['53000', 'resources are exhausted', 'refused'],
  ['53100', 'the disk is full', 'refused'],
  ['53200', 'memory is exhausted', 'refused'],
  ['53300', 'no connection is free', 'uncertain'],
  ['53400', 'a configured limit is reached', 'refused'],
  ['55P03', 'the lock timeout passed', 'uncertain'],
  ['57000', 'an operator intervened', 'uncertain'],
  ['57014', 'a statement was canceled', 'uncertain'],
  ['57P01', 'the server shuts down', 'uncertain'],
  ['57P02', 'the server crashed', 'uncertain'],
  ['57P03', 'the server starts', 'uncertain'],
  ['57P04', 'the database was dropped to be restored', 'uncertain'],
  ['57P05', 'a session was idle for too long', 'uncertain'],
  ['58000', 'the operating system failed', 'refused'],
  ['58030', 'the disk failed', 'refused'],
  ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2034', 'P2037'].map(prismaError),
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].map(socketError),
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'EADDRNOTAVAIL', 'EMFILE', 'ENFILE'].map(socketError),
]
function prismaError(code: string): (typeof transientCodes)[number] {
  return [code, 'Prisma lost the database', 'uncertain']
}
function socketError(code: string): (typeof transientCodes)[number] {
  return [code, 'the socket failed', 'uncertain']
}

/** Codes of failures that a retry cannot mend: bugs, corruption, and faults that an operator must repair. */
const permanentCodes = [
  ...['23503', '23505', '25P02', '40002', '42501', '42703', '42P01', '54000', '55000', '58P01', '58P02'],
  ...['0A000', '22012', 'P0001', 'XX000', 'XX001', 'XX002', 'P2010', 'ENOENT'],
]

describe('a failure of the database', () => {
  it.each(transientCodes)('with code %s (%s) asks the caller to try again', (code, _when, meaning) => {
    const message = {
      uncertain: 'The database did not answer in time. Try again in a moment.',
      refused: 'The database cannot do this now. Try again in a moment.',
    }[meaning]
    for (const error of [errorWithCode(code), wrappedError(code)])
      expect(translateDatabaseError(error)).toMatchObject({ code: 'UNAVAILABLE', message })
  })

  it.each(permanentCodes)('with code %s stays a bug', code => {
    for (const error of [errorWithCode(code), wrappedError(code)]) expect(translateDatabaseError(error)).toBe(error)
  })

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Query read timeout',
  ])('without a code (%s) also asks the caller to try again', message => {
    expect(translateDatabaseError(new Error(message))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each(['P2020', '22003', '22021'])('with code %s reports a value that cannot be stored', code => {
    expect(translateDatabaseError(wrappedError(code))).toMatchObject({ code: 'INVALID_INPUT' })
  })

  it.each(['23505', 'P2002'])('with code %s is a duplicate', code => {
    expect(isUniqueViolation(wrappedError(code))).toBe(true)
    expect(isUniqueViolation(errorWithCode('23503'))).toBe(false)
  })
})

describe('any other error', () => {
  it.each([new Error('a bug'), errorWithCode('42703'), 'a string', undefined])(
    'is a bug and is returned unchanged: %s',
    error => {
      expect(translateDatabaseError(error)).toBe(error)
    },
  )

  it('stays as it is if it is a domain error already', () => {
    const refusal = new DomainError('NOT_FOUND', 'Nothing here.', { subject: null })
    expect(translateDatabaseError(refusal)).toBe(refusal)
  })

  it('is returned unchanged even if its causes form a circle', () => {
    const error = new Error('round') as Error & { cause: unknown }
    error.cause = error
    expect(translateDatabaseError(error)).toBe(error)
  })
})
