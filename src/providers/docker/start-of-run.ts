import { Readable } from 'node:stream'
import { type Container, isNever } from './container.ts'
import { type Frame, readFrames } from './engine/frames.ts'
import { nanoseconds } from './log/lines.ts'
import { sinceOf } from './log/read.ts'
import type { Machine } from './machine.ts'

/** More than the driver's entrypoint prints before it is ready. */
export const startBytes = 8_192

type StartOfRun = { bytes: number; lines: { source: Frame['source']; text: string }[] }

/**
 * The first lines of the container's last run, if it runs: those after the end of the run before. The engine notes when
 * a run started only after its first lines.
 */
export async function readStartOfRun(
  { client }: Machine,
  { Id, State }: Container,
  signal: AbortSignal,
): Promise<StartOfRun> {
  const since = sinceOfRun(State)
  const query = { stdout: 1, stderr: 1, since }
  const start = await client.readStart(`/containers/${Id}/logs`, { query, signal, maxBytes: startBytes })
  const lines: StartOfRun['lines'] = []
  for await (const { source, payload } of readFrames(Readable.from([start]))) {
    lines.push({ source, text: payload.toString().replace(/\n$/, '') })
  }
  return { bytes: start.length, lines }
}

function sinceOfRun({ Running, StartedAt, FinishedAt }: Container['State']): string | undefined {
  if (!Running) return sinceOf(nanoseconds(StartedAt) - marginNanos)
  return isNever(FinishedAt) ? undefined : sinceOf(nanoseconds(FinishedAt))
}

/** For a run that has ended: the end of the one before is not known any more. */
const marginNanos = 1_000_000_000n
