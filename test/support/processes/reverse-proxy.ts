// A reverse proxy in front of a gateway, which does well or badly what proxies do.

import { once } from 'node:events'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type ProxyHabits = {
  /** Keeps each answer until it is complete, as with buffering. */
  buffers?: boolean
  /** Cuts off an answer that is silent for this long. */
  idleMs?: number
  /** Passes the headers of clients on, and adds none of its own. */
  addsNothing?: boolean
  /** Refuses larger bodies. */
  bodyBytes?: number
  /** Ends TLS with this key and certificate. */
  tls?: { key: Buffer; cert: Buffer }
  /** Whether WebSockets pass. */
  upgrades?: boolean
}

export async function startProxy(gateway: string, habits: ProxyHabits) {
  const { buffers = false, idleMs, addsNothing = false, bodyBytes = 1_000_000, tls, upgrades = true } = habits
  const headersOf = ({ headers, socket }: IncomingMessage) =>
    addsNothing
      ? { ...headers, host: new URL(gateway).host }
      : {
          ...headers,
          'x-forwarded-for': [headers['x-forwarded-for'] ?? [], socket.remoteAddress].flat().join(', '),
          'x-forwarded-proto': tls ? 'https' : 'http',
        }
  const pass = (request: IncomingMessage) =>
    forward(new URL(request.url ?? '/', gateway), { method: request.method, headers: headersOf(request), agent: false })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    if (body.length > bodyBytes) return void response.writeHead(413).end('too large')
    const outgoing = pass(request).on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    outgoing.end(body)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const whole = buffers ? await buffer(answer) : undefined
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    if (whole) return void response.end(whole)
    if (idleMs) outgoing.setTimeout(idleMs, () => response.end())
    answer.pipe(response)
  }

  const answer = (request: IncomingMessage, response: ServerResponse) =>
    void serve(request, response).catch(() => response.destroy())
  const server = tls ? createTlsServer(tls, answer) : createServer(answer)
  if (upgrades)
    server.on('upgrade', (request, socket) => {
      const outgoing = pass(request).on('error', () => socket.destroy())
      outgoing.on('upgrade', (answer, far) => {
        const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`)
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`)
        for (const end of [socket, far]) end.on('error', () => end.destroy())
        socket.pipe(far).pipe(socket)
      })
      outgoing.end()
    })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http${tls ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
