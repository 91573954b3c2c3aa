// The drivers of machines, put together.

import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { createAgents } from './agents/agents.ts'
import type { Database } from './database/client.ts'
import type { Databases } from './database/shares.ts'
import { createAgentSockets, isAgentUpgrade } from './http/agents/sockets.ts'
import type { TrustedProxies } from './http/client.ts'
import type { CreateMeter } from './http/limits/meter.ts'
import type { Sockets } from './http/sockets.ts'
import { createDockerProvider } from './providers/docker/provider.ts'
import { readToolbox } from './providers/docker/toolbox.ts'
import { createFleet } from './providers/fleet.ts'
import { createSimulatedProvider } from './providers/simulated/provider.ts'
import { createSimulation } from './providers/simulated/simulation.ts'
import { createSimulatedWorld, type RunStatement } from './providers/simulated/world.ts'
import { agentServices } from './services/machines/agents/services.ts'
import { engineServices } from './services/machines/engines/engines.ts'
import type { Secrets } from './services/secrets.ts'

type MachineOptions = {
  databases: Pick<Databases, 'requests' | 'work'>
  secrets: Secrets
  log: Logger
  simulatedDelay: number
  toolboxFile: string
  gatewayUrl: string | null
  proxies: TrustedProxies
  meterOf: CreateMeter
}

export function createMachines(options: MachineOptions) {
  const { databases, secrets, log, simulatedDelay, toolboxFile, gatewayUrl, proxies, meterOf } = options
  const { now } = databases.work.clock
  const gatewayId = randomUUID()
  const queryOn =
    ({ pool }: Database): RunStatement =>
    async (text, values) =>
      (await pool.query({ text, values, rowMode: 'array' })).rows
  const engines = engineServices({ database: databases.work, secrets, log })
  const toolbox = () => readToolbox(toolboxFile)
  // Whoever reaches the port can ask these, so they take no connection of due work.
  const { findInvited, join, identify } = agentServices({ database: databases.requests, secrets, gatewayId })
  const services = { ...agentServices({ database: databases.work, secrets, gatewayId }), findInvited, join, identify }
  const agents = createAgents({ services, engines, readToolbox: toolbox, gatewayId, url: gatewayUrl, log })
  const agentSockets = createAgentSockets(agents.sockets, log, { proxies, meterOf })
  const provider = createFleet({
    engines,
    simulated: createSimulatedProvider({
      world: createSimulatedWorld(queryOn(databases.work)),
      now,
      delayFactor: simulatedDelay,
    }),
    docker: createDockerProvider({ engineOf: engines.of, readToolbox: toolbox, log, now }),
    agent: agents.provider,
  })
  return {
    gatewayId,
    engines,
    provider,
    agents,
    simulation: createSimulation(queryOn(databases.requests), engines),
    /** Sockets of hosts, and those of other clients. */
    withHosts: (others: Sockets): Sockets['upgrade'] => {
      return (...upgrade) => (isAgentUpgrade(upgrade[0]) ? agentSockets : others).upgrade(...upgrade)
    },
    /** Lets the hosts connect elsewhere, once what this gateway does with them is done. */
    async leaveHosts(done: Promise<unknown>): Promise<void> {
      agentSockets.stop()
      await done
      await agents.stop()
    },
  }
}
