// The log of a simulated container: lines with the instants at which they appear, including future lines. A change of
// the container removes the future lines that it makes impossible.

import { createHash } from 'node:crypto'
import type { LogLine, LogRange, LogSource } from '../../domain/instances/containers.ts'
import { maxLogLines } from '../../domain/instances/containers.ts'

/** A number is never used twice, so that a cursor always means the same line. Instants are in ms. */
export type LogEntry = {
  n: number
  at: number
  text: string
  source: LogSource
  everyMs?: number
  until?: number | null
}
export type NewLogEntry = Omit<LogEntry, 'n'>

const maxEntries = 500
const maxTextLength = 1_000
/** Repeated lines are kept for a day. */
const keptMs = 24 * 3_600_000

/** Replaces the future lines of a log. New numbers are above `least`. */
export function appendEntries(log: LogEntry[], now: number, entries: NewLogEntry[], least = 0): LogEntry[] {
  const last = Math.max(least, ...log.map(({ n }) => n))
  const past = log
    .filter(({ at }) => at <= now)
    .map(entry => (isStillRepeating(entry, now) ? { ...entry, until: now } : entry))
  const added = entries.map((entry, index) => ({
    ...entry,
    n: last + 1 + index,
    text: entry.text.slice(0, maxTextLength),
  }))
  return [...past, ...added].slice(-maxEntries)
}

/** Gives the number that a line prints in place of each #, at an instant in ms. */
type NumberAt = (ms: number) => number

/** Reads the lines that were printed at `now` or earlier. */
export function readLines(log: LogEntry[], now: number, { after, tail }: LogRange, numberAt: NumberAt): LogLine[] {
  const lines = log.flatMap(entry => linesOf(entry, now, numberAt))
  if (after === undefined) return tail === 0 ? [] : lines.slice(-Math.min(tail ?? maxLogLines, maxLogLines))
  const start = lines.findIndex(({ cursor }) => isAfter(cursor, after))
  return start === -1 ? [] : lines.slice(start, start + Math.min(tail ?? maxLogLines, maxLogLines))
}

function linesOf({ n, at, text, source, everyMs, until }: LogEntry, now: number, numberAt: NumberAt): LogLine[] {
  if (at > now) return []
  if (everyMs === undefined) return [{ printedAt: new Date(at), text, source, cursor: `${n}.0` }]
  const end = Math.min(now, (until ?? Number.POSITIVE_INFINITY) - 1)
  const first = Math.max(0, Math.ceil((now - keptMs - at) / everyMs))
  const count = Math.floor((end - at) / everyMs) + 1 - first
  return Array.from({ length: Math.max(0, count) }, (_, index) => {
    const turn = first + index
    const printedMs = at + turn * everyMs
    const filled = text.replaceAll('#', () => String(numberAt(printedMs)))
    return { printedAt: new Date(printedMs), text: filled, source, cursor: `${n}.${turn}` }
  })
}

function isStillRepeating({ everyMs, until }: LogEntry, now: number): boolean {
  return everyMs !== undefined && (until === null || until === undefined || until > now)
}

function isAfter(cursor: string, other: string): boolean {
  const [n = 0, turn = 0] = cursor.split('.').map(Number)
  const [otherN = 0, otherTurn = 0] = other.split('.').map(Number)
  return n === otherN ? turn > otherTurn : n > otherN
}

/** A pull, layer by layer. */
export function pullEntries(image: string, fails: boolean, from: number, to: number): NewLogEntry[] {
  const say = (at: number, text: string): NewLogEntry => ({ at, text, source: 'machine' })
  const first = say(from, `Pulling ${image}.`)
  if (fails) return [first, say(to, `There is no image ${image}.`)]
  const digest = createHash('sha256').update(image).digest('hex')
  const layers = 3 + (Number.parseInt(digest.slice(0, 2), 16) % 4)
  const pulled = Array.from({ length: layers }, (_, index) => {
    const share = (index + 1) / (layers + 1)
    const megabytes = 1 + (Number.parseInt(digest.slice(index * 4, index * 4 + 4), 16) % 900)
    const layer = digest.slice(8 + index * 6, 20 + index * 6)
    return say(
      Math.round(from + share * (to - from)),
      `${layer}: pulled ${megabytes} MB, layer ${index + 1} of ${layers}.`,
    )
  })
  return [first, ...pulled, say(to, 'The image is pulled.')]
}
