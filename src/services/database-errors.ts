import { errorCodesOf, failureKindOf } from '../database/failure-codes.ts'
import { isRolledBack } from '../database/transaction.ts'
import { DomainError } from '../domain/errors.ts'

/** Every failure of the database, in the words of the domain. Anything else is a bug and is returned as it is. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof DomainError || !(error instanceof Error)) return error
  switch (failureKindOf(error)) {
    case 'unanswered':
      return new DomainError('UNAVAILABLE', 'The database did not answer in time. Try again in a moment.', {
        undone: false,
      })
    case 'refused': {
      const details = { undone: isRolledBack(error) }
      return new DomainError('UNAVAILABLE', 'The database cannot do this now. Try again in a moment.', details)
    }
    case 'unstorable':
      return new DomainError('INVALID_INPUT', 'A value in the request is outside of what can be stored.', {
        issues: [],
      })
    default:
      return error
  }
}

/** Whether a row was refused because another has its unique value already. */
export function isUniqueViolation(error: unknown): boolean {
  return errorCodesOf(error).some(code => code === 'P2002' || code === '23505')
}
