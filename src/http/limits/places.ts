import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A connection that has sent no request, that waits for its next one, or that has a request. */
type State = 'silent' | 'idle' | 'upgraded' | IncomingMessage

/** Whether a connection is closed in favor of a new one; those of the first rule before all others. */
const closable: ((state: State) => boolean)[] = [
  state => state === 'silent',
  state => state === 'idle',
  state => typeof state === 'object' && !state.complete,
]

/**
 * Bounds the connections of a server. A new one takes the place of one that asks for nothing, so that nobody shuts others
 * out by holding connections. Returns a function that gives a connection a place, or says that there is none.
 */
export function createPlaces(server: Server, places: number): (socket: Socket) => boolean {
  /** Those that have been in their state for longest come first. */
  const open = new Map<Duplex, State>()

  function enter(state: State, socket: Duplex): void {
    if (open.delete(socket)) open.set(socket, state)
  }

  function closeOne(): boolean {
    for (const mayClose of closable)
      for (const [socket, state] of open) {
        if (!mayClose(state)) continue
        open.delete(socket)
        socket.destroy()
        return true
      }
    return false
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    enter(request, socket)
    response.once('close', () => {
      if (open.get(socket) === request) enter('idle', socket)
    })
  }

  server.prependListener('request', begin)
  // A server without this listener answers by itself, and has a request then.
  if (server.listenerCount('checkContinue') > 0) server.prependListener('checkContinue', begin)
  server.prependListener('upgrade', ({ socket }) => enter('upgraded', socket))
  return socket => {
    if (open.size >= places && !closeOne()) return false
    open.set(socket, 'silent')
    socket.once('close', () => open.delete(socket))
    return true
  }
}
