import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServerAdapter } from '@whatwg-node/server'
import { json } from './json.ts'

export type Fetch = (request: Request) => Promise<Response>

/** The HTTP server around an app. Whoever sends slowly, or for ever, is cut off. */
export function createHttpServer(fetch: Fetch): Server {
  // The adapter would answer with the stack of whatever is thrown.
  const adapter = createServerAdapter((request: Request) => fetch(request).catch(somethingWentWrong))
  const timeLimits = {
    headersTimeout: 5_000,
    requestTimeout: 15_000,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 5_000,
    maxHeaderSize: 16_384,
  }
  const server = createServer(timeLimits, (request, response) => {
    const problem = problemOf(request)
    if (problem) refuse(response, problem)
    else void adapter(request, response)
  })
  server.maxRequestsPerSocket = 1_000
  server.maxConnections = 2_000
  return server
}

/** What no client sends in good faith, and what proxies and servers are known to read differently. */
export function problemOf({ httpVersion, url, rawHeaders }: IncomingMessage): string | undefined {
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

function refuse(response: ServerResponse, msg: string): void {
  response.writeHead(400, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ success: false, error: 'bad_request', msg }))
}
