// The SSH face: logs clients in to their instances. One port serves all instances.

import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { createAddressLimits, networkOf } from '../http/address-limits.ts'
import type { Metric } from '../http/metrics/metrics.ts'
import type { Provider } from '../providers/provider.ts'
import type { SshServices } from '../services/instances/ssh/services.ts'
import { type ConnectionListeners, type OpenConnection, serveConnection } from './connection.ts'
import { watchForEndings } from './endings.ts'
import { createHostKey, hostKeyFingerprint } from './host-key.ts'
import { type SshLimits, sshLimits } from './limits.ts'
import { createLoginLimits } from './login-limits.ts'
import { createSshMetrics } from './metrics.ts'

export type SshFace = {
  /** Loads the host key. Before, all connections are refused. */
  start(): Promise<void>
  fingerprint(): string | undefined
  /** Serves a connection to the SSH port. */
  serve(socket: Socket): void
  metrics(): Metric[]
  /** Refuses new connections. Those that are open stay. */
  refuse(): void
  /** Ends all connections with a message. Resolves when they are closed. */
  stop(): Promise<void>
}

type SshFaceOptions = {
  services: SshServices
  provider: Pick<Provider, 'open' | 'connect'>
  log: Logger
  limits?: SshLimits
}

const stopMessage = 'This gateway stops. Connect again.'

export function createSshFace({ services, provider, log, limits = sshLimits }: SshFaceOptions): SshFace {
  const { logins } = services
  const open = new Map<Socket, OpenConnection>()
  const addresses = createAddressLimits(limits)
  const loginLimits = createLoginLimits(limits)
  const metrics = createSshMetrics(() => open.size)
  const stopWatching = watchForEndings({ open, logins, checkMs: limits.checkMs, log })
  let hostKey: string | undefined
  let isRefusing = false
  let isStopped = false

  function refuse(socket: Socket): void {
    metrics.count('limited')
    socket.on('error', () => {})
    // Clients show a line before the protocol begins only when they are asked to be verbose.
    socket.end('Not allowed at this time.\r\n', () => socket.destroy())
  }

  function listenersOf(socket: Socket, network: string): ConnectionListeners {
    return {
      onLogin: loginLimits.admit,
      onRefusal() {
        if (addresses.fail(network))
          log.warn({ address: network }, 'Too many SSH logins of an address were refused. It has to wait for a minute.')
      },
      onClose(outcome, login) {
        metrics.count(outcome)
        addresses.release(network)
        if (login) loginLimits.release(login)
        open.delete(socket)
      },
    }
  }

  return {
    async start() {
      hostKey = await services.hostKey.loadOrCreate(createHostKey)
    },
    fingerprint: () => hostKey && hostKeyFingerprint(hostKey),
    serve(socket) {
      const network = networkOf(socket.remoteAddress ?? '')
      if (hostKey === undefined || isRefusing || !hasRoom(open, limits)) return refuse(socket)
      if (addresses.admit(network) !== undefined) return refuse(socket)
      const deps = { hostKey, logins, provider, limits, log }
      open.set(socket, serveConnection(socket, deps, listenersOf(socket, network)))
    },
    metrics: metrics.read,
    refuse() {
      isRefusing = true
    },
    async stop() {
      stopWatching()
      if (!isStopped) for (const connection of open.values()) connection.end(stopMessage)
      isStopped = true
      isRefusing = true
      await Promise.all([...open.keys()].map(closed))
    },
  }
}

/**
 * Makes room by ending the oldest connection that has not logged in: otherwise ten addresses that open connections and send
 * nothing would keep all others out.
 */
function hasRoom(open: Map<Socket, OpenConnection>, { connections }: SshLimits): boolean {
  if (open.size < connections) return true
  const [unfinished] = [...open].find(([, { login }]) => !login()) ?? []
  if (!unfinished) return false
  open.delete(unfinished)
  unfinished.destroy()
  return true
}

function closed(socket: Socket): Promise<void> {
  return new Promise(resolve => socket.once('close', () => resolve()))
}
