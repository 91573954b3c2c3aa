import type { IncomingMessage } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { MachineUnreachable } from '../../provider.ts'
import type { Address } from './address.ts'
import { EngineError } from './error.ts'

export type EngineRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  query?: Record<string, string | number | boolean | object | undefined>
  json?: unknown
  tar?: Buffer
  headers?: Record<string, string>
  signal: AbortSignal
  /** An engine that hangs never answers, so that every request has a deadline. */
  deadlineMs?: number
}

/**
 * A call has a deadline for its whole answer, a stream for its beginning. An upgrade ends as a raw connection, which the
 * signal leaves alone.
 */
export type Kind = 'call' | 'stream' | 'upgrade'
export type Answer = { status: number; body: IncomingMessage; socket?: Duplex }

const usualDeadlineMs = 15_000
/** A connection without traffic is probed after this time, so that a lost machine is noticed. */
const keepAliveMs = 15_000

/** Sends a request, and hands its answer to `read`. */
export async function send<Value>(
  address: Address,
  request: EngineRequest,
  kind: Kind,
  read: (answer: Answer) => Value | Promise<Value>,
): Promise<Value> {
  const { signal, deadlineMs = usualDeadlineMs } = request
  signal.throwIfAborted()
  const sending = new AbortController()
  const giveUp = () => sending.abort()
  const timer = setTimeout(giveUp, deadlineMs)
  signal.addEventListener('abort', giveUp)
  const letGo = () => signal.removeEventListener('abort', giveUp)
  try {
    const answer = await begin(address, request, kind, sending.signal)
    if (answer.status >= 400) throw new EngineError(answer.status, messageOf(await readText(answer.body)))
    if (kind === 'stream') answer.body.once('close', letGo)
    return await read(answer)
  } catch (error) {
    if (error instanceof EngineError || error instanceof MachineUnreachable) throw error
    signal.throwIfAborted()
    const what = sending.signal.aborted ? `did not answer within ${deadlineMs} ms` : 'cannot be reached'
    throw new MachineUnreachable(`The engine of the machine ${what}.`, { cause: error })
  } finally {
    clearTimeout(timer)
    if (kind !== 'stream') letGo()
  }
}

/** Much longer than any honest answer. */
const maxAnswerBytes = 100_000_000

/** The whole answer. One without an end would take all of the gateway's memory before its deadline. */
export async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxAnswerBytes) throw new MachineUnreachable('An answer of the engine is too long.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Undefined if the answer is empty. */
export async function readJson<Value>({ body }: Pick<Answer, 'body'>): Promise<Value> {
  const json = await readText(body)
  return (json === '' ? undefined : JSON.parse(json)) as Value
}

function begin(
  { request, options, agent }: Address,
  { method, path, query = {}, json, tar, headers = {} }: EngineRequest,
  kind: Kind,
  signal: AbortSignal,
): Promise<Answer> {
  const body = tar ?? (json === undefined ? undefined : Buffer.from(JSON.stringify(json)))
  return new Promise((resolve, reject) => {
    const sent = request({
      ...options,
      method,
      path: path + queryText(query),
      agent: kind === 'call' ? agent : false,
      signal,
      headers: {
        ...(body && { 'Content-Type': tar ? 'application/x-tar' : 'application/json', 'Content-Length': body.length }),
        ...(kind === 'upgrade' && { Connection: 'Upgrade', Upgrade: 'tcp' }),
        ...headers,
      },
    })
    sent.on('error', reject)
    sent.on('socket', socket => kind !== 'call' && socket.setKeepAlive(true, keepAliveMs))
    sent.on('response', response => resolve({ status: response.statusCode ?? 0, body: response }))
    sent.on('upgrade', (response, socket, head) => {
      if (head.length > 0) socket.unshift(head)
      resolve({ status: response.statusCode ?? 0, body: response, socket })
    })
    sent.end(body)
  })
}

function queryText(query: NonNullable<EngineRequest['query']>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]],
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

function messageOf(body: string): string {
  try {
    return String(JSON.parse(body).message ?? body)
  } catch {
    return body
  }
}
