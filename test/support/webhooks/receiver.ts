// An endpoint for webhooks in tests: a local server that keeps the requests, and answers as a test says.

import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { vi } from 'vitest'

// biome-ignore lint/suspicious/noExplicitAny: any event
export type Received = { path: string; headers: IncomingHttpHeaders; body: string; event: any }

export type Receiver = {
  url: string
  received: Received[]
  /** Sets the answer to later requests. */
  answer: (how: number | ((response: ServerResponse, request: Received) => void)) => void
  /** The number of open requests. */
  openCount: () => number
  /** The highest number of open requests so far. */
  maxOpenCount: () => number
  close: () => Promise<void>
}

export async function openReceiver(tls?: { key: string; cert: string }): Promise<Receiver> {
  const received: Received[] = []
  let [open, most] = [0, 0]
  let respond: (response: ServerResponse, request: Received) => void = response => response.writeHead(204).end()
  const handle: http.RequestListener = async (request, response) => {
    open += 1
    most = Math.max(most, open)
    response.on('close', () => {
      open -= 1
    })
    const body = await text(request)
    const { url: path = '', headers } = request
    const one = { path, headers, body, event: body && JSON.parse(body) }
    received.push(one)
    respond(response, one)
  }
  const server = tls ? https.createServer(tls, handle) : http.createServer(handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    received,
    answer(how) {
      respond = typeof how === 'number' ? response => response.writeHead(how).end() : how
    },
    openCount: () => open,
    maxOpenCount: () => most,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The secrets with which the library of Standard Webhooks takes a request at this time. */
export function signersOf({ headers, body }: Received, secrets: string[], at: Date): string[] {
  const accepts = (secret: string) => {
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>)
      return true
    } catch (error) {
      if (error instanceof WebhookVerificationError) return false
      throw error
    }
  }
  vi.setSystemTime(at)
  try {
    return secrets.filter(accepts)
  } finally {
    vi.useRealTimers()
  }
}

/** The secrets whose text signed the header from before Standard Webhooks. */
export function oldSignersOf({ headers, body }: Received, secrets: string[]): string[] {
  const [time = '', ...proofs] = String(headers['berth-signature']).split(',')
  const expected = (secret: string) =>
    createHmac('sha256', secret)
      .update(`${time.slice(2)}.${body}`)
      .digest('hex')
  return secrets.filter(secret => proofs.includes(`v1=${expected(secret)}`))
}
