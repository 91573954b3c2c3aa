import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { createServerAdapter } from '@whatwg-node/server'
import { json } from './json.ts'

export type Fetch = (request: Request) => Promise<Response>

/** The HTTP server around an app. Whoever sends slowly, or for ever, is cut off. */
export function createHttpServer(fetch: Fetch): Server {
  // The adapter would answer with the stack of whatever is thrown.
  const adapter = createServerAdapter((request: Request) => fetch(request).catch(somethingWentWrong))
  const settings = {
    headersTimeout: 5_000,
    requestTimeout: 15_000,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 5_000,
    maxHeaderSize: 16_384,
    // Checked with the rest, and answered in JSON.
    requireHostHeader: false,
  }
  const answering = new WeakMap<Duplex, ServerResponse>()
  const server = createServer(settings, (request, response) => {
    const problem = problemOf(request)
    answering.set(request.socket, response)
    if (problem) refuse(response, 400, 'bad_request', problem)
    else void adapter(request, response)
  })
  server.on('checkExpectation', (_request, response) =>
    refuse(response, 417, 'expectation_failed', 'Nothing but 100-continue can be expected.'),
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = answering.get(socket)
    const isBusy = response?.headersSent && !response.writableFinished
    if (socket.writable && error.code !== 'ECONNRESET' && !isBusy) socket.end(unreadable(error.code))
    else socket.destroy()
  })
  server.maxRequestsPerSocket = 1_000
  server.maxConnections = 2_000
  return server
}

/** What no client sends in good faith, and what proxies and servers are known to read differently. */
function problemOf({ httpVersion, url, rawHeaders }: IncomingMessage): string | undefined {
  const valuesOf = (name: string) =>
    rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1)
  const hosts = valuesOf('host')
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'HTTP 1.1 is spoken here.'
  if (!url?.startsWith('/')) return 'The request line must have a path.'
  if (hosts.length !== 1 || !isHost(hosts[0] ?? '')) return 'There must be one Host header with a host name.'
  if (valuesOf('authorization').length > 1) return 'There must be one Authorization header at most.'
  return undefined
}

/** Part of the URL that everything behind reads, so whoever passes must make one. */
function isHost(text: string): boolean {
  return /^[\w.:[\]-]+$/.test(text) && URL.canParse(`http://${text}`)
}

function somethingWentWrong(): Response {
  return json(500, { success: false, error: 'internal_error', msg: 'Something went wrong.' })
}

function refuse(response: ServerResponse, status: number, error: string, msg: string): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ success: false, error, msg }))
}

/** What Node would answer to bytes that become no request, in the shape of every failure. */
function unreadable(code: string | undefined): string {
  const [status, error, msg] = unreadables[code ?? ''] ?? [400, 'bad_request', 'This is not HTTP.']
  const body = JSON.stringify({ success: false, error, msg })
  const headers = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n\r\n${body}`
}

const unreadables: Record<string, [status: number, error: string, msg: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'invalid_request', 'The extensions of a chunk are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
}
