import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Of the grace period, a busy server gets this long to accept the connections that wait. */
const acceptMs = 1_000
/** A turn of Node's loop in which nothing happens is shorter. */
const shortTurnMs = 1

type Shutdown = {
  /** From now on each answer closes its connection. Connections and requests are still accepted. */
  disableKeepAlive(): void
  /** Accepts no more connections. Resolves when running requests are answered, or cut off after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/**
 * Stops a server in two steps, so that no client loses a request. Kept-alive connections close after an answer, never
 * between a request and its answer.
 */
export function createShutdown(server: Server): Shutdown {
  const unanswered = new Set<ServerResponse>()
  let isKeepAliveDisabled = false
  server.prependListener('request', (_request, response) => {
    if (isKeepAliveDisabled) response.shouldKeepAlive = false
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
  })
  return {
    disableKeepAlive() {
      isKeepAliveDisabled = true
      for (const response of unanswered) response.shouldKeepAlive = false
    },
    async close(graceMs) {
      if (!server.listening) return
      const graceIsOver = sleep(graceMs)
      const closed = once(server, 'close')
      await acceptWaiting(server)
      // Node's HTTP server treats a connection as idle while a fully written answer is still being sent. Its own
      // `close` and `closeIdleConnections` would cut that answer off.
      NetServer.prototype.close.call(server)
      const isSending = () => [...unanswered].some(({ writableEnded }) => writableEnded)
      // Older connections are idle, and a client may keep the connection of an ended stream.
      const closing = setInterval(() => isSending() || server.closeIdleConnections(), 50)
      await Promise.race([closed, graceIsOver])
      clearInterval(closing)
      server.closeAllConnections()
    },
  }
}

/**
 * The kernel resets the connections that wait to be accepted when a listener closes, and their clients may have sent a
 * request. Node accepts one in each turn of its loop, so this waits for a short turn that accepts none.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = 0
  const count = () => {
    accepted += 1
  }
  server.on('connection', count)
  const end = performance.now() + acceptMs
  // The rest of this turn tells nothing: it may accept no connection although some wait.
  await nextTurn()
  for (let now = performance.now(); now < end; ) {
    const before = { accepted, now }
    await nextTurn()
    now = performance.now()
    if (accepted === before.accepted && now < before.now + shortTurnMs) break
  }
  server.off('connection', count)
}
