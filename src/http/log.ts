import { type DestinationStream, type Logger, pino } from 'pino'
import { describeError } from './errors/describe.ts'

/** Logs JSON lines. Errors are reduced to fields without user data. */
export function createLog(level: string, destination: DestinationStream): Logger {
  return pino({ level, base: null, serializers: { err: describeError } }, destination)
}
