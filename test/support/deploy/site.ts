// Gateways of several versions on one database, behind a balancer and under load.

import { expect } from 'vitest'
import { createDatabase } from '../database/database.ts'
import { createBalancer } from '../processes/balancer.ts'
import { type GatewayProcess, makeDataDir, spawnProgram, startGateway } from '../processes/programs.ts'
import { startRenters } from './load.ts'
import type { Version } from './versions.ts'

/** Enough for each version to serve many requests of every kind before the next step. */
const requestsPerStep = 200
const slowly = { timeout: 120_000, interval: 100 }

export type Site = Awaited<ReturnType<typeof openSite>>

export async function openSite() {
  const database = await createDatabase({ empty: true })
  const { dataDir, remove } = await makeDataDir()
  const env = {
    ...{ BERTH_DATA_DIR: dataDir, DATABASE_URL: database.url, BERTH_SECRET: 'a secret of these tests' },
    // The balancer looks every 200 ms. The rest is for a machine that stands still for a while.
    ...{ SIMULATED_DELAY: '0', DRAIN_SECONDS: '3', RATE_LIMIT_POINTS_PER_SECOND: '0' },
  }
  const balancer = createBalancer()
  const gateways = new Set<GatewayProcess>()
  const loads: ReturnType<typeof startRenters>[] = []

  const stop = async (gateway: GatewayProcess) => {
    gateway.child.kill('SIGTERM')
    expect(await gateway.exit, gateway.errors()).toBe(0)
    balancer.remove(gateway)
    gateways.delete(gateway)
  }
  return {
    async start({ folder }: Version): Promise<GatewayProcess> {
      const gateway = await startGateway(env, { folder })
      gateways.add(gateway)
      balancer.add(gateway)
      await expect.poll(balancer.readyUrls, slowly).toContain(gateway.url)
      return gateway
    },
    stop,
    /** Starts a gateway that refuses to start, and returns what it says beside its log. */
    async refusal({ folder }: Version): Promise<string> {
      const gateway = spawnProgram('src/main.ts', [], { ...env, PORT: '0' }, { folder })
      expect(await gateway.exit).toBe(1)
      return gateway.errors().replaceAll(/^\{.*\n/gm, '')
    },
    /** Runs a command, and returns what it prints. */
    async command({ folder }: Version, ...args: string[]) {
      const command = spawnProgram('src/cli.ts', args, env, { folder })
      expect(await command.exit, command.errors()).toBe(0)
      return JSON.parse(command.output())
    },
    startRenters: (keys: string[]) => {
      const renters = startRenters(balancer.send, keys)
      loads.push(renters)
      return {
        ...renters,
        /** Waits until the gateways that run now have answered many requests. */
        async serve(): Promise<void> {
          const before = renters.soFar()
          await expect.poll(renters.soFar, slowly).toBeGreaterThan(before + requestsPerStep)
        },
      }
    },
    async close(): Promise<void> {
      await Promise.all(loads.map(load => load.stop()))
      for (const gateway of [...gateways]) {
        gateway.child.kill('SIGKILL')
        await gateway.exit
      }
      balancer.close()
      await database.drop()
      await remove()
    },
  }
}
