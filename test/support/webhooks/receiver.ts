// Where webhooks lead to in tests: a server on this machine that keeps what it is sent, and answers as it is told.

import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

// biome-ignore lint/suspicious/noExplicitAny: whatever the event says
export type Received = { path: string; headers: IncomingHttpHeaders; body: string; event: any }

export type Receiver = {
  url: string
  received: Received[]
  /** How it answers from now on. */
  answer: (how: number | ((response: ServerResponse, request: Received) => void)) => void
  /** Those that wait for an answer. */
  openCount: () => number
  /** The most that it was asked at once. */
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

/** Which of these secrets a request is signed with, found out as docs/events.md tells receivers to. */
export function signersOf({ headers, body }: Received, secrets: string[]): string[] {
  const [time = '', ...proofs] = String(headers['berth-signature']).split(',')
  const expected = (secret: string) =>
    createHmac('sha256', secret)
      .update(`${time.slice(2)}.${body}`)
      .digest('hex')
  return secrets.filter(secret => proofs.includes(`v1=${expected(secret)}`))
}
