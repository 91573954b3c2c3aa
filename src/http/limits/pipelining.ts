import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Requests that a connection may send before it has their answers. One read may bring hundreds, which would begin at once. */
export const unansweredPerConnection = 8

/** Returns whether a request may begin. Closes a connection that sends more than it may. */
export function limitPipelining(): (request: IncomingMessage, response: ServerResponse) => boolean {
  const unanswered = new WeakMap<Duplex, number>()
  return ({ socket }, response) => {
    // The parser goes on to the end of what was read.
    if (socket.destroyed) return false
    const count = (unanswered.get(socket) ?? 0) + 1
    if (count > unansweredPerConnection) {
      socket.destroy()
      return false
    }
    unanswered.set(socket, count)
    response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
    return true
  }
}
