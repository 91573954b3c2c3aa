// WebSockets of the agents of hosts. A host is known by its key before its socket opens, so nobody else gets one.

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { type WebSocket, WebSocketServer } from 'ws'
import { DomainError } from '../../domain/errors.ts'
import { parseBearer } from '../bearer.ts'
import { noProxies, type TrustedProxies } from '../client.ts'
import { retryAfterHeaders } from '../limits/headers.ts'
import { type CreateMeter, unlimitedMeters } from '../limits/meter.ts'
import { pagePoints } from '../limits/points.ts'
import { endWith, findRequestProblem, printRefusal } from '../refusal.ts'
import type { Sockets } from '../sockets.ts'
import { startHeartbeat } from './heartbeat.ts'
import { createReading } from './reading.ts'

export type AgentWire = {
  /** `onSent` is called when the network has taken it, or never will. */
  send(data: string | Buffer, onSent?: () => void): void
  close(code: number, reason: string): void
}
export type AgentRefusal = { status: number; error: string; msg: string; headers?: Record<string, string> }
export type AgentHandshake = {
  key: string
  version: string
  /** The protocols that the host speaks. */
  offered: ReadonlySet<string>
  /** The greatest generation that the host has seen; with a branch, that of the connection beside which it is to be. */
  generation: number
  /** Set if this is to be a branch: for which gateway. */
  branch: { gatewayId: string } | undefined
}
export type AdmittedAgent = {
  /** One of those that were offered. */
  protocol: string
  /** Undefined if the socket was closed instead. What arrives before it resolves waits. */
  open(
    wire: AgentWire,
    isOpen: () => boolean,
  ): Promise<{ receive(data: string | Buffer): void; onClose(): void } | undefined>
}

export type AgentFace = {
  gatewayId: string
  /** A host that sends a longer message is cut off. */
  maxMessageBytes: number
  /** Says what serves the connection of a host, or why it is refused. */
  admit(asked: AgentHandshake): Promise<AdmittedAgent | AgentRefusal>
}

export type AgentSocketLimits = typeof agentSocketLimits
export const agentSocketLimits = {
  sockets: 1_000,
  /** Sockets whose keys are being looked up. */
  unknown: 64,
  /** A host with more unsent bytes than this does not read, and is cut off. */
  bufferedBytes: 33_554_432,
  heartbeatMs: 5_000,
  graceMs: 1_000,
}

const path = /^\/host(\/branch)?\/?(\?|$)/

export function isAgentUpgrade({ url }: IncomingMessage): boolean {
  return path.test(url ?? '')
}

type AgentSocketOptions = { proxies?: TrustedProxies; meterOf?: CreateMeter; limits?: AgentSocketLimits }

