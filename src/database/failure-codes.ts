// Classifies failures of PostgreSQL, Prisma and sockets that are no bug: those that may go away, and values that no column
// can store.

/**
 * `uncertain`: the database was not reached, did not answer in time, or gave up. The request may have changed something.
 * `refused`: the server cannot run the statement now, and rolled back the transaction.
 * `unstorable`: a value in the request fits no column, so the row that it names cannot exist.
 */
type FailureKind = 'uncertain' | 'refused' | 'unstorable'

/** PostgreSQL's error classes: the first two characters of a SQLSTATE. */
const kindsByClass: Record<string, FailureKind> = {
  // The connection failed, or a pooler reports that it did.
  '08': 'uncertain',
  // The password or the database name is wrong for now, as during a restore or a password change.
  '28': 'uncertain',
  '3D': 'uncertain',
  // No disk space, no memory, no connections, or a limit that the operator set.
  '53': 'refused',
  // The server stops, restarts or is promoted, or an operator or a timeout canceled the statement.
  '57': 'uncertain',
}

/** Codes that differ from their class, or whose class is not listed. */
const kindsByCode: Record<string, FailureKind | undefined> = {
  // A value is too large for its column, or has a character that PostgreSQL cannot store.
  ...{ '22003': 'unstorable', '22021': 'unstorable' },
  // A standby: since a failover, another server accepts the writes.
  '25006': 'refused',
  // The transaction was idle for too long, or lasted too long.
  ...{ '25P03': 'uncertain', '25P04': 'uncertain' },
  // Conflicts after the last retry, and a connection lost during a statement. Not 40002: a constraint failed. PostgreSQL
  // rolls back after a conflict, but an earlier transaction of the same request may have committed.
  ...{ '40001': 'uncertain', '40003': 'uncertain', '40P01': 'uncertain' },
  // The lock timeout passed. As after a conflict, an earlier transaction may have committed.
  '55P03': 'uncertain',
  // No connection is free for this role.
  '53300': 'uncertain',
  // The disk or the operating system failed. Not 58P01 or 58P02: a missing or duplicate file does not mend itself.
  ...{ '58000': 'refused', '58030': 'refused' },
  // Prisma: unreachable, timeout, closed, no free connection, transaction not started or too long, conflict, too many
  // connections.
  ...{ P1001: 'uncertain', P1002: 'uncertain', P1008: 'uncertain', P1017: 'uncertain' },
  ...{ P2024: 'uncertain', P2028: 'uncertain', P2034: 'uncertain', P2037: 'uncertain' },
  P2020: 'unstorable',
  // Sockets.
  ...{ ECONNREFUSED: 'uncertain', ECONNRESET: 'uncertain', ECONNABORTED: 'uncertain', EPIPE: 'uncertain' },
  ...{ ETIMEDOUT: 'uncertain', ENOTFOUND: 'uncertain', EAI_AGAIN: 'uncertain', EHOSTUNREACH: 'uncertain' },
  ...{ ENETUNREACH: 'uncertain', ENETDOWN: 'uncertain', EHOSTDOWN: 'uncertain', EADDRNOTAVAIL: 'uncertain' },
  // The gateway has no free file descriptor for a connection.
  ...{ EMFILE: 'uncertain', ENFILE: 'uncertain' },
}

/** Errors of the driver that have no code. */
const lostConnectionPattern =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end)/

/** The kind of a database failure; undefined for any other failure, which the faces log and mask. */
export function failureKindOf(error: unknown): FailureKind | undefined {
  const kinds = errorCodesOf(error).map(failureKindOfCode)
  // Prisma gives every failed statement the same code. The driver's code, further in, is more precise.
  const kind = kinds.find(meaning => meaning === 'refused') ?? kinds.find(meaning => meaning !== undefined)
  return kind ?? (error instanceof Error && lostConnectionPattern.test(error.message) ? 'uncertain' : undefined)
}

/** A wait for a lock, a conflict, or a statement that took too long: it says something of the work, not of the database. */
const ownFailureCodes = new Set(['40001', '40P01', '55P03', '57014'])

/** Whether the database was not reached or cannot serve. Then other work fails, too. */
export function isUnreachable(error: unknown): boolean {
  return failureKindOf(error) === 'uncertain' && !errorCodesOf(error).some(code => ownFailureCodes.has(code))
}

function failureKindOfCode(code: string): FailureKind | undefined {
  if (Object.hasOwn(kindsByCode, code)) return kindsByCode[code]
  return /^[0-9A-Z]{5}$/.test(code) ? kindsByClass[code.slice(0, 2)] : undefined
}

/**
 * Whether a connection prepared the statement before the type of one of its columns changed. The server has then refused
 * the statement, on this connection alone. It gives the same code to features that it lacks.
 */
export function isStalePlan(error: unknown): boolean {
  return errorCodesOf(error).includes('0A000')
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
