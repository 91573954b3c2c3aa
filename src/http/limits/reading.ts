import type { WebSocket } from 'ws'
import { createRest } from './rest.ts'
import { createTimeShare } from './time-share.ts'

/** About how long a message takes besides the work that is measured: its frame, and its answer. */
const messageMs = 0.02

type ReadingOptions = {
  /** Messages and pings of a socket that has not said yet whose it is. */
  unknownMessages: number
  close(code: number, reason: string): void
}

/** Bounds what a WebSocket asks for: a few messages before `accept`, and a share of time afterwards. */
export function limitReading(socket: WebSocket, { unknownMessages, close }: ReadingOptions) {
  const workInShare = createTimeShare()
  const restFor = createRest(socket)
  let left = unknownMessages
  return {
    accept(): void {
      left = Number.POSITIVE_INFINITY
    },

    /** Does what a message or a ping asks for. */
    read(work: () => void): void {
      // The client may have sent this before it read the close. It gets no answer.
      if (socket.readyState !== socket.OPEN) return
      if (left === 0) return void close(1008, 'Too many messages before a valid key')
      left -= 1
      restFor(workInShare(messageMs, work))
    },
  }
}
