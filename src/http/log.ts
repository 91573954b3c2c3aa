import { type DestinationStream, type Logger, pino } from 'pino'

/** JSON lines. Errors are cut down to what tells nothing of anybody's data. */
export function createLog(level: string, destination: DestinationStream): Logger {
  return pino({ level, base: null, serializers: { err: describeError } }, destination)
}

/** Prisma's messages quote the arguments of the call, and PostgreSQL's details the values of the row. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack } = error
  const { code, meta, table, constraint } = error as Error & Record<string, unknown>
  if (name.startsWith('PrismaClient')) return { type: name, code, model: (meta as { modelName?: unknown })?.modelName }
  return { type: name, code, message, table, constraint, stack }
}
