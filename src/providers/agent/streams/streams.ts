// The streams of a multiplexer, as Node's.

import { Duplex, Readable, Writable } from 'node:stream'
import { createBacklog } from './backlog.ts'
import { type Multiplexer, windowBytes } from './multiplexer.ts'

/** The channels of a process. A connection has the first two. */
export const channels = { input: 0, output: 1, errors: 2 } as const
type Channel = (typeof channels)[keyof typeof channels]

const writableHighWaterMark = 65_536
/** A reader takes one piece at a time. The rest waits in the backlog. */
const readableHighWaterMark = 1

export function readableOf(multiplexer: Multiplexer, id: number, channel: Channel): Readable {
  const source = sourceOf(multiplexer, { id, channel }, chunk => void readable.push(chunk))
  const readable = new Readable({
    highWaterMark: readableHighWaterMark,
    read: source.read,
    destroy(error, done) {
      source.discard()
      done(error)
    },
  })
  return quiet(readable)
}

export function writableOf(multiplexer: Multiplexer, id: number, channel: Channel): Writable {
  const sender = multiplexer.sender({ id, channel })
  const writable = new Writable({
    highWaterMark: writableHighWaterMark,
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
  const source = sourceOf(multiplexer, { id, channel: from }, chunk => void duplex.push(chunk))
  const sender = multiplexer.sender({ id, channel: to })
  const duplex = new Duplex({
    readableHighWaterMark,
    writableHighWaterMark,
    read: source.read,
    write: (chunk: Buffer, _, done) => sender.send(chunk, done),
    final(done) {
      sender.end()
      done()
    },
    destroy(error, done) {
      source.discard()
      sender.discard()
      done(error)
    },
  })
  return quiet(duplex)
}

/** What a stream receives, a piece for each time that its reader asks. */
function sourceOf(
  multiplexer: Multiplexer,
  key: { id: number; channel: Channel },
  push: (chunk: Buffer | null) => void,
) {
  const backlog = createBacklog(windowBytes)
  let isAwaited = false
  const { grant, discard } = multiplexer.receiver(key, chunk => {
    if (chunk && !isAwaited) return backlog.add(chunk)
    if (chunk === null && backlog.length() > 0) push(backlog.take())
    isAwaited = false
    push(chunk)
  })
  return {
    read(): void {
      grant(backlog.length())
      isAwaited = backlog.length() === 0
      if (!isAwaited) push(backlog.take())
    },
    discard,
  }
}

/** A stream may break off while nobody listens to it. That must not end the process. */
function quiet<Stream extends Readable | Writable>(stream: Stream): Stream {
  stream.on('error', () => {})
  return stream
}
