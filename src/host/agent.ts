// Keeps a host connected: connects again whenever the connection is lost.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { MachineEngine } from '../domain/machines/engines.ts'
import type { Welcome } from '../providers/agent/protocol/messages.ts'
import { protocols as allProtocols } from '../providers/agent/protocol/versions.ts'
import type { Wire } from '../providers/agent/streams/multiplexer.ts'
import type { Provider } from '../providers/provider.ts'
import { createBranches } from './branches.ts'
import { Refused, Replaced, serveConnection } from './connection.ts'
import { createFence } from './fence.ts'
import type { StreamCount } from './processes.ts'
import { createSession } from './session.ts'

/** What a gateway says of the engine's use. */
export type HostEngine = Omit<MachineEngine, 'url' | 'tls'>

export type AgentOptions = {
  gateway: string
  key: string
  version: string
  protocols?: readonly number[]
  /** Makes the provider of this host, once. `engineNow` is what the gateway said last. */
  createProvider(engineNow: () => HostEngine): Provider
  log: Logger
  signal: AbortSignal
  onConnected?(): void
}

/** The first try comes within this time, and later ones take longer and longer. Random, so that hosts do not come together. */
const firstMs = 1_000
const longestMs = 10_000
/** Two agents with one key would replace each other endlessly, so they do it slowly. */
const patientFrom = 5
/** After a connection of this length, the next try is a first one again. */
const steadyMs = 10_000

/** Runs until the signal is aborted. Throws `Refused` if the gateway does not want this host anymore. */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { gateway, key, version, protocols = allProtocols, createProvider, log, signal, onConnected } = options
  const fence = createFence()
  const streams: StreamCount = { open: 0 }
  let engine: HostEngine | undefined
  let provider: Provider | undefined
  let failures = 0

  function providerOf(welcome: Welcome): Provider {
    engine = welcome
    provider ??= createProvider(() => engine as HostEngine)
    return provider
  }

  /** Returns how the connection ended. */
  async function serveOnce(): Promise<{ lastedMs: number; error: unknown }> {
    let connectedMs = Number.POSITIVE_INFINITY
    const onWelcome = ({ machineId }: Welcome) => {
      connectedMs = performance.now()
      log.info({ machineId, gateway }, 'The host is connected.')
      onConnected?.()
    }
    const branches = createBranches({
      ...{ gateway, key, version, protocols },
      openSession: (wire, beside) => createSession({ wire, fence, streams, log, role: { beside } }),
    })
    const role = {
      openBranch: branches.open,
      welcome(welcome: Welcome) {
        const served = providerOf(welcome)
        onWelcome(welcome)
        return served
      },
    }
    const openSession = (wire: Wire) => createSession({ wire, fence, streams, log, role })
    const path = `/host?generation=${fence.newest()}`
    const connection = { gateway, path, key, version, protocols, openSession, signal }
    const error = await serveConnection(connection).catch(one => one)
    branches.endAll()
    return { lastedMs: Math.max(performance.now() - connectedMs, 0), error }
  }

  while (!signal.aborted) {
    const { lastedMs, error } = await serveOnce()
    if (error instanceof Refused) throw error
    // Logged once for each outage.
    if (error && (failures === 0 || lastedMs > 0))
      log.warn({ err: error, gateway }, 'The host is not connected. It keeps trying.')
    failures = error instanceof Replaced ? patientFrom : lastedMs > steadyMs ? 1 : failures + 1
    await sleep(waitMs(failures, Math.random()), undefined, { signal }).catch(() => {})
  }
}

/** `random` is from 0 to 1. */
export function waitMs(failures: number, random: number): number {
  const most = Math.min(firstMs * 2 ** (failures - 1), longestMs)
  return failures === 1 ? random * most : most / 2 + (random * most) / 2
}
