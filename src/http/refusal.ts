// Refuses requests before a face sees them, in the JSON shape of every failure.

import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Time for a client to read the last answer of a connection. */
const lastAnswerMs = 1_000

/** Refuses what honest clients never send, and what proxies and servers parse differently. */
export function findRequestProblem({ httpVersion, url, rawHeaders }: IncomingMessage): string | undefined {
  const valuesOf = (name: string) =>
    rawHeaders.filter((_, index) => rawHeaders[index - 1]?.toLowerCase() === name && index % 2 === 1)
  const hosts = valuesOf('host')
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The HTTP version is not supported. Use HTTP/1.1.'
  if (!url?.startsWith('/')) return 'The request line must have a path.'
  if (hosts.length !== 1 || !isHost(hosts[0] ?? ''))
    return 'The request must have exactly one Host header, with a host name.'
  if (valuesOf('authorization').length > 1) return 'The request must have at most one Authorization header.'
  return undefined
}

/** The host becomes part of the URL that handlers parse, so it must form a valid one. */
export function isHost(text: string): boolean {
  return /^[\w.:[\]-]+$/.test(text) && URL.canParse(`http://${text}`)
}

/** A raw HTTP response, for sockets without a response object. */
export function printRefusal(status: number, error: string, msg: string, more: Record<string, string> = {}): string {
  const body = JSON.stringify({ success: false, error, msg })
  const headers = {
    ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), connection: 'close' },
    ...more,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}

/** Sends the last answer of a connection. A client that does not close it then does not keep its place. */
export function endWith(socket: Duplex, answer: string): void {
  socket.end(answer)
  setTimeout(() => socket.destroy(), lastAnswerMs).unref()
}
