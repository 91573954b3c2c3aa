// What must hold after every fault, and when everything has come to rest.

import { expect } from 'vitest'
import { brokenLaws } from '../billing/ledger-laws.ts'
import {
  expectCommandsOnce,
  expectConsistentEvents,
  expectMachinesMatchDesired,
  expectOneRentalPerKey,
} from '../crashes/invariants.ts'
import { expectConverged, expectInvariants } from '../instances/rental-invariants.ts'
import type { CommandRecord } from '../instances/renters.ts'
import { machineIds, type Site } from './site.ts'

type Reboots = ReadonlyMap<string, number>

/** After a clock was set back, an instant comes twice: another account may pay for a GPU that was charged ahead. */
const sharedGpuLaw = 'no GPU is charged to two instances at one instant'

export async function recountMoney({ sql, clockSets }: Site): Promise<void> {
  const broken = await brokenLaws(sql)
  expect(clockSets() > 0 ? broken.filter(law => !law.startsWith(sharedGpuLaw)) : broken, 'money').toEqual([])
  const negative = await sql(`SELECT id FROM ledger_entries WHERE kind IN ('gpu', 'disk') AND amount_nanos > 0`)
  expect(negative, 'charges below zero').toEqual([])
}

/** No meter is charged for more time than passed since it began, by the right clock and by what the clock was ahead. */
export async function recountTime({ sql }: Site, aheadSeconds: number): Promise<void> {
  const rows = await sql(
    `SELECT meter_id FROM ledger_entries e JOIN meters m ON m.id = e.meter_id WHERE e.kind IN ('gpu', 'disk') GROUP BY meter_id, m.began_at
    HAVING sum(period_end - period_start) > clock_timestamp() - m.began_at + $1 * interval '1 second'`,
    [aheadSeconds],
  )
  expect(rows, 'meters that were charged for too much time').toEqual([])
}

/** One holder and one user for each GPU, and room for what is rented. */
export async function recountGpus(site: Site): Promise<void> {
  for (const machineId of machineIds) await expectInvariants(site, machineId, await site.now())
}

export async function recountEverything(site: Site, records: CommandRecord[], reboots: Reboots): Promise<void> {
  const { sql } = site
  await recountMoney(site)
  await recountGpus(site)
  for (const machineId of machineIds) await expectConverged(site, machineId)
  await expectMachinesMatchDesired(sql)
  await expectOneRentalPerKey(sql, records)
  await expectCommandsOnce(sql, records)
  await expectConsistentEvents(sql)
  await expectRebootsOnce(site, reboots)
}

/** A reboot that was accepted while another was under way has no event of its own. */
async function expectRebootsOnce({ sql }: Site, accepted: Reboots): Promise<void> {
  const rows = await sql(
    `SELECT instance_id, count(*)::int AS count FROM events WHERE kind = 'INSTANCE_REBOOTED' GROUP BY 1`,
  )
  expect(
    rows.filter(row => (row['count'] as number) > (accepted.get(String(row['instance_id'])) ?? 0)),
    'instances that rebooted more often than asked',
  ).toEqual([])
}
