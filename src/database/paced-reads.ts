import type { Duplex } from 'node:stream'
import type pg from 'pg'

/** A few milliseconds of reading. */
const bytesPerTurn = 262_144

/**
 * Lets other work run while a connection gets a long answer. Node would read the socket up to 32 times, 64 KB each, before it
 * does anything else, and the driver makes rows of all that.
 */
export function paceReads(client: pg.ClientBase): void {
  const { stream } = (client as pg.ClientBase & { connection: { stream: Duplex } }).connection
  let bytes = 0
  stream.on('data', (chunk: Uint8Array) => {
    bytes += chunk.byteLength
    if (bytes < bytesPerTurn) return
    bytes = 0
    stream.pause()
    setImmediate(() => stream.resume())
  })
}
