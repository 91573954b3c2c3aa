import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TrustedProxies } from '../http/client.ts'
import { limitConnections } from '../http/limits/connections.ts'
import { notebookLimits } from './limits.ts'
import { isWebSocket } from './upgrade.ts'

export type NotebookHandlers = {
  serve(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void
}

/** The server, which turns all clients away until `serveWith` names who serves them. */
export type NotebookDoor = { server: Server; serveWith(handlers: NotebookHandlers): void }

/**
 * The HTTP server in front of the notebooks. Bodies may be long and slow, unlike those of the gateway's own requests:
 * only a client with the token sends one.
 */
export function createNotebookServer(proxies: TrustedProxies, limits = notebookLimits): NotebookDoor {
  let handlers: NotebookHandlers = {
    serve: request => void request.socket.destroy(),
    upgrade: (_request, socket) => void socket.destroy(),
  }
  const settings = {
    headersTimeout: limits.headMs,
    requestTimeout: 0,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 5_000,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    noDelay: true,
    maxHeaderSize: 16_384,
    // The face checks the header, and its answer says what is wrong.
    requireHostHeader: false,
    // All other offers of another protocol are ignored, as HTTP allows.
    shouldUpgradeCallback: isWebSocket,
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => handlers.serve(request, response)
  const server = createServer(settings, serve)
  // The face lets the client send its body once it may.
  server.on('checkContinue', serve)
  server.on('upgrade', (request, socket, head) => handlers.upgrade(request, socket as Socket, head))
  limitConnections(server, proxies, limits.socketsPerAddress, limits.connections * 2)
  server.timeout = limits.idleMs
  server.maxRequestsPerSocket = 1_000
  return {
    server,
    serveWith(next) {
      handlers = next
    },
  }
}
