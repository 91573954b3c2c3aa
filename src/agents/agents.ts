// Everything that a gateway does with the agents of hosts: their connections, their machines, and their requests.

import type { Logger } from 'pino'
import { hostKeyRefusal, isHostKey } from '../domain/machines/agents.ts'
import type { MachineEngine } from '../domain/machines/engines.ts'
import type { AgentFace } from '../http/agents/sockets.ts'
import {
  protocols as allProtocols,
  protocolName,
  protocolOf,
  protocolRefusal,
  sharedProtocol,
} from '../providers/agent/protocol/versions.ts'
import { createAgentProvider } from '../providers/agent/provider.ts'
import type { AgentServices } from '../services/machines/agents/services.ts'
import { type ConnectionDeps, closeCodes, createConnections } from './connections.ts'
import { createHostFace } from './face.ts'
import { createForwarding } from './forwarding.ts'

type AgentDeps = {
  services: AgentServices
  engines: { all(): Promise<ReadonlyMap<number, MachineEngine>> }
  readToolbox(): Promise<Buffer>
  log: Logger
  protocols?: readonly number[]
  timing?: ConnectionDeps['timing']
}

export type Agents = ReturnType<typeof createAgents>

export function createAgents({ services, engines, readToolbox, log, protocols = allProtocols, timing }: AgentDeps) {
  const connections = createConnections({ services, log, ...(timing && { timing }) })
  const forwarding = createForwarding({ requests: services.requests, connections, log })
  const { linkOf } = connections
  let timer: NodeJS.Timeout | undefined
  let stopped: Promise<void> | undefined

  const sockets: AgentFace = {
    async admit({ key, offered }) {
      const protocol = sharedProtocol(protocols, offered)
      if (!isHostKey(key) || (await services.identify(key)) === undefined)
        return { status: 401, error: 'unauthenticated', msg: hostKeyRefusal }
      if (protocol === undefined) return { status: 426, error: 'protocol', msg: protocolRefusal(protocols, offered) }
      return { protocol: protocolName(protocol) }
    },
    async open(wire, { key, version, protocol }, isOpen) {
      const hello = { key, version, protocol: protocolOf(protocol) ?? 0 }
      const link = await connections.accept(hello, wire, isOpen).catch((error: unknown) => {
        log.warn({ err: error }, 'The connection of a host was not accepted. It tries again.')
        wire.close(closeCodes.failed, 'The gateway cannot do this now. Try again.')
        return undefined
      })
      forwarding.wake()
      return link && { receive: link.receive, onClose: () => connections.handleClosed(link) }
    },
  }

  return {
    sockets,
    http: createHostFace({ services, readToolbox }),
    provider: createAgentProvider({ linkOf, isElsewhere: services.isElsewhere, forward: forwarding.forward }),
    /** The engines that this gateway can follow: those with an address, and those whose hosts are connected to it. */
    followable: {
      async all(): Promise<ReadonlyMap<number, MachineEngine>> {
        const every = [...(await engines.all())]
        return new Map(every.filter(([machineId, { url }]) => url !== null || connections.has(machineId)))
      },
    },
    /** Called when another gateway may wait for a host of this one, or has answered. */
    wake: forwarding.wake,
    start(): void {
      timer ??= setInterval(() => {
        void connections.renew()
        forwarding.wake()
      }, connections.renewMs)
    },
    stop(): Promise<void> {
      clearInterval(timer)
      stopped ??= connections.stop()
      return stopped
    },
  }
}
