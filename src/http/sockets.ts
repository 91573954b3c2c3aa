// WebSockets on the HTTP port. The face defines the messages.

import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { type WebSocket, WebSocketServer } from 'ws'
import { maxBodyBytes } from './body.ts'
import { type Client, noProxies, type TrustedProxies } from './client.ts'
import { createHandshakeLimits } from './limits/handshakes.ts'
import { type CreateMeter, unlimitedMeters } from './limits/meter.ts'
import { limitReading } from './limits/reading.ts'
import { endWith, findRequestProblem, printRefusal } from './refusal.ts'

/** A socket, as its face sees it. */
export type Channel = {
  protocol: string
  /** Resolves when the text was handed to the network, or cannot be anymore. */
  send(text: string): Promise<void>
  close(code: number, reason: string): void
  /** Called once the face knows whose socket it is. Until then it counts for its address. */
  accept(): void
  onMessage(read: (text: string) => Promise<void>): void
}
export type SocketContext = { requestId: string; log: Logger; client: Client; authorization: string | undefined }

/** A protocol over sockets. Berth calls the handlers that `open` returns when a socket closes, or should close soon. */
export type SocketFace = {
  protocol: string
  open(
    channel: Channel,
    context: SocketContext,
  ): { onClose(code: number, reason: string): Promise<void>; closeWhenIdle(): void }
}

export type SocketLimits = typeof socketLimits
export const socketLimits = {
  sockets: 1_000,
  /** Sockets of an address that have not said yet whose they are. */
  unknownPerAddress: 100,
  /** Messages and pings of such a socket. */
  unknownMessages: 16,
  payloadBytes: maxBodyBytes,
  /** A socket with more unsent bytes than this is cut off. */
  bufferedBytes: 4_000_000,
  heartbeatMs: 12_000,
  /** Time for a client to answer the close of a socket, before the socket is cut off. */
  graceMs: 1_000,
}

export type Sockets = {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes all sockets after their pending messages, and refuses new ones. */
  stop(): void
}

type SocketsOptions = {
  face: SocketFace
  log: Logger
  proxies?: TrustedProxies
  meterOf?: CreateMeter
  limits?: SocketLimits
}

export function createSockets(options: SocketsOptions): Sockets {
  const { face, log, proxies = noProxies, meterOf = unlimitedMeters, limits = socketLimits } = options
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: limits.payloadBytes,
    // Each socket gets one event in a turn of the event loop. One read may bring thousands.
    allowSynchronousEvents: false,
    autoPong: false,
    handleProtocols: protocols => protocols.has(face.protocol) && face.protocol,
  })
  /** Oldest first. */
  const open = new Map<WebSocket, { leave(): void; beat(): void; isKnown(): boolean }>()
  const admit = createHandshakeLimits({ meterOf, unknownPerAddress: limits.unknownPerAddress })
  const tooMany = `This gateway has reached its limit of ${limits.sockets} WebSockets. Try again.`
  let isStopped = false
  const heartbeatTimer = setInterval(() => {
    for (const { beat } of open.values()) beat()
  }, limits.heartbeatMs)
  heartbeatTimer.unref()
  server.on('wsClientError', (_error, socket) =>
    endWith(socket, printRefusal(400, 'bad_request', 'The WebSocket handshake is not valid.')),
  )

  function serveSocket(socket: WebSocket, { headers }: IncomingMessage, client: Client, accept: () => void): void {
    const context = { requestId: randomUUID(), client, authorization: headers.authorization }
    const socketLog = log.child({ requestId: context.requestId })
    const start = performance.now()
    const send = (text: string) => {
      if (socket.bufferedAmount > limits.bufferedBytes) socket.terminate()
      if (socket.readyState !== socket.OPEN) return Promise.resolve()
      return new Promise<void>(resolve => socket.send(text, () => resolve()))
    }
    const close = (code: number, reason: string) => {
      socket.close(code, reason)
      // A client that does not answer the close must not keep its place.
      setTimeout(() => socket.terminate(), limits.graceMs).unref()
    }
    const reading = limitReading(socket, { unknownMessages: limits.unknownMessages, close })
    let isKnown = false
    const receive = (read: (text: string) => Promise<void>, text: string) =>
      read(text).catch((error: unknown) => {
        socketLog.error({ err: error }, 'Handling a WebSocket message failed.')
        socket.close(4500, 'Internal server error')
      })
    const { onClose, closeWhenIdle } = face.open(
      {
        protocol: socket.protocol,
        send,
        close,
        accept() {
          isKnown = true
          reading.accept()
          accept()
        },
        onMessage: read =>
          socket.on('message', (data, isBinary) =>
            reading.read(() => void receive(read, isBinary ? '' : String(data))),
          ),
      },
      { ...context, log: socketLog },
    )
    open.set(socket, { leave: closeWhenIdle, beat: createHeartbeat(socket), isKnown: () => isKnown })
    // The socket closes itself, with the code for the error.
    socket.on('error', () => {})
    socket.on('ping', data =>
      reading.read(() => {
        if (socket.bufferedAmount > limits.bufferedBytes) socket.terminate()
        else socket.pong(data)
      }),
    )
    socket.on('close', (code, reason) => {
      open.delete(socket)
      socketLog.info({ address: client.address, code, ms: Math.round(performance.now() - start) }, 'websocket')
      onClose(code, String(reason)).catch((error: unknown) =>
        socketLog.error({ err: error }, 'Cleaning up after a closed WebSocket failed.'),
      )
    })
  }

  /**
   * Makes room by cutting off the oldest socket that has sent no valid key: otherwise ten addresses that open sockets and send
   * nothing would keep all others out.
   */
  function hasRoom(): boolean {
    if (open.size < limits.sockets) return true
    const [unknown] = [...open].find(([, { isKnown }]) => !isKnown()) ?? []
    if (!unknown) return false
    open.delete(unknown)
    unknown.terminate()
    return true
  }

  /** Why no socket opens now, whoever asks. */
  function findRefusal(request: IncomingMessage): string | undefined {
    const problem = findRequestProblem(request)
    if (problem) return printRefusal(400, 'bad_request', problem)
    return isStopped ? printRefusal(503, 'unavailable', 'This gateway is stopping. Try again.') : undefined
  }

  return {
    upgrade(request, socket, head) {
      socket.on('error', () => socket.destroy())
      const refusal = findRefusal(request)
      if (refusal) return endWith(socket, refusal)
      const client = proxies.clientOf(request)
      const admitted = admit(client, request.headers.authorization)
      if (typeof admitted === 'string') return endWith(socket, admitted)
      const { accept } = admitted
      // A handshake that is not valid opens no socket.
      socket.once('close', accept)
      if (!hasRoom()) return endWith(socket, printRefusal(503, 'unavailable', tooMany))
      server.handleUpgrade(request, socket, head, opened => serveSocket(opened, request, client, accept))
    },
    stop() {
      isStopped = true
      clearInterval(heartbeatTimer)
      for (const { leave } of open.values()) leave()
      const cutOff = () => {
        for (const socket of open.keys()) socket.terminate()
      }
      setTimeout(cutOff, limits.graceMs).unref()
    },
  }
}

/**
 * Cuts off a client that has not answered the last ping before the next one: it is gone, or does not read. An answer
 * repeats the random bytes of the ping, so a client must have read everything before it.
 */
function createHeartbeat(socket: WebSocket): () => void {
  let awaited: Buffer | undefined
  socket.on('pong', data => {
    if (awaited?.equals(data)) awaited = undefined
  })
  return () => {
    if (awaited) return socket.terminate()
    awaited = randomBytes(8)
    socket.ping(awaited)
  }
}
