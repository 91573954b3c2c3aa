export const errorCodes = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'INVALID_INPUT',
  'INVALID_CURSOR',
  'CONFLICT',
  'UNAVAILABLE',
] as const
export type ErrorCode = (typeof errorCodes)[number]

/** One thing wrong with an input, and where. The message reads on from the path, and does not repeat it. */
export type Issue = { path: string; message: string }

type Details = {
  /** Everything wrong with an input, not only the first thing. */
  issues?: Issue[]
  /** Permission categories that the key lacks. */
  missing?: string[]
}

/** A refusal that the caller may read. Anything else that is thrown is a bug, and is masked at the face. */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly code: ErrorCode
  readonly details: Details

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message)
    this.code = code
    this.details = details
  }
}

export function invalidInput(issues: Issue[]): DomainError {
  const message = issues.map(issue => `${issue.path}: ${issue.message}`).join(' ')
  return new DomainError('INVALID_INPUT', message, { issues })
}
