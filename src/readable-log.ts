// The log as a person reads it on a terminal. Anything else gets JSON.

import { type DestinationStream, pino } from 'pino'

/** Longer lists are counted. */
const maxListed = 5

/** The destination of the log for standard error. */
export function logDestination(output: DestinationStream, { isTTY }: { isTTY?: boolean }): DestinationStream {
  return isTTY ? { write: line => output.write(printReadable(line)) } : output
}

/** One line of the log as a line for people: `09:30:00 warn  Stopping failed. path=/graphql`. */
export function printReadable(json: string): string {
  const { level, time, msg = '', err, requestId, ...fields } = JSON.parse(json) as LogLine
  const start = `${printTime(new Date(time))} ${pino.levels.labels[level]?.padEnd(5)} ${msg}`
  const { stack, ...error } = err ?? {}
  const printed = Object.entries({ ...fields, ...error, ...(requestId && { requestId }) }).map(
    ([name, value]) => ` ${name}=${printValue(value)}`,
  )
  const frames = stack === undefined ? '' : `\n${withoutControls(stack)}`
  return `${withoutControls(start)}${printed.join('')}${frames}\n`
}

type LogLine = { level: number; time: number; msg?: string; err?: { stack?: string }; requestId?: string }

function printTime(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map(part => String(part).padStart(2, '0')).join(':')
}

function printValue(value: unknown): string {
  if (Array.isArray(value) && value.length > maxListed) return `[${value.length} items]`
  return typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : withoutControls(JSON.stringify(value))
}

/** A terminal obeys control characters. JSON escapes only some of them. */
function withoutControls(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n]/gu, '')
}
