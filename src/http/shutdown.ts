import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

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
      const closed = once(server, 'close')
      // Node's HTTP server treats a connection as idle while a fully written answer is still being sent. Its own
      // `close` and `closeIdleConnections` would cut that answer off.
      NetServer.prototype.close.call(server)
      const isSending = () => [...unanswered].some(({ writableEnded }) => writableEnded)
      // Older connections are idle, and a client may keep the connection of an ended stream.
      const closing = setInterval(() => isSending() || server.closeIdleConnections(), 50)
      await Promise.race([closed, sleep(graceMs)])
      clearInterval(closing)
      server.closeAllConnections()
    },
  }
}
