// Agents of simulated hosts in a process of their own.

import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningProgram, spawnProgram } from '../processes/programs.ts'

export type HostProcess = RunningProgram & {
  /** How often one of them was connected. */
  connections(): number
}

type HostOptions = { gateway: string; keys: string[]; database: string; delay?: number }

/** Starts the agents, and waits until all are connected. */
export async function startHosts({ gateway, keys, database, delay = 0 }: HostOptions): Promise<HostProcess> {
  const env = { GATEWAY_URL: gateway, HOST_KEYS: keys.join(), DATABASE_URL: database, SIMULATED_DELAY: String(delay) }
  const program = spawnProgram('test/support/machines/simulated-hosts.ts', [], env)
  const connections = () => program.output().split('connected').length - 1
  for (let tries = 0; connections() < keys.length; tries += 1) {
    if (tries === 600 || program.child.exitCode !== null)
      throw new Error(`Hosts are not connected: ${program.errors()}`)
    await sleep(50)
  }
  return { ...program, connections }
}
