// The engine keeps what a container prints, each piece with its time to the nanosecond. A cursor is the time of a line,
// and its place among the lines of that time. So reading goes on in the log of a container that was made anew.

import { type LogLine, type LogRange, maxLogLines } from '../../../domain/instances/containers.ts'
import { brokenStreamError, EngineError } from '../engine/error.ts'
import { readFrames } from '../engine/frames.ts'
import type { Machine } from '../machine.ts'
import { joinLines, type Line } from './lines.ts'

/** Read beyond the wanted lines: lines of both outputs may be out of order, and may have the same time. */
const spareLines = 16
/** A follower that falls behind reads the log in parts, so that this bounds one answer. */
const readDeadlineMs = 30_000

type Cursor = { time: bigint; place: number }

export async function readLog(
  { client }: Machine,
  containerId: string,
  { after, tail }: LogRange,
  signal: AbortSignal,
): Promise<LogLine[]> {
  const limit = Math.min(tail ?? maxLogLines, maxLogLines)
  if (limit === 0) return []
  const cursor = after === undefined ? undefined : parseCursor(after)
  const range = cursor ? { since: sinceOf(cursor.time) } : { tail: limit + spareLines }
  const query = { stdout: 1, stderr: 1, timestamps: 1, ...range }
  const signals = AbortSignal.any([signal, AbortSignal.timeout(readDeadlineMs)])
  try {
    const stream = await client.stream('GET', `/containers/${containerId}/logs`, { query, signal: signals })
    const numbered = numberLines(await collect(joinLines(readFrames(stream)), cursor?.time ?? -1n, limit + spareLines))
    if (!cursor) return numbered.slice(-limit).map(logLineOf)
    const later = numbered.filter(line => isAfter(line, cursor))
    return later.slice(0, limit).map(logLineOf)
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return []
    throw brokenStreamError(error, signal)
  }
}

/** The lines of a time, all of them, and at most this many later ones. */
async function collect(lines: AsyncIterable<Line>, time: bigint, most: number): Promise<Line[]> {
  const collected: Line[] = []
  let later = 0
  for await (const line of lines) {
    collected.push(line)
    if (line.time > time) later += 1
    if (later >= most) break
  }
  return collected
}

function numberLines(lines: Line[]): (Line & Cursor)[] {
  const sorted = lines.toSorted((a, b) => Number(a.time - b.time))
  let place = 0
  return sorted.map((line, index) => {
    place = sorted[index - 1]?.time === line.time ? place + 1 : 0
    return { ...line, place }
  })
}

function logLineOf({ time, place, text, source }: Line & Cursor): LogLine {
  return { printedAt: new Date(Number(time / 1_000_000n)), text, source, cursor: `${time}.${place}` }
}

function isAfter(line: Cursor, cursor: Cursor): boolean {
  return line.time === cursor.time ? line.place > cursor.place : line.time > cursor.time
}

function parseCursor(cursor: string): Cursor {
  const [, time = '0', place = '0'] = /^(\d{1,19})\.(\d{1,9})$/.exec(cursor) ?? []
  return { time: BigInt(time), place: Number(place) }
}

/** Nanoseconds as the engine reads them: in seconds. */
export function sinceOf(time: bigint): string {
  return `${time / 1_000_000_000n}.${String(time % 1_000_000_000n).padStart(9, '0')}`
}
