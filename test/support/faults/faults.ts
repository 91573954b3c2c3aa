// The faults of the suite. Each heals what it broke before it returns.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { SeededRandom } from '../seeded-random.ts'
import { fillDisk } from './full-disk.ts'
import type { Site } from './site.ts'
import type { createWebhookCounter } from './webhook-counter.ts'

export type FaultSite = Site & { webhooks: Awaited<ReturnType<typeof createWebhookCounter>> }
type Fault = (site: FaultSite, random: SeededRandom) => Promise<unknown>

const seconds = (random: SeededRandom, least: number, most: number) =>
  sleep(random.between(least * 1_000, most * 1_000))
const anyProxy = ({ proxies }: FaultSite, random: SeededRandom) => random.pick(proxies) as FaultSite['proxies'][number]
/** Cuts connections as a failing switch does, except those of starting gateways, which would give up. */
const terminateSql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND application_name ~ '^berth (\\d{14}|wake-ups)$'`

async function setClockAround(site: FaultSite, ahead: number, meanwhile: () => Promise<unknown>): Promise<void> {
  await site.server.withClock(async () => {
    await site.setDatabaseClock(ahead)
    await meanwhile().finally(() => site.setDatabaseClock(0))
    // The gateways see it set back by the clock itself, not by a restart alone.
    await sleep(2_000)
  })
}

export const faults: Record<string, Fault> = {
  'kill a gateway': ({ fleet }, random) => fleet.killAndReplace(random),
  'kill all gateways': ({ fleet }) => fleet.killAndReplaceAll(async () => {}),
  'stop a gateway': async ({ fleet }, random) => expect(await fleet.stopAndReplace(random)).toBe(0),
  'a gateway stands still': ({ fleet }, random) => fleet.pause(random, () => seconds(random, 2, 8)),
  'restart the database at once': async ({ server }) => {
    await server.stop('immediate')
    await server.start()
  },
  'restart the database in order': async ({ server }) => {
    await server.stop('fast')
    await server.start()
  },
  'the database is down': async ({ server }, random) => {
    await server.stop('immediate')
    await seconds(random, 2, 8)
    await server.start()
  },
  'kill a gateway while the database restarts': async ({ server, fleet }, random) => {
    await server.stop('immediate')
    await fleet.killAndReplaceAll(() => server.start())
    await fleet.killAndReplace(random)
  },
  'the database stands still': ({ server }, random) => server.pause(() => seconds(random, 2, 6)),
  'cut connections to the database': async ({ sql }, random) => {
    for (let cut = 0; cut < 5; cut += 1) {
      await sql(terminateSql)
      await sleep(random.between(50, 700))
    }
  },
  'cut the network of a gateway': async (site, random) => {
    const proxy = anyProxy(site, random)
    proxy.cut()
    await seconds(random, 1, 4)
    proxy.heal()
  },
  'cut the network of all gateways': async ({ proxies }, random) => {
    for (const proxy of proxies) proxy.cut()
    await seconds(random, 1, 4)
    for (const proxy of proxies) proxy.heal()
  },
  'a black hole before the database': async (site, random) => {
    const proxy = anyProxy(site, random)
    proxy.freeze()
    await seconds(random, 4, 12)
    proxy.heal()
  },
  'a slow network': async (site, random) => {
    const proxy = anyProxy(site, random)
    proxy.delay(random.between(20, 150))
    await seconds(random, 3, 8)
    proxy.delay(0)
  },
  'set the clock of a gateway': async ({ clocks }, random) => await clocks?.jump(random),
  'webhooks are refused': ({ webhooks }, random) => webhooks.fail(503, () => seconds(random, 2, 5)),
  'webhooks get no answer': ({ webhooks }, random) => webhooks.fail('silent', () => seconds(random, 2, 12)),
  'kill a gateway while webhooks get no answer': ({ webhooks, fleet }, random) =>
    webhooks.fail('silent', async () => {
      await sleep(1_000)
      await fleet.killAndReplace(random)
    }),
}

/** For a server that has a disk of its own. */
export const diskFaults: Record<string, Fault> = {
  'the disk of the database is full': (site, random) => fillDisk(site, random, () => seconds(random, 1, 4)),
  'the disk of the database is full, so that it crashes': (site, random) =>
    fillDisk(site, random, async () => {
      await site.server.exhaustWal()
      await seconds(random, 1, 4)
    }),
}

/** They leave meters that were charged ahead, so that two accounts may pay for a GPU at an instant that came twice. */
export const clockFaults: Record<string, Fault> = {
  'set the clock of the database an hour ahead': (site, random) =>
    setClockAround(site, 3_600, () => seconds(random, 2, 6)),
  'set the clock of the database two hours back': (site, random) =>
    setClockAround(site, -7_200, () => seconds(random, 2, 6)),
  'kill gateways while the clock of the database is an hour ahead': (site, random) =>
    setClockAround(site, 3_600, async () => {
      await seconds(random, 2, 4)
      await site.fleet.killAndReplace(random)
    }),
  'kill all gateways while the clock of the database is set back': (site, random) =>
    setClockAround(site, 3_600, async () => {
      await seconds(random, 2, 4)
      await site.fleet.killAndReplaceAll(() => site.setDatabaseClock(0))
    }),
  'set the clock of the database back by an hour': (site, random) =>
    setClockAround(site, -3_600, async () => {
      await seconds(random, 1, 3)
      await site.fleet.killAndReplace(random)
    }),
}