export function createAgentSockets(
  face: AgentFace,
  log: Logger,
  { proxies = noProxies, meterOf = unlimitedMeters, limits = agentSocketLimits }: AgentSocketOptions = {},
): Sockets {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: face.maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: (_, request) => chosen.get(request) ?? false,
  })
  const chosen = new WeakMap<IncomingMessage, string>()
  const open = new Set<WebSocket>()
  let unknown = 0
  let isStopped = false
  server.on('wsClientError', (_error, socket) =>
    endWith(socket, printRefusal(400, 'bad_request', 'The WebSocket handshake is not valid.')),
  )

  async function admit(request: IncomingMessage) {
    unknown += 1
    try {
      return await admitKnown(request)
    } catch (error) {
      if (error instanceof DomainError && error.code === 'RATE_LIMITED') return rateLimited(error)
      log.warn({ err: error }, 'The key of a host was not looked up. The host tries again.')
      return { status: 503, error: 'unavailable', msg: 'The gateway cannot do this now. Try again.' }
    } finally {
      unknown -= 1
    }
  }

  async function admitKnown(request: IncomingMessage): Promise<AdmittedAgent | AgentRefusal> {
    const handshake = readHandshake(request)
    const meter = meterOf(proxies.clientOf(request))
    if (handshake.branch && handshake.branch.gatewayId !== face.gatewayId) {
      // No key is looked up here, so the address pays.
      meter.take('address', pagePoints)
      return misdirected
    }
    let refusal: AgentRefusal | undefined
    const admitted = await meter.check(handshake.key, async () => {
      const answer = await face.admit(handshake)
      if (!('status' in answer) || answer.status !== 401) return answer
      refusal = answer
      return undefined
    })
    return admitted ?? (refusal as AgentRefusal)
  }

  function serveSocket(socket: WebSocket, openFace: AdmittedAgent['open']): void {
    open.add(socket)
    startHeartbeat(socket, limits.heartbeatMs)
    const wire: AgentWire = {
      send(data, onSent = () => {}) {
        if (socket.bufferedAmount > limits.bufferedBytes) socket.terminate()
        socket.send(data, onSent)
      },
      close(code, reason) {
        socket.close(code, reason.slice(0, 120))
        setTimeout(() => socket.terminate(), limits.graceMs).unref()
      },
    }
    // Until the host is known to all gateways.
    socket.pause()
    const isOpen = () => socket.readyState === socket.OPEN
    const reading = createReading(socket)
    socket.on('ping', () => {
      reading.frame()
      if (socket.bufferedAmount > limits.bufferedBytes) socket.terminate()
    })
    socket.on('pong', reading.frame)
    void openFace(wire, isOpen).then(connected => {
      socket.on('message', (data: Buffer, isBinary) => {
        if (!isOpen()) return
        reading.frame()
        if (isBinary) connected?.receive(data)
        else reading.text(data.length, () => connected?.receive(data.toString()))
      })
      socket.resume()
      if (socket.readyState === socket.CLOSED) connected?.onClose()
      else socket.on('close', () => connected?.onClose())
    })
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const refuse = (...refusal: Parameters<typeof printRefusal>) => endWith(socket, printRefusal(...refusal))
    const problem = findRequestProblem(request)
    socket.on('error', () => socket.destroy())
    if (problem) return refuse(400, 'bad_request', problem)
    if (isStopped) return refuse(503, 'unavailable', 'This gateway is stopping. Try again.')
    if (open.size >= limits.sockets || unknown >= limits.unknown)
      return refuse(503, 'unavailable', 'This gateway has too many connections of hosts. Try again.')
    const admitted = await admit(request)
    if ('status' in admitted) return refuse(admitted.status, admitted.error, admitted.msg, admitted.headers)
    if (isStopped) return refuse(503, 'unavailable', 'This gateway is stopping. Try again.')
    chosen.set(request, admitted.protocol)
    server.handleUpgrade(request, socket, head, opened => serveSocket(opened, admitted.open))
  }

  return {
    upgrade: (request, socket, head) => void upgrade(request, socket, head),
    stop() {
      isStopped = true
      const cutOff = () => {
        for (const socket of open) socket.terminate()
      }
      setTimeout(cutOff, 2 * limits.graceMs).unref()
    },
  }
}

const misdirected = { status: 421, error: 'misdirected', msg: 'This is another gateway. Try again.' }

function rateLimited({ message, details }: DomainError<'RATE_LIMITED'>): AgentRefusal {
  return { status: 429, error: 'rate_limited', msg: message, headers: retryAfterHeaders(details) }
}

function readHandshake({ headers, url = '' }: IncomingMessage): AgentHandshake {
  const key = parseBearer(headers.authorization) ?? ''
  const [, version = ''] = /^berth-host\/([\w.+-]{1,64})$/.exec(headers['user-agent'] ?? '') ?? []
  const names = (headers['sec-websocket-protocol'] ?? '').split(',').map(name => name.trim())
  const offered = new Set(names.filter(name => name !== '').slice(0, 32))
  return { key, version, offered, ...readAddress(url) }
}

/** Agents before this field tell no generation. */
function readAddress(url: string): Pick<AgentHandshake, 'generation' | 'branch'> {
  const [address = '', query] = url.split('?')
  const asked = new URLSearchParams(query)
  const told = asked.get('generation') ?? ''
  const generation = /^\d{1,10}$/.test(told) ? Number(told) : 0
  const isBranch = /\/branch\/?$/.test(address)
  return { generation, branch: isBranch ? { gatewayId: asked.get('gateway') ?? '' } : undefined }
}
