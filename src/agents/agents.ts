// Everything that a gateway does with the agents of hosts: their connections, their machines, and their requests.

import type { Logger } from 'pino'
import { hostKeyRefusal, isHostKey } from '../domain/machines/agents.ts'
import type { MachineEngine } from '../domain/machines/engines.ts'
import type { AgentFace, AgentWire } from '../http/agents/sockets.ts'
import { closeCodes } from '../providers/agent/protocol/closing.ts'
import { maxMessageBytes } from '../providers/agent/protocol/messages.ts'
import {
  protocols as allProtocols,
  protocolName,
  protocolRefusal,
  sharedProtocol,
} from '../providers/agent/protocol/versions.ts'
import { createAgentProvider } from '../providers/agent/provider.ts'
import type { AgentServices } from '../services/machines/agents/services.ts'
import { type BranchDeps, createBranches } from './branches.ts'
import { type AgentHello, type ConnectionDeps, createConnections } from './connections.ts'
import { createHostFace } from './face.ts'
import { createForwarding } from './forwarding.ts'

type AgentDeps = {
  services: AgentServices
  engines: { all(): Promise<ReadonlyMap<number, MachineEngine>> }
  readToolbox(): Promise<Buffer>
  gatewayId: string
  /** Where hosts reach this gateway alone; null if only a balancer leads to it. */
  url: string | null
  log: Logger
  protocols?: readonly number[]
  timing?: ConnectionDeps['timing'] & BranchDeps['timing']
}

export type Agents = ReturnType<typeof createAgents>

export function createAgents(deps: AgentDeps) {
  const { services, engines, readToolbox, gatewayId, url, log, protocols = allProtocols, timing } = deps
  const connections = createConnections({ services, log, ...(timing && { timing }) })
  const forwarding = createForwarding({ requests: services.requests, connections, log })
  const { forward } = forwarding
  const branches = createBranches({ services, forward, gatewayId, url, log, ...(timing && { timing }) })
  const { linkOf } = connections
  let timer: NodeJS.Timeout | undefined
  let stopped: Promise<void> | undefined

  async function accept(hello: AgentHello, wire: AgentWire, isOpen: () => boolean) {
    const link = await connections.accept(hello, wire, isOpen).catch((error: unknown) => {
      log.warn({ err: error }, 'The connection of a host was not accepted. It tries again.')
      wire.close(closeCodes.failed, 'The gateway cannot do this now. Try again.')
      return undefined
    })
    if (link) branches.giveWay(link)
    forwarding.wake()
    return link && { receive: link.receive, onClose: () => connections.handleClosed(link) }
  }

  async function admitBranch(key: string, generation: number, protocol: number) {
    const askedMs = performance.now()
    const hold = await services.findElsewhere(key)
    if (hold?.generation !== generation || !branches.isAwaited(hold.machineId))
      return { status: 409, error: 'conflict', msg: 'This gateway does not wait for a second connection of this host.' }
    return {
      protocol: protocolName(protocol),
      async open(wire: AgentWire) {
        const link = branches.take({ hold, protocol, askedMs, wire })
        if (!link) wire.close(closeCodes.replaced, 'This gateway does not wait for this connection anymore.')
        return link && { receive: link.receive, onClose: () => branches.handleClosed(link) }
      },
    }
  }

  const sockets: AgentFace = {
    gatewayId,
    maxMessageBytes,
    async admit({ key, version, generation, offered, branch }) {
      const protocol = sharedProtocol(protocols, offered)
      if (!isHostKey(key) || (await services.identify(key)) === undefined)
        return { status: 401, error: 'unauthenticated', msg: hostKeyRefusal }
      if (protocol === undefined) return { status: 426, error: 'protocol', msg: protocolRefusal(protocols, offered) }
      if (branch) return await admitBranch(key, generation, protocol)
      return {
        protocol: protocolName(protocol),
        open: (wire, isOpen) => accept({ key, version, generation, protocol }, wire, isOpen),
      }
    },
  }

  return {
    sockets,
    http: createHostFace({ services, readToolbox }),
    provider: createAgentProvider({ linkOf, branchOf: branches.linkOf, forward }),
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
        void branches.renew()
        forwarding.wake()
      }, connections.renewMs)
    },
    stop(): Promise<void> {
      clearInterval(timer)
      branches.stop()
      stopped ??= connections.stop()
      return stopped
    },
  }
}
