import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { createDueInstances } from '../../support/instances/due-instances.ts'

const clock = manualClock()
let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, now: clock.now, delayFactor: 0 })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const minutesToMs = (count: number) => count * 60_000
const timeAgo = (ms: number) => new Date(clock.now().getTime() - ms)

/** Clears the due instances of earlier tests. */
const clearDue = () => gateway.sql('UPDATE instance_looks SET due_at = NULL, leased_until = NULL')

/** Leases as a loop does that finishes all of its work before it leases again. */
async function leaseAll({
  concurrency,
  until,
  by = gateway,
}: {
  concurrency: number
  until: (lease: InstanceLease) => boolean
  by?: Gateway
}) {
  const rounds: InstanceLease[][] = []
  for (;;) {
    const leases = await by.reconciliation.leaseDue(concurrency, [])
    rounds.push(leases)
    const ids = leases.map(({ instanceId }) => String(instanceId))
    await by.sql('UPDATE instance_looks SET due_at = NULL, leased_until = NULL WHERE instance_id = ANY($1::bigint[])', [
      ids,
    ])
    if (leases.length === 0 || leases.some(until)) return rounds
  }
}

describe('an account with many due instances', () => {
  it.each([1, 8])('does not delay an account with one later instance, at concurrency %i', async concurrency => {
    await clearDue()
    const many = await createDueInstances(gateway, 2_000, timeAgo(minutesToMs(10)))
    const one = await createDueInstances(gateway, 1, timeAgo(1_000))
    const rounds = await leaseAll({ concurrency, until: ({ accountId }) => accountId === one.accountId })
    expect(rounds.length).toBeLessThanOrEqual(2)
    expect(rounds.flat().filter(({ accountId }) => accountId === many.accountId).length).toBeGreaterThan(0)
  })

  it('may use the whole concurrency while no other account has due work', async () => {
    await clearDue()
    await createDueInstances(gateway, 200, timeAgo(minutesToMs(10)))
    const busy: InstanceLease[] = []
    for (const limit of [8, 4, 1]) {
      const leases = await gateway.reconciliation.leaseDue(limit, busy)
      expect(leases.length).toBe(limit)
      busy.push(...leases)
    }
    expect(new Set(busy.map(({ instanceId }) => instanceId)).size).toBe(busy.length)
  })

  it('with at least half of the slots gets another only when no other account has due work', async () => {
    await clearDue()
    const many = await createDueInstances(gateway, 200, timeAgo(minutesToMs(10)))
    const busy = await gateway.reconciliation.leaseDue(7, [])
    const few = await createDueInstances(gateway, 1, timeAgo(1_000))
    const [next, ...more] = await gateway.reconciliation.leaseDue(1, busy)
    expect([next?.accountId, more.length]).toEqual([few.accountId, 0])
    const [last] = await gateway.reconciliation.leaseDue(1, busy)
    expect(last?.accountId).toBe(many.accountId)
  })

  it('with half of the slots is passed over, even in its turn', async () => {
    await clearDue()
    const many = await createDueInstances(gateway, 200, timeAgo(minutesToMs(10)))
    const few = await createDueInstances(gateway, 1, timeAgo(1_000))
    const fresh = openGateway({ url: database.url, now: clock.now, delayFactor: 0 })
    // A new gateway begins with the oldest account.
    expect(many.accountId).toBeLessThan(few.accountId)
    const busy = await gateway.reconciliation.leaseDue(1, [])
    expect(busy[0]?.accountId).toBe(many.accountId)
    const [next] = await fresh.reconciliation.leaseDue(1, busy)
    expect(next?.accountId).toBe(few.accountId)
    await fresh.close()
  })

  it('waits for its turn while it has more running work than an account with few due instances', async () => {
    await clearDue()
    const some = await createDueInstances(gateway, 20, timeAgo(minutesToMs(10)))
    const busy = await gateway.reconciliation.leaseDue(7, [])
    const few = await createDueInstances(gateway, 2, timeAgo(1_000))
    const leases = await gateway.reconciliation.leaseDue(3, busy)
    expect(leases.map(({ accountId }) => accountId).toSorted()).toEqual(
      [some, few, few].map(a => a.accountId).toSorted(),
    )
  })
})

it('serves each of many accounts in every round, and leases all due work', async () => {
  await clearDue()
  const accountIds: number[] = []
  for (let index = 0; index < 12; index += 1) {
    const { accountId } = await createDueInstances(gateway, 20, timeAgo(minutesToMs(20 - index)))
    accountIds.push(accountId)
  }
  const order = (await leaseAll({ concurrency: 1, until: () => false })).flat().map(({ accountId }) => accountId)
  expect(order.length).toBe(12 * 20)
  // In later rounds, too few instances are due for accounts to take turns.
  for (let round = 0; round < 14; round += 1) {
    expect(new Set(order.slice(round * 12, round * 12 + 12))).toEqual(new Set(accountIds))
  }
})

it('shares due work between two gateways that lease at once', async () => {
  await clearDue()
  const { ids } = await createDueInstances(gateway, 100, timeAgo(minutesToMs(10)))
  const other = openGateway({ url: database.url, now: clock.now, delayFactor: 0 })
  const rounds = await Promise.all(
    Array.from({ length: 6 }, (_, index) => (index % 2 ? other : gateway).reconciliation.leaseDue(8)),
  )
  await other.close()
  const taken = rounds.flat().map(({ instanceId }) => instanceId)
  expect(rounds.map(({ length }) => length)).toEqual(rounds.map(() => 8))
  expect(new Set(taken).size).toBe(48)
  expect(ids).toEqual(expect.arrayContaining(taken))
})
