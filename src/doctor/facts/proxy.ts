// Sends requests to the gateways through whatever is in front of them.

import { once } from 'node:events'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { WebSocket } from 'ws'
import { errorCodesOf, toError } from '../../database/failure-codes.ts'
import { type Echo, echoHeader } from '../../http/admission/echo.ts'
import type { Answer, StreamFacts } from '../verdicts/proxy.ts'

/** A proxy that has not answered after this long does not answer, or holds the answer back. */
const answerMs = 8_000
/** Longer than gateways are silent in a stream. */
const silenceMs = 17_000

type Asked = { path: string; method?: string; headers?: Record<string, string>; body?: string }
/** What requests are sent with: the address of the proxy, and the token for an echo. */
export type Way = { url: URL; token: string }

function send({ url, token }: Way, { path, method = 'GET', headers = {}, body }: Asked, signal: AbortSignal) {
  const begin = url.protocol === 'https:' ? requestHttps : requestHttp
  const outgoing = begin(new URL(path, url.origin), {
    ...{ method, signal, agent: false },
    headers: { accept: 'application/json', ...headers, [echoHeader]: token },
  })
  outgoing.end(body)
  return once(outgoing, 'response').then(([response]) => response as IncomingMessage)
}

export async function ask(way: Way, asked: Asked): Promise<Answer | { problem: string }> {
  try {
    const response = await send(way, asked, AbortSignal.timeout(answerMs))
    const answer = { status: response.statusCode ?? 0, echo: parseEcho(response), certificateEndsAt: endOf(response) }
    await text(response)
    return answer
  } catch (error) {
    return { problem: describe(error) }
  }
}

function parseEcho({ headers }: IncomingMessage): Echo | undefined {
  try {
    return JSON.parse(String(headers[echoHeader])) as Echo
  } catch {
    return undefined
  }
}

/** Until when the certificate of the server is valid. */
function endOf({ socket }: IncomingMessage): Date | null {
  const { valid_to: end } = (socket as Partial<TLSSocket>).getPeerCertificate?.() ?? {}
  return end === undefined ? null : new Date(end)
}

/** Opens a stream that stays silent, and reads its first two signs of life. */
export async function gatherStream(way: Way): Promise<StreamFacts> {
  const leaving = new AbortController()
  const start = performance.now()
  const facts: StreamFacts = { firstMs: null, secondMs: null, problem: undefined }
  try {
    const asked = { path: '/graphql', headers: { accept: 'text/event-stream' } }
    const response = await within(answerMs, send(way, asked, leaving.signal))
    if (response.statusCode !== 200) return { ...facts, problem: `the answer has the status ${response.statusCode}` }
    const parts = response[Symbol.asyncIterator]()
    if ((await within(answerMs, parts.next())).done) return { ...facts, problem: 'it ends at once' }
    facts.firstMs = performance.now() - start
    if ((await within(silenceMs, parts.next())).done) return { ...facts, problem: 'it ends' }
    return { ...facts, secondMs: performance.now() - start }
  } catch (error) {
    return { ...facts, problem: error instanceof Late ? undefined : describe(error) }
  } finally {
    leaving.abort()
  }
}

/** Opens a WebSocket and sends one message there and back. Needs no key. */
export async function gatherSocket({ url }: Pick<Way, 'url'>): Promise<{ problem: string | undefined }> {
  const address = new URL('/graphql', url.origin.replace(/^http/, 'ws'))
  const socket = new WebSocket(address, 'graphql-transport-ws', { handshakeTimeout: answerMs })
  try {
    await once(socket, 'open')
    socket.send('{"type":"ping"}')
    const [message] = await within(answerMs, once(socket, 'message'))
    return { problem: String(message).includes('pong') ? undefined : 'something else than the gateway answers' }
  } catch (error) {
    return { problem: error instanceof Late ? 'no message comes back' : describe(error) }
  } finally {
    socket.on('error', () => {})
    socket.terminate()
  }
}

class Late extends Error {}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = sleep(ms, undefined, { signal: timer.signal }).then(() => Promise.reject(new Late()))
  try {
    return await Promise.race([work, late])
  } finally {
    late.catch(() => {})
    timer.abort()
    work.catch(() => {})
  }
}

function describe(error: unknown): string {
  const [code] = errorCodesOf(error)
  const { name, message } = toError(error)
  if (name === 'AbortError' || name === 'TimeoutError') return `no answer came within ${answerMs / 1_000} seconds`
  return message || String(code)
}
