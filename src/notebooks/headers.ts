// The headers of requests to notebooks, and of their answers. Node parses a message, and writes it anew from these: so
// both sides read the same message, whatever was sent.

import type { IncomingMessage } from 'node:http'
import { splitCookies } from './credentials.ts'

type Pair = [name: string, value: string]

/** They are about one connection, not about the message. The length of the body is written anew. */
const connectionHeaders = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer'],
  ...['transfer-encoding', 'content-length', 'upgrade', 'http2-settings', 'expect'],
]
/** What the gateway says itself. */
const ownHeaders = ['host', 'cookie', 'forwarded', 'x-real-ip']
const bodylessMethods = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE']
/** With these, a notebook could change what the browser does with other notebooks or ports. */
const answersNotPassedOn = ['alt-svc', 'clear-site-data']

export type Client = { address: string; protocol: string; cookieName: string }

/** The headers of a request, in the flat form that Node writes as it is. */
export function requestHeaders(request: IncomingMessage, client: Client, isUpgrade: boolean): string[] {
  const { headers } = request
  const host = headers.host ?? ''
  const cookies = splitCookies(headers.cookie ?? '').filter(pair => pair && !pair.startsWith(`${client.cookieName}=`))
  const kept = messageHeaders(request).filter(([name]) => {
    const lower = name.toLowerCase()
    return !ownHeaders.includes(lower) && !lower.startsWith('x-forwarded-')
  })
  const forwarded: Pair[] = [
    ['X-Forwarded-For', client.address],
    ['X-Forwarded-Host', host],
    ['X-Forwarded-Proto', client.protocol],
  ]
  const cookie: Pair[] = cookies.length > 0 ? [['Cookie', cookies.join('; ')]] : []
  return [['Host', host], ...kept, ...cookie, ...forwarded, ...(isUpgrade ? upgrade : bodyHeaders(request))].flat()
}

const upgrade: Pair[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
]

/** Without a length or chunks, Node would write the body of a GET as if it were the next request. */
function bodyHeaders({ method = '', headers }: IncomingMessage): Pair[] {
  const close: Pair = ['Connection', 'close']
  if (headers['transfer-encoding'] !== undefined) return [close, ['Transfer-Encoding', 'chunked']]
  const length = headers['content-length'] ?? (bodylessMethods.includes(method) ? undefined : '0')
  return length === undefined ? [close] : [close, ['Content-Length', length]]
}

/** The headers of an answer, in the flat form. */
export function answerHeaders(answer: IncomingMessage, cookieName: string): string[] {
  const length = answer.headers['transfer-encoding'] === undefined ? answer.headers['content-length'] : undefined
  const kept = messageHeaders(answer).flatMap(([name, value]): Pair[] => {
    const lower = name.toLowerCase()
    if (answersNotPassedOn.includes(lower)) return []
    if (lower !== 'set-cookie') return [[name, value]]
    return value.trimStart().startsWith(`${cookieName}=`) ? [] : [[name, hostOnly(value)]]
  })
  return [...kept, ...(length === undefined ? [] : [['Content-Length', length]])].flat()
}

/** A cookie for this host alone, and not for the other notebooks of its domain. */
function hostOnly(cookie: string): string {
  return cookie
    .split(';')
    .filter((part, index) => index === 0 || !/^\s*domain\s*(=|$)/i.test(part))
    .join(';')
}

function messageHeaders({ rawHeaders, headers }: IncomingMessage): Pair[] {
  const named = (headers.connection ?? '').toLowerCase().split(',')
  const dropped = new Set([...connectionHeaders, ...named.map(name => name.trim())])
  return rawHeaders.flatMap((name, index): Pair[] =>
    index % 2 === 0 && !dropped.has(name.toLowerCase()) ? [[name, rawHeaders[index + 1] ?? '']] : [],
  )
}
