// A computer that joins the market with its own engine, as the operator's commands use it.

import { join } from 'node:path'
import type { Logger } from 'pino'
import { warningsOf } from '../domain/machines/inspection.ts'
import { inspectEngine } from '../providers/docker/inspection/engine-facts.ts'
import { findFirewallGaps } from '../providers/docker/inspection/firewall.ts'
import { createDockerProvider } from '../providers/docker/provider.ts'
import { runAgent } from './agent.ts'
import { chooseHost } from './choose-key.ts'
import { readGpus } from './gpus.ts'
import { joinHost } from './join.ts'
import type { KeptHost } from './key-file.ts'
import { openPorts } from './ports.ts'
import { measureSpeeds } from './speed.ts'
import { createToolboxReader } from './toolbox.ts'

export type HostDeps = { folder: string; version: string; log: Logger; signal: AbortSignal }
export type Host = ReturnType<typeof createHost>

export function createHost({ folder, version, log, signal }: HostDeps) {
  const toolboxOf = ({ gateway, key }: KeptHost) =>
    createToolboxReader({ file: join(folder, 'toolbox.tar'), gateway, key })

  async function serve(host: KeptHost): Promise<void> {
    const { gateway, key, engine: url } = host
    const readToolbox = toolboxOf(host)
    await runAgent({
      ...{ gateway, key, version, log, signal },
      createProvider: engineNow =>
        createDockerProvider({
          engineOf: async () => ({ ...engineNow(), url, tls: null }),
          readToolbox,
          log,
          now: () => new Date(),
        }),
    })
  }

  return {
    async join(options: { gateway: string; token: string; engine: string }): Promise<void> {
      const inspect = (url: string) => inspectEngine({ url, tls: null })
      const joined = await joinHost({ ...options, folder, inspect, readGpus, openPorts, measureSpeeds })
      const { machineId, facts, warnings: said, ...host } = joined
      log.info({ machineId }, 'This computer has joined. From now on, "host run" connects it.')
      const gaps = await findFirewallGaps({ url: host.engine, tls: null }, toolboxOf(host))
      const warnings = [...said, ...warningsOf(facts), ...gaps]
      for (const warning of warnings) log.warn(warning)
      await serve(host)
    },
    run: async (): Promise<void> => await serve(await chooseHost(folder)),
  }
}
