import { type DestinationStream, type Logger, pino } from 'pino'

/** Logs JSON lines. Errors are reduced to fields without user data. */
export function createLog(level: string, destination: DestinationStream): Logger {
  return pino({ level, base: null, serializers: { err: describeError } }, destination)
}

/** Fields that a library may add to an error. */
type Fields<Name extends string> = Partial<Record<Name, unknown>>

function fieldOf<Name extends string>(value: unknown, name: Name): unknown {
  const fields: Fields<Name> = typeof value === 'object' && value ? value : {}
  return fields[name]
}

/** Leaves out Prisma's messages, which quote arguments, and PostgreSQL's, which quote values of rows. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack = '' } = error
  const { code, meta, cause, table, constraint }: Fields<'code' | 'meta' | 'cause' | 'table' | 'constraint'> = error
  if (name.startsWith('PrismaClient')) return { type: name, code, model: fieldOf(meta, 'modelName') }
  if (name === 'DriverAdapterError') return { type: name, code: fieldOf(cause, 'originalCode') }
  if (isSqlState(code) && !isOfServer(code))
    return { type: name, code, table, constraint, stack: stackFramesOf(stack, message) }
  return { type: name, code, message, stack }
}

/** A SQLSTATE has five digits and capital letters, and never begins with E. System codes such as EPIPE do. */
function isSqlState(code: unknown): boolean {
  return typeof code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(code)
}

/** A lost connection, or a server that takes no writes. Such messages quote nothing, and Berth has some of its own. */
function isOfServer(code: unknown): boolean {
  return /^(08|25)/.test(String(code))
}

/** The stack without the message that it begins with. */
function stackFramesOf(stack: string, message: string): string {
  const start = stack.indexOf(message)
  return start < 0 ? '' : stack.slice(start + message.length).replace(/^\n/, '')
}
