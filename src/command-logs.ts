// Lets a command read the log of a container. No host connects to a command, so it asks the gateway that has the connection.

import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { Database } from './database/client.ts'
import { noProxies } from './http/client.ts'
import { createMeters } from './http/limits/meter.ts'
import { createMachines } from './machines.ts'
import { createConsole } from './providers/console.ts'
import type { ContainerConsole } from './services/container-console.ts'
import type { Secrets } from './services/secrets.ts'

/** Whether a gateway has answered is looked up at this interval: nothing tells a command. */
const lookMs = 100

type LogDeps = Pick<Config, 'simulatedDelay' | 'toolboxFile'> & {
  database: Database
  log: Logger
}

export function createLogReader(deps: LogDeps): (secrets: Secrets) => ContainerConsole['logs'] {
  const { database, log, simulatedDelay, toolboxFile } = deps
  return secrets =>
    async (...args) => {
      const databases = { requests: database, work: database }
      const noLimits = { proxies: noProxies, meterOf: createMeters({ keyPointsPerSecond: 0, now: database.clock.now }) }
      const machine = { secrets, log, simulatedDelay, toolboxFile, gatewayUrl: null }
      const { agents, provider } = createMachines({ databases, ...machine, ...noLimits })
      const looking = setInterval(agents.wake, lookMs)
      try {
        return await createConsole(provider, log).logs(...args)
      } finally {
        clearInterval(looking)
        await agents.stop()
      }
    }
}
