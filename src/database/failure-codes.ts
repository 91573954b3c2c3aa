// What PostgreSQL's error codes mean: whether a failure can pass by itself. All others are bugs or need an operator.

/**
 * `unanswered`: the database was not reached, did not answer in time, or could not end the transaction.
 * `refused`: the server answered that it cannot do it now, and undid the transaction.
 * `unstorable`: a value in the request fits no column, so the row that it names cannot exist.
 */
export type FailureKind = 'unanswered' | 'refused' | 'unstorable'

/** PostgreSQL's classes, by the first two characters of a SQLSTATE. */
const kindsByClass: Record<string, FailureKind> = {
  // The connection failed, or its pooler says so.
  '08': 'unanswered',
  // The key or the name of the database is wrong for now, as while a backup is restored or a password is changed.
  '28': 'unanswered',
  '3D': 'unanswered',
  // No room on the disk, no memory, no connections, a limit that the operator set.
  '53': 'refused',
  // The server is stopped, restarted or promoted, or an operator or a time limit canceled the statement.
  '57': 'unanswered',
}

/** Codes that mean something else than their class, or whose class means nothing. */
const kindsByCode: Record<string, FailureKind | undefined> = {
  // A value is too large for its column, or has a character that no text may have.
  ...{ '22003': 'unstorable', '22021': 'unstorable' },
  // A standby: the server that could write is another one since a failover.
  '25006': 'refused',
  // A transaction that waited for the gateway too long, or lasted too long.
  ...{ '25P03': 'unanswered', '25P04': 'unanswered' },
  // Conflicts that are left after the retries, and a connection lost amid a statement. Not 40002: a constraint failed.
  ...{ '40001': 'unanswered', '40003': 'unanswered', '40P01': 'unanswered' },
  // A lock was not to be had in time.
  '55P03': 'unanswered',
  // No connection is free for this role.
  '53300': 'unanswered',
  // The disk or the operating system failed. Not 58P01 and 58P02: a file that is gone does not come back.
  ...{ '58000': 'refused', '58030': 'refused' },
  // Prisma: not reached, late, closed, no connection free, transaction not begun or too long, a conflict, too many connections.
  ...{ P1001: 'unanswered', P1002: 'unanswered', P1008: 'unanswered', P1017: 'unanswered' },
  ...{ P2024: 'unanswered', P2028: 'unanswered', P2034: 'unanswered', P2037: 'unanswered' },
  P2020: 'unstorable',
  // The socket below them.
  ...{ ECONNREFUSED: 'unanswered', ECONNRESET: 'unanswered', ECONNABORTED: 'unanswered', EPIPE: 'unanswered' },
  ...{ ETIMEDOUT: 'unanswered', ENOTFOUND: 'unanswered', EAI_AGAIN: 'unanswered', EHOSTUNREACH: 'unanswered' },
  ...{ ENETUNREACH: 'unanswered', ENETDOWN: 'unanswered', EHOSTDOWN: 'unanswered', EADDRNOTAVAIL: 'unanswered' },
  // The gateway has no file descriptor left for a connection.
  ...{ EMFILE: 'unanswered', ENFILE: 'unanswered' },
}

/** The driver gives these no code. */
const lostConnectionPattern =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

/** What a failure of the database means; undefined for one that does not pass, which is logged and masked. */
export function failureKindOf(error: unknown): FailureKind | undefined {
  const kinds = errorCodesOf(error).map(failureKindOfCode)
  // Prisma gives every failure of a statement one code: the driver's, further in, says more.
  const kind = kinds.find(meaning => meaning === 'refused') ?? kinds.find(meaning => meaning !== undefined)
  return kind ?? (error instanceof Error && lostConnectionPattern.test(error.message) ? 'unanswered' : undefined)
}

export function failureKindOfCode(code: string): FailureKind | undefined {
  if (Object.hasOwn(kindsByCode, code)) return kindsByCode[code]
  return /^[0-9A-Z]{5}$/.test(code) ? kindsByClass[code.slice(0, 2)] : undefined
}

/** What a library may have put on its error. */
type Fields<Name extends string> = Partial<Record<Name, unknown>>

/** Libraries throw errors; anything else that is thrown becomes one. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Prisma wraps the driver's error, and the driver PostgreSQL's: the telling code may be in any of them. */
export function errorCodesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 4) return []
  const { code, originalCode, cause, meta }: Fields<'code' | 'originalCode' | 'cause' | 'meta'> = error
  const { driverAdapterError: inner }: Fields<'driverAdapterError'> = typeof meta === 'object' && meta ? meta : {}
  const own = [code, originalCode].filter(value => typeof value === 'string')
  return [...own, ...errorCodesOf(cause, depth + 1), ...errorCodesOf(inner, depth + 1)]
}
