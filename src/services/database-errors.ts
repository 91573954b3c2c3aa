import { errorCodesOf, failureKindOf } from '../database/failure-codes.ts'
import { isRolledBack } from '../database/transaction.ts'
import { DomainError } from '../domain/errors.ts'

/** Turns failures of the database into domain errors. Any other error is a bug and is returned as it is. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof DomainError || !(error instanceof Error)) return error
  switch (failureKindOf(error)) {
    case 'uncertain':
      return new DomainError('UNAVAILABLE', 'The database did not answer in time. Try again in a moment.', {
        undone: false,
      })
    case 'refused': {
      const details = { undone: isRolledBack(error) }
      return new DomainError('UNAVAILABLE', 'The database cannot do this now. Try again in a moment.', details)
    }
    case 'unstorable':
      return new DomainError(
        'INVALID_INPUT',
        'A value in the request cannot be stored: it is too large, or has a character that no text may contain.',
        {
          issues: [],
        },
      )
    default:
      return error
  }
}

/** Whether the database refused a row because another row has the same unique value. */
export function isUniqueViolation(error: unknown): boolean {
  return errorCodesOf(error).some(code => code === 'P2002' || code === '23505')
}
