import { DomainError } from '../errors.ts'

export const invalidKeyMessage = 'The API key is unknown, expired or revoked.'

/** The same for unknown, revoked and expired keys. */
export function invalidKey(): DomainError<'UNAUTHENTICATED'> {
  return new DomainError('UNAUTHENTICATED', invalidKeyMessage)
}
