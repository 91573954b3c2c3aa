// The SSH face: logs clients in to their instances. One port serves all instances.

import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import type { Metric } from '../http/metrics.ts'
import type { Provider } from '../providers/provider.ts'
import type { SshLogin } from '../services/instances/ssh/logins.ts'
import type { SshServices } from '../services/instances/ssh/services.ts'
import { createAddressLimits, networkOf } from './address-limits.ts'
import { type OpenConnection, serveConnection } from './connection.ts'
import { createHostKey, hostKeyFingerprint } from './host-key.ts'
import { type SshLimits, sshLimits } from './limits.ts'
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
  const metrics = createSshMetrics(() => open.size)
  let hostKey: string | undefined
  let isRefusing = false
  let isStopped = false
  let isChecking = false
  const timer = setInterval(() => void endEnded(), limits.checkMs)
  timer.unref()

  /** Ends the connections whose logins are no longer allowed. */
  async function endEnded(): Promise<void> {
    const checked = [...open.values()].flatMap(connection => {
      const login = connection.login()
      return login ? [{ connection, login }] : []
    })
    if (isChecking || checked.length === 0) return
    isChecking = true
    try {
      const ended = await logins.findEnded(checked.map(({ login }): SshLogin => login))
      for (const [index, message] of ended) checked[index]?.connection.end(message)
    } catch (error) {
      log.warn({ err: error }, 'Open SSH connections could not be checked. They stay open.')
    } finally {
      isChecking = false
    }
  }

  /**
   * Makes room by ending the oldest connection that has not logged in: otherwise ten addresses that open connections and
   * send nothing would keep all others out.
   */
  function hasRoom(): boolean {
    if (open.size < limits.connections) return true
    const [unfinished] = [...open].find(([, { login }]) => !login()) ?? []
    if (!unfinished) return false
    open.delete(unfinished)
    unfinished.destroy()
    return true
  }

  function refuse(socket: Socket): void {
    metrics.count('limited')
    socket.on('error', () => {})
    // Clients show a line before the protocol begins only when they are asked to be verbose.
    socket.end('Not allowed at this time.\r\n', () => socket.destroy())
  }

  return {
    async start() {
      hostKey = await services.hostKey.loadOrCreate(createHostKey)
    },
    fingerprint: () => hostKey && hostKeyFingerprint(hostKey),
    serve(socket) {
      const network = networkOf(socket.remoteAddress ?? '')
      if (hostKey === undefined || isRefusing || !hasRoom()) return refuse(socket)
      if (addresses.admit(network) !== undefined) return refuse(socket)
      const deps = { hostKey, logins, provider, limits, log }
      const connection = serveConnection(socket, deps, {
        onRefusal() {
          if (addresses.fail(network))
            log.warn(
              { address: network },
              'Too many SSH logins of an address were refused. It has to wait for a minute.',
            )
        },
        onClose(outcome) {
          metrics.count(outcome)
          addresses.release(network)
          open.delete(socket)
        },
      })
      open.set(socket, connection)
    },
    metrics: metrics.read,
    refuse() {
      isRefusing = true
    },
    async stop() {
      clearInterval(timer)
      if (!isStopped) for (const connection of open.values()) connection.end(stopMessage)
      isStopped = true
      isRefusing = true
      await Promise.all(
        [...open.keys()].map(socket => new Promise<void>(resolve => socket.once('close', () => resolve()))),
      )
    },
  }
}
