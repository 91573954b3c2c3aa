// How a request shows that it may use a notebook: by the token, as Jupyter takes it, or by the gateway's cookie.

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { NotebookProxy } from '../domain/instances/notebook.ts'
import type { NotebookAccess } from '../services/instances/notebooks/services.ts'

/** Where a request has what opens the notebook. */
export type Credential = 'header' | 'query' | 'cookie'

export function findCredential(
  request: IncomingMessage,
  { token, cookie }: Pick<NotebookAccess, 'token' | 'cookie'>,
  cookieName: string,
): Credential | undefined {
  if (headerTokens(request).some(sent => isEqual(sent, token))) return 'header'
  // The cookie goes first: a request with both needs no new one.
  if (cookiesOf(request, cookieName).some(sent => isEqual(sent, cookie))) return 'cookie'
  return queryTokens(request).some(sent => isEqual(sent, token)) ? 'query' : undefined
}

export function showsToken(request: IncomingMessage): boolean {
  return headerTokens(request).length + queryTokens(request).length > 0
}

function headerTokens({ headers }: IncomingMessage): string[] {
  const [, token] = /^(?:token|bearer) +(\S+) *$/i.exec(headers.authorization ?? '') ?? []
  return token === undefined ? [] : [token]
}

function queryTokens({ url = '' }: IncomingMessage): string[] {
  const start = url.indexOf('?')
  return start === -1 ? [] : new URLSearchParams(url.slice(start + 1)).getAll('token')
}

/** Another notebook of the same domain can set a cookie of this name, too, so each is tried. */
function cookiesOf({ headers }: IncomingMessage, name: string): string[] {
  return splitCookies(headers.cookie ?? '').flatMap(pair =>
    pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : [],
  )
}

export function splitCookies(header: string): string[] {
  return header.split(';').map(pair => pair.trim())
}

function isEqual(sent: string, expected: string): boolean {
  const [left, right] = [sent, expected].map(text => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(left, right)
}

/** With the prefix, a browser takes the cookie from this host alone. It does so only under https. */
export function cookieNameOf({ protocol }: NotebookProxy): string {
  return protocol === 'https' ? '__Host-berth-notebook' : 'berth-notebook'
}

export function printCookie({ protocol }: NotebookProxy, name: string, value: string): string {
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${protocol === 'https' ? '; Secure' : ''}`
}

/**
 * Whether a page of another origin made the browser send this request, with the cookie. To a browser all notebooks of a
 * domain are one site, so SameSite does not tell them apart. Following a link is fine.
 */
export function isFromElsewhere({ method, headers }: IncomingMessage, ownOrigin: string): boolean {
  const { origin } = headers
  if (origin !== undefined && origin !== ownOrigin) return true
  const [site, mode, destination] = ['site', 'mode', 'dest'].map(name => headers[`sec-fetch-${name}`])
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return !(method === 'GET' && mode === 'navigate' && destination === 'document')
}
