// Classifies the error codes of failures that may pass, from PostgreSQL, Prisma and sockets. All others are bugs or
// need an operator.

/**
 * `unanswered`: the database was not reached, did not answer in time, or could not end the transaction.
 * `refused`: the server cannot run the statement now, and rolled back the transaction.
 * `unstorable`: a value in the request fits no column, so the row that it names cannot exist.
 */
export type FailureKind = 'unanswered' | 'refused' | 'unstorable'

/** PostgreSQL's error classes: the first two characters of a SQLSTATE. */
const kindsByClass: Record<string, FailureKind> = {
  // The connection failed, or a pooler reports that it did.
  '08': 'unanswered',
  // The password or the database name is wrong for now, as during a restore or a password change.
  '28': 'unanswered',
  '3D': 'unanswered',
  // No disk space, no memory, no connections, or a limit that the operator set.
  '53': 'refused',
  // The server stops, restarts or is promoted, or an operator or a timeout canceled the statement.
  '57': 'unanswered',
}

/** Codes that differ from their class, or whose class is not listed. */
const kindsByCode: Record<string, FailureKind | undefined> = {
  // A value is too large for its column, or has a character that PostgreSQL cannot store.
  ...{ '22003': 'unstorable', '22021': 'unstorable' },
  // A standby: since a failover, another server accepts the writes.
  '25006': 'refused',
  // The transaction was idle for too long, or lasted too long.
  ...{ '25P03': 'unanswered', '25P04': 'unanswered' },
  // Conflicts after the last retry, and a connection lost during a statement. Not 40002: a constraint failed. PostgreSQL
  // rolls back after a conflict, but an earlier transaction of the same request may have committed.
  ...{ '40001': 'unanswered', '40003': 'unanswered', '40P01': 'unanswered' },
  // The lock timeout passed. As after a conflict, an earlier transaction may have committed.
  '55P03': 'unanswered',
  // No connection is free for this role.
  '53300': 'unanswered',
  // The disk or the operating system failed. Not 58P01 or 58P02: a missing or duplicate file does not mend itself.
  ...{ '58000': 'refused', '58030': 'refused' },
  // Prisma: unreachable, timeout, closed, no free connection, transaction not started or too long, conflict, too many
  // connections.
  ...{ P1001: 'unanswered', P1002: 'unanswered', P1008: 'unanswered', P1017: 'unanswered' },
  ...{ P2024: 'unanswered', P2028: 'unanswered', P2034: 'unanswered', P2037: 'unanswered' },
  P2020: 'unstorable',
  // Sockets.
  ...{ ECONNREFUSED: 'unanswered', ECONNRESET: 'unanswered', ECONNABORTED: 'unanswered', EPIPE: 'unanswered' },
  ...{ ETIMEDOUT: 'unanswered', ENOTFOUND: 'unanswered', EAI_AGAIN: 'unanswered', EHOSTUNREACH: 'unanswered' },
  ...{ ENETUNREACH: 'unanswered', ENETDOWN: 'unanswered', EHOSTDOWN: 'unanswered', EADDRNOTAVAIL: 'unanswered' },
  // The gateway has no free file descriptor for a connection.
  ...{ EMFILE: 'unanswered', ENFILE: 'unanswered' },
}

/** Errors of the driver that have no code. */
const lostConnectionPattern =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

/** The kind of a database failure; undefined for a failure that does not pass, which the faces log and mask. */
export function failureKindOf(error: unknown): FailureKind | undefined {
  const kinds = errorCodesOf(error).map(failureKindOfCode)
  // Prisma gives every failed statement the same code. The driver's code, further in, is more precise.
  const kind = kinds.find(meaning => meaning === 'refused') ?? kinds.find(meaning => meaning !== undefined)
  return kind ?? (error instanceof Error && lostConnectionPattern.test(error.message) ? 'unanswered' : undefined)
}

export function failureKindOfCode(code: string): FailureKind | undefined {
  if (Object.hasOwn(kindsByCode, code)) return kindsByCode[code]
  return /^[0-9A-Z]{5}$/.test(code) ? kindsByClass[code.slice(0, 2)] : undefined
}

/** Fields that a library may have put on its error. */
type Fields<Name extends string> = Partial<Record<Name, unknown>>

/** Returns an error as it is, and turns any other thrown value into an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Prisma wraps the driver's error, and the driver wraps PostgreSQL's. Any of them may have the decisive code. */
export function errorCodesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 4) return []
  const { code, originalCode, cause, meta }: Fields<'code' | 'originalCode' | 'cause' | 'meta'> = error
  const { driverAdapterError: inner }: Fields<'driverAdapterError'> = typeof meta === 'object' && meta ? meta : {}
  const own = [code, originalCode].filter(value => typeof value === 'string')
  return [...own, ...errorCodesOf(cause, depth + 1), ...errorCodesOf(inner, depth + 1)]
}
