// Carries one request to a notebook, and its answer back. Neither is kept in memory: each side waits for the other.

import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { answerHeaders, type Client, requestHeaders } from './headers.ts'

export type Carried = {
  request: IncomingMessage
  response: ServerResponse
  remote: Duplex
  client: Client
  /** The cookie that the answer sets; undefined for none. */
  cookie: string | undefined
  /** Called as soon as the notebook has answered. */
  onAnswer(status: number): void
}

/** Resolves when the answer has begun. The value is false if the notebook gave none that can be read. */
export function carryRequest(carried: Carried): Promise<boolean> {
  const { request, response, remote, client } = carried
  return new Promise(resolve => {
    const outgoing = openRequest({
      ...{ createConnection: () => remote, method: request.method, path: request.url },
      headers: requestHeaders(request, client, false),
    })
    closeTogether(response, outgoing, remote)
    outgoing.on('error', () => resolve(false))
    outgoing.once('close', () => resolve(false))
    outgoing.once('response', answer => resolve(relayAnswer(answer, carried)))
    if (request.headers.expect !== undefined) response.writeContinue()
    request.pipe(outgoing)
  })
}

/** Passes an answer on. Returns false if it cannot be one. */
export function relayAnswer(answer: IncomingMessage, carried: Omit<Carried, 'request'>): boolean {
  const { response, client, cookie, onAnswer } = carried
  try {
    response.writeHead(answer.statusCode ?? 0, withCookie(answerHeaders(answer, client.cookieName), cookie))
  } catch {
    return false
  }
  onAnswer(response.statusCode)
  // Events must arrive one by one, and the first may be long in coming.
  response.flushHeaders()
  answer.on('error', () => {})
  // The client must not take a part for the whole.
  answer.once('close', () => answer.complete || response.destroy())
  answer.pipe(response)
  return true
}

export function withCookie(headers: string[], cookie: string | undefined): string[] {
  return cookie === undefined ? headers : [...headers, 'Set-Cookie', cookie]
}

function closeTogether(response: ServerResponse, outgoing: { destroy(): void }, remote: Duplex): void {
  const close = () => {
    outgoing.destroy()
    remote.destroy()
  }
  remote.on('error', () => {})
  if (response.destroyed) close()
  else response.once('close', close)
}
