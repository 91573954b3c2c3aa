import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Shutdown = {
  /** From now on each answer closes its connection. Connections and requests are still accepted. */
  disableKeepAlive(): void
  /** Accepts no more connections, and resolves when the requests that run are answered, or cut off after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/**
 * Ends a server in two steps, so that no client loses a request: connections that are kept alive end behind an answer,
 * never between a request and its answer.
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
      // Node's HTTP server takes a connection for idle while an answer that was written whole is still being sent. It
      // would cut that off, here and when it closes itself.
      NetServer.prototype.close.call(server)
      const isSending = () => [...unanswered].some(({ writableEnded }) => writableEnded)
      // Connections from before are idle, and a client may keep that of a stream that has ended.
      const closing = setInterval(() => isSending() || server.closeIdleConnections(), 50)
      await Promise.race([closed, sleep(graceMs)])
      clearInterval(closing)
      server.closeAllConnections()
    },
  }
}
