// Carries a WebSocket. After the handshake its bytes pass through as they are.

import { type IncomingMessage, request as openRequest } from 'node:http'
import type { Socket } from 'node:net'
import { type Carried, relayAnswer, withCookie } from './carry.ts'
import { answerHeaders, requestHeaders } from './headers.ts'

export type CarriedSocket = Carried & { socket: Socket; head: Buffer; farewellMs: number }

export function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Resolves when the notebook has accepted or refused the socket. The value is false if it did neither. */
export function carrySocket(carried: CarriedSocket): Promise<boolean> {
  const { request, socket, remote, client } = carried
  return new Promise(resolve => {
    const outgoing = openRequest({
      ...{ createConnection: () => remote, method: 'GET', path: request.url },
      headers: requestHeaders(request, client, true),
    })
    remote.on('error', () => {})
    socket.once('close', () => {
      outgoing.destroy()
      remote.destroy()
    })
    if (socket.destroyed) remote.destroy()
    outgoing.on('error', () => resolve(false))
    outgoing.once('close', () => resolve(false))
    outgoing.once('response', answer => resolve(relayAnswer(answer, carried)))
    outgoing.once('upgrade', (answer, _remote, remoteHead) => {
      join(carried, answer, remoteHead)
      resolve(true)
    })
    outgoing.end()
  })
}

function join(carried: CarriedSocket, answer: IncomingMessage, remoteHead: Buffer): void {
  const { response, socket, head, remote, client, cookie, farewellMs, onAnswer } = carried
  onAnswer(101)
  response.detachSocket(socket)
  // TCP itself finds a client that has vanished.
  socket.setTimeout(0)
  socket.write(printHandshake(withCookie(answerHeaders(answer, client.cookieName), cookie)), 'latin1')
  if (head.length > 0) remote.write(head)
  if (remoteHead.length > 0) socket.write(remoteHead)
  remote.once('close', () => {
    socket.setTimeout(farewellMs, () => socket.destroy())
    socket.destroySoon()
  })
  socket.pipe(remote)
  remote.pipe(socket)
}

/** Node has parsed the headers, so none has a line break. */
function printHandshake(headers: string[]): string {
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}\r\n`] : []))
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines.join('')}\r\n`
}
