// The primary of a cluster dies, hangs or hands its role on, and a standby takes its place, while renters and readers continue.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import {
  expectCommandsOnce,
  expectConsistentEvents,
  expectMachinesMatchDesired,
  expectOneRentalPerKey,
  findUnsettledInstances,
} from '../../support/crashes/invariants.ts'
import { urlAs } from '../../support/database/roles.ts'
import type { Reader } from '../../support/events/readers.ts'
import { createClient } from '../../support/failover/client.ts'
import type { Cluster } from '../../support/failover/cluster.ts'
import { failoverObstacle } from '../../support/failover/programs.ts'
import { type FailoverSite, openSite } from '../../support/failover/site.ts'
import { runStorm } from '../../support/failover/storm.ts'
import { expectConverged, expectInvariants } from '../../support/instances/rental-invariants.ts'

// FAILOVER_SEED repeats the commands of a run, but not how they interleave.
const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31)
/** From the first write that the new primary accepts. */
const recoveryMs = 10_000
const machineIds = [1, 2, 3]

const obstacle = failoverObstacle()
if (obstacle) process.stdout.write(`No fail-over was tried: ${obstacle}.\n`)

describe.skipIf(obstacle)('a cluster that replicates synchronously', () => {
  let site: FailoverSite

  beforeAll(async () => {
    const env = ({ replicasUrl }: Cluster) => ({ DATABASE_REPLICA_URL: urlAs('app', replicasUrl) })
    site = await openSite({ synchronous: true, machines: machineIds.length, env })
  })
  afterAll(() => site?.close())

  it('loses nothing that was acknowledged, and gateways recover by themselves', async () => {
    process.stdout.write(`FAILOVER_SEED=${seed}\n`)
    const { fleet, renters, sql } = site
    const { driver, readers, grants, recoveries, random } = await runStorm(site, seed)
    await expect.poll(() => findUnsettledInstances(sql), { timeout: 120_000, interval: 250 }).toEqual([])
    for (const renter of renters) await driver.register(random, renter, aPublicKey(`of ${renter.accountId}`))
    await Promise.all(readers.map(({ waitForEvent }) => waitForEvent('SSH_KEY_CREATED')))
    await Promise.all(readers.map(({ close }) => close()))
    const received = readers.reduce((sum, { ids }) => sum + ids.length, 0)
    const expired = readers.map(reader => reader.expired)
    const figures = { ...driver.counts, grants: grants.acknowledged.length, received, expired }
    process.stdout.write(`${JSON.stringify({ ...recoveries, ...figures })}\n`)

    for (const { gatewaysMs } of Object.values(recoveries))
      expect(Math.max(...gatewaysMs), 'milliseconds until gateways wrote again').toBeLessThan(recoveryMs)
    for (const machineId of machineIds) {
      await expectInvariants({ sql }, machineId, new Date())
      await expectConverged({ sql }, machineId)
    }
    await expectMachinesMatchDesired(sql)
    await expectOneRentalPerKey(sql, driver.records)
    await expectCommandsOnce(sql, driver.records)
    await expectConsistentEvents(sql)
    expect(await grants.findLost(), 'grants that were acknowledged and are not in the ledger once').toEqual([])
    expect(await brokenLaws(sql)).toEqual([])
    for (const reader of readers) await expectOnlyWhatIsKept(reader)
    await expectStaleReads()
    expect(await fleet.stop()).toEqual([0, 0])
    expect(fleet.logLinesFrom(50).filter(({ msg }) => !msg.includes('accepts no writes'))).toEqual([])
  })

  /** Each gateway reads offers from a standby again, whichever HAProxy leads it to. */
  async function expectStaleReads(): Promise<void> {
    for (const url of site.fleet.urls()) {
      const { ask } = createClient(url, site.renters[0]?.apiKey ?? '')
      const staleness = async () => (await ask('{ offers(first: 1) { nodes { id } } }')).extensions?.['staleness']
      await expect.poll(staleness, { timeout: 30_000 }).toMatchObject({ seconds: expect.any(Number) })
    }
  }

  /** Each change of the primary ends a reader's cursor, so it gets no event twice, and none that was lost. */
  async function expectOnlyWhatIsKept({ ids, expired }: Reader): Promise<void> {
    const kept = await site.sql('SELECT id FROM events WHERE id = ANY($1)', [ids.map(String)])
    expect(kept.length).toBe(ids.length)
    expect(new Set(ids).size).toBe(ids.length)
    expect(expired).toBeGreaterThanOrEqual(1)
  }
})
