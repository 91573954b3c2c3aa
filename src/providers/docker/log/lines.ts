import type { Frame } from '../engine/frames.ts'

/** `time` is in nanoseconds. */
export type Line = { time: bigint; text: string; source: Frame['source'] }

/** Longer lines are cut. */
const maxLineBytes = 4_096

/** The engine divides long lines into frames, all with the time of the first. A line counts when it is complete. */
export async function* joinLines(frames: AsyncIterable<Frame>): AsyncGenerator<Line> {
  const pending: Partial<Record<Frame['source'], { time: bigint; bytes: Buffer }>> = {}
  for await (const { source, payload } of frames) {
    const blank = payload.indexOf(' ')
    const time = pending[source]?.time ?? nanoseconds(payload.toString('latin1', 0, blank))
    const isEnd = payload.at(-1) === 10
    const piece = payload.subarray(blank + 1, isEnd ? -1 : undefined)
    const bytes = Buffer.concat([pending[source]?.bytes ?? Buffer.alloc(0), piece]).subarray(0, maxLineBytes)
    if (!isEnd) pending[source] = { time, bytes }
    else {
      delete pending[source]
      yield { time, text: bytes.toString().replace(/\r$/, ''), source }
    }
  }
}

/** Reads an instant such as 2026-11-26T00:10:00.123456789Z. */
export function nanoseconds(instant: string): bigint {
  const [, seconds = '', fraction = ''] = /^(.+?)(?:\.(\d+))?Z$/.exec(instant) ?? []
  const ms = Date.parse(`${seconds}Z`)
  return Number.isNaN(ms) ? 0n : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9))
}
