import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { createServerAdapter } from '@whatwg-node/server'
import { jsonResponse } from './json.ts'
import { findRequestProblem, printRefusal } from './refusal.ts'
import type { Sockets } from './sockets.ts'

export type Fetch = (request: Request) => Promise<Response>

export type ServerOptions = {
  /** Takes WebSockets. Without it there are none. */
  upgrade?: Sockets['upgrade']
  /** A connection that takes nothing of what waits for it for so long is cut off. */
  stalledMs?: number
}

/** The HTTP server around an app. Whoever sends slowly, or for ever, or does not read, is cut off. */
export function createHttpServer(fetch: Fetch, { upgrade, stalledMs = 30_000 }: ServerOptions = {}): Server {
  // The adapter would answer with the stack of whatever is thrown.
  const adapter = createServerAdapter((request: Request) => fetch(request).catch(internalError))
  const settings = {
    headersTimeout: 5_000,
    requestTimeout: 15_000,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 5_000,
    maxHeaderSize: 16_384,
    // Checked with the rest, and answered in JSON.
    requireHostHeader: false,
    // Java's client asks on every request for another version of HTTP. It is answered as if it had not.
    shouldUpgradeCallback: (request: IncomingMessage) => upgrade !== undefined && isSocketUpgrade(request),
  }
  const answering = new WeakMap<Duplex, ServerResponse>()
  const server = createServer(settings, (request, response) => {
    const problem = findRequestProblem(request)
    answering.set(request.socket, response)
    if (problem) sendRefusal(response, 400, 'bad_request', problem)
    else
      void adapter(request, response)
        // It takes the limit off for streams, which are never silent for so long.
        .then(() => request.socket.setTimeout(stalledMs))
  })
  server.on('checkExpectation', (_request, response) =>
    sendRefusal(response, 417, 'expectation_failed', 'Nothing but 100-continue can be expected.'),
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = answering.get(socket)
    const isBusy = response?.headersSent && !response.writableFinished
    if (socket.writable && error.code !== 'ECONNRESET' && !isBusy) socket.end(printParseError(error.code))
    else socket.destroy()
  })
  if (upgrade) server.on('upgrade', upgrade)
  server.timeout = stalledMs
  server.maxRequestsPerSocket = 1_000
  server.maxConnections = 2_000
  return server
}

function isSocketUpgrade({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && /^\/graphql\/?(\?|$)/.test(url ?? '')
}

function internalError(): Response {
  return jsonResponse(500, { success: false, error: 'internal_error', msg: 'Something went wrong.' })
}

function sendRefusal(response: ServerResponse, status: number, error: string, msg: string): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ success: false, error, msg }))
}

/** What Node would answer to bytes that become no request. */
function printParseError(code: string | undefined): string {
  return printRefusal(...(parseErrors[code ?? ''] ?? [400, 'bad_request', 'This is not HTTP.']))
}

const parseErrors: Record<string, [status: number, error: string, msg: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'invalid_request', 'The extensions of a chunk are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
}
