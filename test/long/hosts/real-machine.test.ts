// Kills the engine of real machines, gateways, and the agent that serves one of the machines, in all combinations, while renters
// continue.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFailed, vi } from 'vitest'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { findDisagreements } from '../../support/crashes/containers.ts'
import {
  expectCommandsOnce,
  expectConsistentEvents,
  expectOneRentalPerKey,
  findUnsettledInstances,
} from '../../support/crashes/invariants.ts'
import { openRealSite, type RealSite, type Victim, victims } from '../../support/crashes/real-site.ts'
import { engineObstacle } from '../../support/engine/obstacle.ts'
import { expectConverged } from '../../support/instances/rental-invariants.ts'
import { createRenters } from '../../support/instances/renters.ts'
import { createSeededRandom, type SeededRandom } from '../../support/seeded-random.ts'

// ENGINE_CRASH_SEED repeats the actions of a run, but not how they interleave. The others set its length.
const seed = Number(process.env['ENGINE_CRASH_SEED'] ?? Date.now() % 2 ** 31)
const rounds = Number(process.env['ENGINE_CRASH_ROUNDS'] ?? 20)
const rentalsPerRound = Number(process.env['ENGINE_CRASH_RENTALS'] ?? 30)
const roundMs = 300_000
/** The instances of a dead gateway stay leased for 30 s, and a silent machine is retried once a minute. */
const settleTimeoutMs = 120_000

let site: RealSite

describe.skipIf(engineObstacle())('real machines', () => {
  beforeAll(async () => {
    site = await openRealSite()
  })
  afterAll(() => site?.stop())

  it(
    `agree with the database after each of ${rounds} kills amid ${rentalsPerRound} rentals`,
    async () => {
      process.stdout.write(
        `ENGINE_CRASH_SEED=${seed} ENGINE_CRASH_ROUNDS=${rounds} ENGINE_CRASH_RENTALS=${rentalsPerRound}\n`,
      )
      const { sql, fleet, renters, agent, engine } = site
      onTestFailed(() => {
        const warnings = fleet.logLinesFrom(40).slice(-30)
        process.stdout.write(`${warnings.map(line => JSON.stringify(line)).join('\n')}\n${agent.log()}\n`)
      })
      const random = createSeededRandom(seed)
      const { tiny } = engine.images
      const renterDriver = createRenters({ renters, pick: fleet.pickUrl, sql, images: [tiny, tiny, tiny, 'not/there'] })
      const turns = turnsOf(random.fork(), rounds)

      /** Ends when the victims are back and the renters have rented enough. */
      async function killAmidRentals(killed: readonly Victim[]): Promise<void> {
        const goal = renterDriver.counts.rentals + rentalsPerRound
        let [isKilled, hasFailed] = [false, false]
        const isOver = () => hasFailed || (isKilled && renterDriver.counts.rentals >= goal)
        const kill = async (random: SeededRandom) => {
          await sleep(random.between(500, 5_000))
          await site.kill(killed, random)
          isKilled = true
        }
        const loops = renters.flatMap(renter => [1, 2].map(() => renterDriver.run(random.fork(), renter, isOver)))
        await Promise.all([kill(random.fork()), ...loops]).catch(error => {
          hasFailed = true
          throw error
        })
      }

      for (const [round, killed] of turns.entries()) {
        const startedMs = performance.now()
        await killAmidRentals(killed)
        const rentedMs = performance.now()
        await agent.untilConnected()
        const restarts = await settle()
        // Containers of instances that are gone are removed when lists are compared, each 30 seconds.
        await expect.poll(() => findDisagreements(engine.folder, sql), { timeout: 60_000, interval: 500 }).toEqual([])
        // GPUs come free with the pass after a stop.
        for (const machineId of site.machineIds)
          await vi.waitFor(() => expectConverged(site, machineId), { timeout: 30_000, interval: 500 })
        const [rentSeconds, settleSeconds] = [rentedMs - startedMs, performance.now() - rentedMs].map(ms =>
          Math.round(ms / 1_000),
        )
        const about = {
          round: round + 1,
          killed: killed.join(' + '),
          rentSeconds,
          settleSeconds,
          restarts,
          ...(await count()),
        }
        process.stdout.write(`${JSON.stringify(about)}\n`)
      }

      process.stdout.write(`${JSON.stringify(renterDriver.counts)}\n`)
      expect(await fleet.stop()).toEqual([0, 0])
      expect(await agent.stop()).toBe(0)
      await expectOneRentalPerKey(sql, renterDriver.records)
      await expectCommandsOnce(sql, renterDriver.records)
      await expectConsistentEvents(sql)
      expect(await brokenLaws(sql)).toEqual([])
      expect(fleet.logLinesFrom(50)).toEqual([])
      expect(agent.errors()).toEqual([])
    },
    600_000 + rounds * roundMs,
  )
})

/** Waits until nothing is to be done. Returns how often the engine was restarted for that. */
async function settle(): Promise<number> {
  let restarts = 0
  const settled = async () => {
    const left = await findUnsettledInstances(site.sql)
    const isStuck = ({ reason_code, started_at, attempts }: Record<string, unknown>) =>
      reason_code === 'MACHINE_ERROR' && started_at !== null && Number(attempts) >= 4
    // As docs/hosts.md says: a killed engine keeps ports, and a container that has run cannot get others.
    if (restarts === 0 && left.length > 0 && left.every(isStuck)) {
      restarts += 1
      await site.engine.restartEngine()
    }
    return left
  }
  await expect.poll(settled, { timeout: settleTimeoutMs, interval: 250 }).toEqual([])
  return restarts
}

/** What is at rest now. */
async function count(): Promise<Record<string, unknown>> {
  const [row] = await site.sql(
    `SELECT count(*)::int AS rentals, (count(*) FILTER (WHERE machine_id = 2))::int AS "byAgent",
      (count(*) FILTER (WHERE status = 'running' AND destroyed_at IS NULL))::int AS running,
      (SELECT count(occupant_id)::int FROM gpus) AS "gpusInUse", (SELECT count(*)::int FROM events) AS events FROM instances`,
  )
  return row
}

/** Every combination of victims, in a random order, again and again. */
function turnsOf(random: SeededRandom, length: number): Victim[][] {
  const all = Array.from({ length: 2 ** victims.length - 1 }, (_, one) =>
    victims.filter((_, place) => ((one + 1) >> place) % 2 === 1),
  )
  const turns: Victim[][] = []
  for (; turns.length < length; ) {
    const left = [...all]
    for (; left.length > 0; ) turns.push(...left.splice(random.between(0, left.length - 1), 1))
  }
  return turns.slice(0, length)
}
