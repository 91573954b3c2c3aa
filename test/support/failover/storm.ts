// Renters, readers and an operator who continue while a cluster loses its primary.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Reader, startReader } from '../events/readers.ts'
import { createRenters } from '../instances/renters.ts'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { startGrants } from './grants.ts'
import { measureRecovery, type Recovery } from './recovery.ts'
import type { FailoverSite } from './site.ts'

/** How long all is well before and after each loss. */
const loadMs = 5_000

/** Kills the primary, lets it come back as a standby, freezes the next one, and hands the role on. The readers are still open afterwards. */
export async function runStorm(site: FailoverSite, seed: number) {
  const { cluster, fleet, renters, probe, sql } = site
  const random = createSeededRandom(seed)
  const driver = createRenters({ renters, pick: fleet.pickUrl, sql })
  const readers = await startReaders(site, random)
  let isOver = false
  const grants = startGrants(site, () => isOver)
  const load = renters.flatMap(renter => [1, 2, 3].map(() => driver.run(random.fork(), renter, () => isOver)))
  const loaded = Promise.all([grants.done, ...load])
  const recoveries: Record<string, Recovery> = {}

  async function measure(what: string, lose: () => Promise<unknown>): Promise<void> {
    await sleep(loadMs)
    const old = await cluster.primary()
    await lose()
    recoveries[what] = await measureRecovery({ cluster, old, urls: fleet.urls(), apiKey: probe.apiKey })
    await cluster.untilComplete()
    await sleep(loadMs)
  }

  async function loseThrice(): Promise<void> {
    const first = await cluster.primary()
    await measure('killed', first.kill)
    first.start()
    await cluster.untilComplete()
    const second = await cluster.primary()
    await measure('frozen', async () => second.freeze())
    await second.reset()
    await cluster.untilComplete()
    await measure('switched over', cluster.switchOver)
  }

  await Promise.race([loseThrice(), loaded.then(() => Promise.reject(new Error('The load ended early.')))])
  isOver = true
  await loaded
  return { driver, readers, grants, recoveries, random }
}

async function startReaders({ renters, fleet }: FailoverSite, random: SeededRandom): Promise<Reader[]> {
  const readers: Reader[] = []
  for (const renter of renters) {
    for (const transport of ['sse', 'websocket'] as const)
      readers.push(
        await startReader({ renter, transport, chance: random.fork(), pick: fleet.pickUrl, mayExpire: true }),
      )
  }
  return readers
}
