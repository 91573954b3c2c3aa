// Without a terminal, the engine sends both outputs of a process in one stream, in frames with a header of 8 bytes.

import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { MachineUnreachable } from '../../provider.ts'

export type Frame = { source: 'stdout' | 'stderr'; payload: Buffer }

const headerLength = 8
const stderrNumber = 2
/** Much longer than any honest frame. */
const maxFrameBytes = 10_000_000

export async function* readFrames(stream: Readable): AsyncGenerator<Frame> {
  let pending: Buffer = Buffer.alloc(0)
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    let start = 0
    while (pending.length - start >= headerLength) {
      const length = pending.readUInt32BE(start + 4)
      if (length > maxFrameBytes) throw new MachineUnreachable('A frame of the engine is too long.')
      const end = start + headerLength + length
      if (pending.length < end) break
      const source = pending[start] === stderrNumber ? 'stderr' : 'stdout'
      yield { source, payload: pending.subarray(start + headerLength, end) }
      start = end
    }
    pending = pending.subarray(start)
  }
}

/** Reads on only when the reader of an output has taken what came before. */
export async function splitOutputs(stream: Readable, outputs: Record<Frame['source'], Writable>): Promise<void> {
  for await (const { source, payload } of readFrames(stream)) await write(outputs[source], payload)
}

export async function copyOutput(stream: Readable, output: Writable): Promise<void> {
  for await (const chunk of stream) await write(output, chunk)
}

/** What nobody reads any more is dropped. */
async function write(output: Writable, chunk: Buffer): Promise<void> {
  if (output.destroyed || output.write(chunk)) return
  const waiting = new AbortController()
  const { signal } = waiting
  await Promise.race([once(output, 'drain', { signal }), once(output, 'close', { signal })]).finally(() =>
    waiting.abort(),
  )
}
