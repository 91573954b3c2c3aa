import { DomainError } from '../domain/errors.ts'

const unavailable = new Set([
  // Prisma: cannot reach, timed out, closed, no connection free, transaction not started or over its time.
  ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'P2034'],
  // PostgreSQL: shutting down, crashed, starting, connection lost or idle too long, a standby that does not write, out of
  // memory, connections or room, statement or lock time limit, and conflicts that are left after the retries.
  ...['57P01', '57P02', '57P03', '57P05', '08001', '08003', '08006', '25006', '53200', '53300', '53400'],
  ...['57014', '55P03', '25P03', '40001', '40P01'],
  // The socket below them.
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'ENETUNREACH'],
])
/** A number that its column cannot hold, or a text with NUL: the row that it names cannot exist. */
const unstorable = new Set(['P2020', '22003', '22021'])
/** The driver gives these no code. */
const lostConnection =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

/** Every failure of the database, in the words of the domain. Anything else is a bug and is returned as it is. */
export function explainFailure(error: unknown): unknown {
  if (error instanceof DomainError || !(error instanceof Error)) return error
  const codes = codesOf(error)
  if (codes.some(code => unavailable.has(code)) || lostConnection.test(error.message)) {
    return new DomainError('UNAVAILABLE', 'The database did not answer in time. Try again in a moment.')
  }
  if (codes.some(code => unstorable.has(code))) {
    return new DomainError('INVALID_INPUT', 'A value in the request is outside of what can be stored.')
  }
  return error
}

/** Prisma wraps the driver's error, and the driver PostgreSQL's: the telling code may be in any of them. */
function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 4) return []
  const { code, originalCode, cause, meta } = error as Record<string, unknown>
  const inner = (meta as { driverAdapterError?: unknown } | undefined)?.driverAdapterError
  const own = [code, originalCode].filter(value => typeof value === 'string')
  return [...own, ...codesOf(cause, depth + 1), ...codesOf(inner, depth + 1)]
}

/** Whether a row was refused because another has its unique value already. */
export function isDuplicate(error: unknown): boolean {
  return codesOf(error).some(code => code === 'P2002' || code === '23505')
}
