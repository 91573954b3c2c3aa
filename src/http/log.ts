import { type DestinationStream, type Logger, pino } from 'pino'

/** JSON lines. Errors are cut down to what tells nothing of anybody's data. */
export function createLog(level: string, destination: DestinationStream): Logger {
  return pino({ level, base: null, serializers: { err: describeError } }, destination)
}

/** What a library may have put on its error. */
type Fields<Name extends string> = Partial<Record<Name, unknown>>

function fieldOf<Name extends string>(value: unknown, name: Name): unknown {
  const fields: Fields<Name> = typeof value === 'object' && value ? value : {}
  return fields[name]
}

/** Prisma's messages quote the arguments of the call, and PostgreSQL's messages and details the values of the row. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack = '' } = error
  const { code, meta, cause, table, constraint }: Fields<'code' | 'meta' | 'cause' | 'table' | 'constraint'> = error
  if (name.startsWith('PrismaClient')) return { type: name, code, model: fieldOf(meta, 'modelName') }
  if (name === 'DriverAdapterError') return { type: name, code: fieldOf(cause, 'originalCode') }
  if (isSqlState(code)) return { type: name, code, table, constraint, stack: stackFramesOf(stack, message) }
  return { type: name, code, message, stack }
}

/** Five letters and digits. No class of them begins with E, as the system's own codes do. */
function isSqlState(code: unknown): boolean {
  return typeof code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(code)
}

/** A stack begins with the message. */
function stackFramesOf(stack: string, message: string): string {
  const start = stack.indexOf(message)
  return start < 0 ? '' : stack.slice(start + message.length).replace(/^\n/, '')
}
