// The streams of a multiplexer, as Node's.

import { Duplex, Readable, Writable } from 'node:stream'
import type { Multiplexer } from './multiplexer.ts'

/** The channels of a process. A connection has the first two. */
export const channels = { input: 0, output: 1, errors: 2 } as const
type Channel = (typeof channels)[keyof typeof channels]

const highWaterMark = 65_536

export function readableOf(multiplexer: Multiplexer, id: number, channel: Channel): Readable {
  const receiver = multiplexer.receiver({ id, channel }, chunk => void readable.push(chunk))
  const readable = new Readable({
    highWaterMark,
    read: receiver.grant,
    destroy(error, done) {
      receiver.discard()
      done(error)
    },
  })
  return quiet(readable)
}

export function writableOf(multiplexer: Multiplexer, id: number, channel: Channel): Writable {
  const sender = multiplexer.sender({ id, channel })
  const writable = new Writable({
    highWaterMark,
    write: (chunk: Buffer, _, done) => sender.send(chunk, done),
    final(done) {
      sender.end()
      done()
    },
    destroy(error, done) {
      sender.discard()
      done(error)
    },
  })
  return quiet(writable)
}

/** Both directions of a connection. */
export function duplexOf(multiplexer: Multiplexer, id: number, from: Channel, to: Channel): Duplex {
  const receiver = multiplexer.receiver({ id, channel: from }, chunk => void duplex.push(chunk))
  const sender = multiplexer.sender({ id, channel: to })
  const duplex = new Duplex({
    readableHighWaterMark: highWaterMark,
    writableHighWaterMark: highWaterMark,
    read: receiver.grant,
    write: (chunk: Buffer, _, done) => sender.send(chunk, done),
    final(done) {
      sender.end()
      done()
    },
    destroy(error, done) {
      receiver.discard()
      sender.discard()
      done(error)
    },
  })
  return quiet(duplex)
}

/** A stream may break off while nobody listens to it. That must not end the process. */
function quiet<Stream extends Readable | Writable>(stream: Stream): Stream {
  stream.on('error', () => {})
  return stream
}
