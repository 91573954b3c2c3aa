// What the log says of an error: enough to find its cause, and nothing that a renter wrote.

import { conditionOf, hasHarmlessMessage } from './conditions.ts'

/** Fields that a library may add to an error. */
type Fields<Name extends string> = Partial<Record<Name, unknown>>

function fieldOf<Name extends string>(value: unknown, name: Name): unknown {
  const fields: Fields<Name> = typeof value === 'object' && value ? value : {}
  return fields[name]
}

/** Leaves out Prisma's messages, which quote arguments, and those of PostgreSQL that quote values of rows. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack = '' } = error
  const { code, meta, cause, table, constraint }: Fields<'code' | 'meta' | 'cause' | 'table' | 'constraint'> = error
  if (name.startsWith('PrismaClient')) {
    const inner = fieldOf(fieldOf(meta, 'driverAdapterError'), 'cause')
    return { type: name, code, model: fieldOf(meta, 'modelName'), ...describeDriver(inner) }
  }
  if (name === 'DriverAdapterError')
    return { type: name, code: fieldOf(cause, 'originalCode'), ...describeDriver(cause) }
  if (isSqlState(code)) {
    const described = { ...describeSqlState(code, message), table, constraint }
    return { type: name, code, ...described, stack: stackFramesOf(stack, message) }
  }
  return { type: name, code, message, stack }
}

/** What Prisma's driver passes on of PostgreSQL's error. */
function describeDriver(cause: unknown): Record<string, unknown> {
  const code = fieldOf(cause, 'originalCode')
  return isSqlState(code) ? describeSqlState(code, fieldOf(cause, 'originalMessage')) : {}
}

function describeSqlState(sqlState: string, message: unknown): Record<string, unknown> {
  return { condition: conditionOf(sqlState), message: hasHarmlessMessage(sqlState) ? message : undefined }
}

/** A SQLSTATE has five digits and capital letters, and never begins with E. System codes such as EPIPE do. */
function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && /^(?!E)[0-9A-Z]{5}$/.test(code)
}

/** The stack without the message that it begins with. */
function stackFramesOf(stack: string, message: string): string {
  const start = stack.indexOf(message)
  return start < 0 ? '' : stack.slice(start + message.length).replace(/^\n/, '')
}
