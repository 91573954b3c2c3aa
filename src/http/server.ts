import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { createServerAdapter } from '@whatwg-node/server'
import { noPlace, type Place, workFor } from '../turns/owners.ts'
import type { AdmitRequest, AdmittedRequest } from './admission/requests.ts'
import { maxBodyBytes } from './body.ts'
import { type Client, noProxies, type TrustedProxies } from './client.ts'
import { jsonResponse } from './json.ts'
import { limitConnections } from './limits/connections.ts'
import { limitPipelining } from './limits/pipelining.ts'
import { inRequestSpan } from './metrics/request-span.ts'
import { answerPlainly, isPlain, type PlainFetch } from './plain.ts'
import { endWith, findRequestProblem, printRefusal } from './refusal.ts'
import type { LoggedRequest } from './router.ts'
import type { Sockets } from './sockets.ts'

/** `begun`: the request, if its log has begun. */
type Arrival = { client?: Client | undefined; begun?: LoggedRequest | undefined }
export type Fetch = (request: Request, arrival?: Arrival) => Promise<Response>

export type ServerOptions = {
  /** Handles WebSockets. Without it the server refuses them. */
  upgrade?: Sockets['upgrade']
  /** Answers plain requests. Without it they are requests like all others. */
  plain?: PlainFetch
  proxies?: TrustedProxies
  /** Admits requests. Without it, all run at once. */
  admit?: AdmitRequest
  connectionsPerAddress?: number
  connections?: number
  /** A connection that reads none of its pending data for this long is cut off. */
  stalledMs?: number
}

/** The HTTP server around an app. Cuts off clients that send slowly or endlessly, or do not read. */
export function createHttpServer(fetch: Fetch, options: ServerOptions = {}): Server {
  const { upgrade, plain, proxies = noProxies, admit = admitAll, stalledMs = 30_000 } = options
  // Otherwise the adapter answers with the stack of a thrown error.
  const adapter = createServerAdapter<Arrival & { place: Place }>((request: Request, { client, begun, place }) =>
    fetch(request, { client, begun }).catch(internalError).finally(place.leave),
  )
  const settings = {
    headersTimeout: 5_000,
    requestTimeout: 15_000,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: 5_000,
    // Finds a client that has vanished without a word.
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    maxHeaderSize: 16_384,
    // Holds the largest body, so that `waitForArrival` waits for all of it.
    highWaterMark: 2 ** Math.ceil(Math.log2(maxBodyBytes)),
    // findRequestProblem checks the header, and the answer is JSON.
    requireHostHeader: false,
    // Java's client offers another HTTP version with every request. The server ignores the offer.
    shouldUpgradeCallback: (request: IncomingMessage) => upgrade !== undefined && isSocketUpgrade(request),
  }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const client = proxies.clientOf(request)
    return inRequestSpan(request, response, client, () => answerAdmitted(request, response, client))
  }
  async function answerAdmitted(request: IncomingMessage, response: ServerResponse, client: Client): Promise<void> {
    // A request whose body is not read to its end loses its socket.
    const { socket } = request
    const admitted = await admit(request, response, client)
    if (!admitted) return
    const { owner, place } = admitted
    await workFor(owner, () => run(request, response, client, admitted), place).finally(place.leave)
    // The adapter removes the timeout for streams. They are never silent for so long, so restore it.
    socket.setTimeout(stalledMs)
  }
  async function run(
    request: IncomingMessage,
    response: ServerResponse,
    client: Client,
    { begun, place }: AdmittedRequest,
  ): Promise<void> {
    const plainFetch = isPlain(request) ? plain : undefined
    const unanswered = plainFetch ? await answerPlainly(request, response, client, plainFetch, begun) : begun
    if (plainFetch && !unanswered) return
    await adapter(request, response, { client, begun: unanswered, place })
  }
  const answering = new WeakMap<Duplex, ServerResponse>()
  const mayBegin = limitPipelining()
  const server = createServer(settings, (request, response) => {
    if (!mayBegin(request, response)) return
    const problem = findRequestProblem(request)
    answering.set(request.socket, response)
    if (problem) sendRefusal(response, 400, 'bad_request', problem)
    else void answer(request, response)
  })
  server.on('checkExpectation', (_request, response) =>
    sendRefusal(response, 417, 'expectation_failed', 'The Expect header is not supported, except for 100-continue.'),
  )
  const upgraded = new WeakSet<Duplex>()
  const hasArrived = (socket: Duplex) => {
    const response = answering.get(socket)
    return upgraded.has(socket) || (response?.req.complete && !response.writableFinished)
  }
  const refuse = (error: NodeJS.ErrnoException, socket: Duplex) => {
    const response = answering.get(socket)
    const isBusy = response?.headersSent && !response.writableFinished
    if (socket.writable && error.code !== 'ECONNRESET' && !isBusy) endWith(socket, printParseError(error.code))
    else socket.destroy()
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') return refuse(error, socket)
    // A process that stood still has not yet read what arrived meanwhile. It reads that before the immediate.
    setImmediate(() => {
      if (!hasArrived(socket)) refuse(error, socket)
    })
  })
  if (upgrade)
    server.on('upgrade', (request, socket, head) => {
      upgraded.add(socket)
      upgrade(request, socket, head)
    })
  limitConnections(server, proxies, options.connectionsPerAddress, options.connections)
  server.timeout = stalledMs
  server.maxRequestsPerSocket = 1_000
  return server
}

const admitAll: AdmitRequest = async () => ({ begun: undefined, place: noPlace })

function isSocketUpgrade({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    /^\/(graphql|host(\/branch)?)\/?(\?|$)/.test(url ?? '')
  )
}

function internalError(): Response {
  return jsonResponse(500, {
    success: false,
    error: 'internal_error',
    msg: 'The gateway failed to process the request.',
  })
}

function sendRefusal(response: ServerResponse, status: number, error: string, msg: string): void {
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
  response.end(JSON.stringify({ success: false, error, msg }))
}

/** Replaces Node's own answer to bytes that do not parse as a request. */
function printParseError(code: string | undefined): string {
  return printRefusal(...(parseErrors[code ?? ''] ?? [400, 'bad_request', 'The request is not valid HTTP.']))
}

const parseErrors: Record<string, [status: number, error: string, msg: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'invalid_request', 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request took too long to arrive.'],
}
