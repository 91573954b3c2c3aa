// One connection of the agent to a gateway.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { WebSocket } from 'ws'
import { startHeartbeat } from '../http/agents/heartbeat.ts'
import { closeCodes } from '../providers/agent/protocol/closing.ts'
import { maxMessageBytes } from '../providers/agent/protocol/messages.ts'
import { protocolName } from '../providers/agent/protocol/versions.ts'
import type { Wire } from '../providers/agent/streams/multiplexer.ts'
import type { Session } from './session.ts'

/** Trying again does not help: somebody has to do what the message says. */
export class Refused extends Error {
  override name = 'Refused'
}

/** The gateway, or what is in front of it, has refused the connection. Trying again may help. */
export class Declined extends Error {
  override name = 'Declined'
  readonly status: number
  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** A later connection of this host took the place of this one. Another agent may have its key. */
export class Replaced extends Error {
  override name = 'Replaced'
}

export type ConnectionOptions = {
  gateway: string
  path: string
  key: string
  version: string
  protocols: readonly number[]
  /** A gateway that does not answer the handshake within this time is left. */
  openMs?: number
  onOpen?(): void
  openSession(wire: Wire): Session
  /** Closes the connection. */
  signal: AbortSignal
}

const heartbeatMs = 5_000
/** A gateway that reads so slowly is gone. */
const maxUnreadBytes = 33_554_432
/** A gateway refuses a host for good with these statuses. */
const finalStatuses = [401, 403, 426]

/** Serves a gateway until the connection ends. Throws `Refused` if it must not connect again. */
export async function serveConnection(options: ConnectionOptions): Promise<void> {
  const { gateway, path, key, version, protocols, openMs = 10_000, onOpen, openSession, signal } = options
  const url = new URL(path, gateway)
  url.protocol = url.protocol.replace('http', 'ws')
  const socket = new WebSocket(url, protocols.map(protocolName), {
    headers: { authorization: `Bearer ${key}`, 'user-agent': `berth-host/${version}` },
    handshakeTimeout: openMs,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
  })
  const stop = () => {
    socket.close(closeCodes.leaving, 'The agent stops.')
    setTimeout(() => socket.terminate(), 500).unref()
  }
  signal.addEventListener('abort', stop, { once: true })
  const refused = Promise.withResolvers<never>()
  socket.on('unexpected-response', (_, response) => {
    refusalOf(response).then(refused.reject, refused.reject)
  })
  const session = openSession(wireOf(socket))
  socket.on('message', (data: Buffer, isBinary) => session.receive(isBinary ? data : data.toString()))
  socket.on('open', () => {
    startHeartbeat(socket, heartbeatMs)
    onOpen?.()
  })
  const failed = once(socket, 'error').then(([error]) => Promise.reject(error))
  const closed = once(socket, 'close')
  failed.catch(() => {})
  socket.on('error', () => {})
  try {
    const [code, reason] = await Promise.race([closed, failed, refused.promise])
    const says = String(reason) || `The connection was closed (${code}).`
    if (code === closeCodes.revoked) throw new Refused(says)
    if (code === closeCodes.replaced) throw new Replaced(says)
    if (!signal.aborted) throw new Error(says)
  } finally {
    signal.removeEventListener('abort', stop)
    session.end()
    socket.terminate()
  }
}

function wireOf(socket: WebSocket): Wire {
  return {
    send(data, onSent = () => {}) {
      if (socket.bufferedAmount > maxUnreadBytes) socket.terminate()
      socket.send(data, onSent)
    },
    close: (code, reason) => socket.close(code, reason.slice(0, 120)),
  }
}

/** The sentence of the gateway. */
async function refusalOf(response: IncomingMessage): Promise<Error> {
  const { statusCode = 0 } = response
  const body = await text(response).catch(() => '')
  const says = messageIn(body) ?? `The gateway answered ${statusCode}.`
  return finalStatuses.includes(statusCode) ? new Refused(says) : new Declined(says, statusCode)
}

export function messageIn(body: string): string | undefined {
  try {
    const { msg } = JSON.parse(body)
    return typeof msg === 'string' ? msg.slice(0, 2_000) : undefined
  } catch {
    return undefined
  }
}
