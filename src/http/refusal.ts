// What is refused before it becomes a request, in the shape of every failure.

import { type IncomingMessage, STATUS_CODES } from 'node:http'

/** What no client sends in good faith, and what proxies and servers are known to read differently. */
export function findRequestProblem({ httpVersion, url, rawHeaders }: IncomingMessage): string | undefined {
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

/** The bytes of an answer, where there is nothing that would write them. */
export function printRefusal(status: number, error: string, msg: string): string {
  const body = JSON.stringify({ success: false, error, msg })
  const headers = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n\r\n${body}`
}
