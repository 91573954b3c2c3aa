// What the gateway itself answers. It shares its origin with the notebook, and repeats nothing of the request.

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import { parseAccept } from '../http/accept.ts'
import type { RequestOutcome } from './metrics.ts'

export type Refusal = {
  status: number
  message: string
  outcome: Exclude<RequestOutcome, 'answered' | 'unfinished'>
  /** Whether a page asks for the token. */
  asksToken?: boolean
}

const tokenForm =
  '<form><p><label>Token <input name="token" type="password" autofocus></label> <button>Open</button></p></form>'

/** Ends the connection, too: what the client still sends of this request is not read. */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
  const { status, message, asksToken = false } = refusal
  const isPage = parseAccept(request.headers.accept ?? null).includes('text/html')
  const body = isPage ? printPage(message, asksToken) : `${message}\n`
  response.writeHead(status, {
    'content-type': `text/${isPage ? 'html' : 'plain'}; charset=utf-8`,
    'content-length': Buffer.byteLength(body),
    'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
    ...(status === 503 || status === 429 ? { 'retry-after': '5' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)

  function printPage(text: string, hasForm: boolean): string {
    return `<!doctype html><title>${STATUS_CODES[status]}</title><p>${text}</p>${hasForm ? tokenForm : ''}\n`
  }
}

export const tooMany: Refusal = {
  status: 429,
  message: 'Too many requests are open. Close some pages of notebooks, and try again.',
  outcome: 'limited',
}
export const guessing: Refusal = {
  status: 429,
  message: 'Too many wrong tokens came from your address. Try again in a minute.',
  outcome: 'limited',
}
