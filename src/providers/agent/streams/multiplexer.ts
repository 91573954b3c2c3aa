// Many streams over one connection. A sender has a window for each stream, which the receiver reopens as it reads, so a
// stream that nobody reads holds up no other. Senders take turns, a small piece each.

import { ProtocolError } from '../protocol/messages.ts'

/** One side of a connection. */
export type Wire = {
  /** `onSent` is called when the network has taken it, or never will. */
  send(data: string | Buffer, onSent?: () => void): void
  close(code: number, reason: string): void
}

/** `id`: that of the call which began the streams. `channel`: which of them. */
type Key = { id: number; channel: number }
export type Sender = {
  /** One chunk at a time. */
  send(chunk: Buffer, done: () => void): void
  end(): void
  discard(): void
}
export type Receiver = {
  /** Lets the other side send once more what was received meanwhile, without the bytes that still wait. */
  grant(waiting: number): void
  discard(): void
}
type Sending = Key & { chunk: Buffer; done: () => void; window: number }
type Receiving = { push(chunk: Buffer | null): void; window: number }

export const windowBytes = 262_144
const pieceBytes = 16_384
/** Pieces wait here, where turns are taken, and not in the socket. */
const maxUnsentBytes = 131_072
const headerBytes = 5

export type Multiplexer = ReturnType<typeof createMultiplexer>

export function createMultiplexer(wire: Wire, printMessage: (message: object) => string) {
  const sendings = new Map<string, Sending>()
  const receivings = new Map<string, Receiving>()
  /** Those that may send now, the next one first. */
  const ready = new Set<Sending>()
  let unsent = 0
  /** Bytes of streams that are over here, and may have been on their way. */
  let late = 0

  function sendPieces(): void {
    for (const sending of ready) {
      if (unsent >= maxUnsentBytes) return
      ready.delete(sending)
      sendPiece(sending)
      // Behind the others.
      if (sending.chunk.length > 0 && sending.window > 0) ready.add(sending)
    }
  }

  function sendPiece(sending: Sending): void {
    const piece = sending.chunk.subarray(0, Math.min(pieceBytes, sending.window))
    sending.chunk = sending.chunk.subarray(piece.length)
    sending.window -= piece.length
    const header = Buffer.alloc(headerBytes)
    header.writeUInt32BE(sending.id)
    header[4] = sending.channel
    const isLast = sending.chunk.length === 0
    unsent += piece.length
    wire.send(Buffer.concat([header, piece]), () => {
      unsent -= piece.length
      if (isLast) sending.done()
      sendPieces()
    })
  }

  function makeReady(sending: Sending): void {
    if (sending.chunk.length > 0 && sending.window > 0) ready.add(sending)
    sendPieces()
  }

  function forget(key: Key): void {
    late += receivings.get(nameOf(key))?.window ?? 0
    receivings.delete(nameOf(key))
  }

  /** No honest side sends more than the windows allowed. */
  function dropLate(bytes: number): void {
    late -= bytes
    if (late < 0) throw new ProtocolError('Bytes came for a stream that there is not.')
  }

  return {
    sender(key: Key): Sender {
      const sending: Sending = { ...key, chunk: Buffer.alloc(0), done: () => {}, window: windowBytes }
      sendings.set(nameOf(key), sending)
      return {
        send(chunk, done) {
          if (chunk.length === 0) return done()
          Object.assign(sending, { chunk, done })
          makeReady(sending)
        },
        end: () => wire.send(printMessage({ type: 'end', ...key })),
        discard() {
          sendings.delete(nameOf(key))
          ready.delete(sending)
        },
      }
    },
    receiver(key: Key, push: Receiving['push']): Receiver {
      const receiving: Receiving = { push, window: windowBytes }
      receivings.set(nameOf(key), receiving)
      return {
        grant(waiting) {
          const bytes = windowBytes - receiving.window - waiting
          if (bytes < windowBytes / 4) return
          receiving.window += bytes
          wire.send(printMessage({ type: 'grant', ...key, bytes }))
        },
        discard: () => forget(key),
      }
    },
    /** The bytes of a stream. */
    receive(frame: Buffer): void {
      if (frame.length <= headerBytes) throw new ProtocolError('A frame is too short.')
      if (frame.length > headerBytes + windowBytes) throw new ProtocolError('A frame is longer than a window.')
      const receiving = receivings.get(nameOf({ id: frame.readUInt32BE(), channel: frame[4] as number }))
      if (!receiving) {
        dropLate(frame.length - headerBytes)
        return
      }
      receiving.window -= frame.length - headerBytes
      if (receiving.window < 0) throw new ProtocolError('A stream has more bytes than its window.')
      receiving.push(frame.subarray(headerBytes))
    },
    /** What comes after the end is dropped. */
    receiveEnd(key: Key): void {
      const receiving = receivings.get(nameOf(key))
      forget(key)
      receiving?.push(null)
    },
    receiveGrant({ bytes, ...key }: Key & { bytes: number }): void {
      const sending = sendings.get(nameOf(key))
      if (!sending) return
      sending.window = Math.min(sending.window + bytes, windowBytes)
      makeReady(sending)
    },
  }
}

function nameOf({ id, channel }: Key): string {
  return `${id}.${channel}`
}
