// Checks that the amounts that an account reads agree with each other at any instant, even with work pending.

import { expect } from 'vitest'
import { parseUsd } from '../../../src/domain/money.ts'
import type { TestAccount } from '../accounts/accounts.ts'
import type { TestApp } from '../app.ts'

const query = `query ($from: DateTime!, $to: DateTime!) {
  viewer {
    account {
      credit costPerHour
      usage(startsAt: $from, endsAt: $to, bucket: MONTH, groupBy: [INSTANCE]) { cost totals { keys { value } cost } }
    }
  }
  instances(first: 100) { totalCount nodes { id accruedCost costPerHour } }
  volumes(first: 100) { nodes { pricePerHour } }
}`
/** Contains every instant of a test. */
const wholeTest = { from: '2026-10-01T00:00:00Z', to: '2028-10-01T00:00:00Z' }

type Figures = { id: string; accruedCost: string; costPerHour: string }
type Group = { keys: { value: string | null }[]; cost: string }

export async function checkFigures(app: TestApp, { id, key }: TestAccount, story: string): Promise<void> {
  const { data, errors } = await app.graphql(key, query, wholeTest)
  expect(errors, story).toBeUndefined()
  const { viewer, instances, volumes } = data as {
    viewer: { account: { credit: string; costPerHour: string; usage: { cost: string; totals: Group[] } } }
    instances: { nodes: Figures[] }
    volumes: { nodes: { pricePerHour: string }[] }
  }
  const [row] = (await app.sql(`
    SELECT (SELECT coalesce(sum(amount_nanos), 0) FROM ledger_entries
      WHERE account_id = ${id} AND kind IN ('top_up', 'adjustment'))::text AS given,
      (SELECT count(*)::int FROM meters WHERE account_id = ${id} AND rate_nanos > 0) AS running`)) as {
    given: string
    running: number
  }[]
  const { given, running } = row as { given: string; running: number }
  const rest = BigInt(given) - nanosOf(viewer.account.usage.cost) - nanosOf(viewer.account.credit)
  // Each running meter has used a part of a nano-dollar.
  expect(Math.abs(Number(rest)), `${story}: credit equals grants less usage`).toBeLessThanOrEqual(running)
  const burn = [...instances.nodes.map(({ costPerHour }) => costPerHour), ...volumes.nodes.map(one => one.pricePerHour)]
  expect(total(burn), `${story}: burn rate of the account`).toBe(nanosOf(viewer.account.costPerHour))
  for (const { id: instance, accruedCost } of instances.nodes) {
    const used = nanosOf(viewer.account.usage.totals.find(({ keys }) => keys[0]?.value === instance)?.cost ?? '0')
    expect(nanosOf(accruedCost), `${story}: accrued cost of ${instance}`).toBe(used)
  }
}

const nanosOf = (amount: string) => parseUsd(amount) as bigint
const total = (amounts: string[]) => amounts.reduce((sum, amount) => sum + nanosOf(amount), 0n)

/**
 * Call this when no work is due. Every running instance must pay, unless it is about to stop, its machine is out of
 * reach, or the clock stepped back before the pass that its last command made due. Returns the number of running
 * instances.
 */
export async function checkRunning(app: TestApp, story: string): Promise<number> {
  const running = (await app.sql(`
    SELECT i.id, m.rate_nanos > 0 AND (m.ends_at IS NULL OR m.ends_at > '${app.clock.now().toISOString()}')
      AND NOT EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id) AS is_paid
    FROM instances i JOIN instance_looks l ON l.instance_id = i.id JOIN meters m ON m.instance_id = i.id AND m.kind = 'gpu'
    WHERE i.target_state = 'running' AND i.status = 'running' AND i.destroyed_at IS NULL
    AND NOT (l.due_at > '${app.clock.now().toISOString()}' AND EXISTS (
      SELECT FROM events e WHERE e.instance_id = i.id AND e.created_at = l.due_at))
    AND i.unreachable_at IS NULL AND m.stop_reason IS NULL AND i.num_gpus = (
      SELECT count(*) FROM gpus g WHERE g.machine_id = i.machine_id AND g.holder_id = i.id)`)) as { is_paid: boolean }[]
  const free = running.filter(({ is_paid }) => !is_paid)
  expect(free, `${story}: instance runs without charge`).toEqual([])
  return running.length
}
