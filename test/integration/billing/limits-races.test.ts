// Spend limits hold for simultaneous requests through several gateways.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import type { SpendWindow } from '../../../src/domain/billing/spend-limit.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { usageSelect } from '../../../src/services/billing/limits/limits.ts'
import { performDueBilling } from '../../support/billing/due.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateways: [Gateway, Gateway]
let first: Gateway

beforeAll(async () => {
  testDatabase = await createDatabase()
  const { now } = clock
  first = openGateway({ url: testDatabase.url, now })
  gateways = [first, openGateway({ url: testDatabase.url, now })]
})

afterAll(async () => {
  for (const gateway of gateways) await gateway.close()
  await testDatabase.drop()
})

const limit = (actor: Actor, amountNanos: bigint, apiKeyId: bigint | null = null, window: SpendWindow = 'hour') =>
  first.services.billing.createSpendLimit(actor, { apiKeyId, window, amountNanos, action: 'block_new' }, usageSelect)

/** An account with a second API key. */
async function createRenter(): Promise<{ owner: Actor; worker: Actor }> {
  const owner = await first.newActor()
  const { apiKey } = await first.services.apiKeys.create(owner, { fullAccess: true }, { id: true, publicId: true })
  return { owner, worker: { ...owner, apiKeyId: apiKey.id, publicId: apiKey.publicId } }
}

async function newOffers(count: number): Promise<bigint[]> {
  await listMachines(
    first.operations,
    Array.from({ length: count }, () => ({})),
  )
  const rows = await first.sql('SELECT id FROM offers ORDER BY machine_id DESC LIMIT $1', [count])
  return rows.map(({ id }) => BigInt(id as string))
}

/** Runs all requests at once, each through the next gateway, and counts their outcomes. */
async function atOnce(asks: ((gateway: Gateway) => Promise<unknown>)[]) {
  const requests = asks.map((ask, index) => ask(gateways[index % 2] as Gateway).then(() => 'done'))
  const outcomes = await Promise.all(requests.map(one => one.catch((error: DomainError) => error.code)))
  const refused = outcomes.filter(outcome => outcome === 'SPEND_LIMIT_EXCEEDED').length
  return { done: outcomes.filter(outcome => outcome === 'done').length, refused }
}

const used = async (actor: Actor) => {
  const { billing } = first.services
  const [usage] = (await billing.limitUsage(actor, await billing.spendLimits(actor, usageSelect))).values()
  return usage?.usedNanos
}

// An instance costs $0.404 an hour.
describe('twelve simultaneous requests against a limit that allows five', () => {
  it.each(['the account', 'a key'])('rent five instances with a limit of %s', async whose => {
    const { owner, worker } = await createRenter()
    await limit(owner, 2_020_000_000n, whose === 'a key' ? BigInt(worker.apiKeyId) : null)
    const offers = await newOffers(12)
    const outcome = await atOnce(offers.map(offer => gateway => gateway.rent(worker, offer)))
    expect(outcome).toEqual({ done: 5, refused: 7 })
    expect(await used(owner)).toBe(2_020_000_000n)
    const left = await first.sql('SELECT count(*)::int FROM offers WHERE id = ANY($1) AND rentable', [
      offers.map(String),
    ])
    expect(left).toEqual([{ count: 7 }])
  })

  it('start five instances, alone or in pairs', async () => {
    const { owner, worker } = await createRenter()
    const rented = await Promise.all(
      (await newOffers(12)).map(offer => first.rent(worker, offer, { launch: { targetState: 'stopped' } })),
    )
    // Twelve disks, and five running instances.
    await limit(owner, 2_048_000_000n)
    const start = (ids: bigint[]) => (gateway: Gateway) =>
      gateway.services.instances.update(worker, { ids }, { targetState: 'running' })
    const ids = rented.map(({ id }) => id)
    const pairs = Array.from({ length: 3 }, (_, index) => ids.slice(index * 2, index * 2 + 2))
    await atOnce([...pairs.map(start), ...ids.slice(6).map(id => start([id]))])
    expect(await used(owner)).toBeLessThanOrEqual(2_048_000_000n)
    // A pair that was refused may contain an instance that fits alone.
    await atOnce(ids.map(id => start([id])))
    expect(await used(owner)).toBe(2_048_000_000n)
  })

  it('never exceed the limit together when they rent, start, create volumes and raise bids', async () => {
    const { owner, worker } = await createRenter()
    const offers = await newOffers(9)
    const stopped = await Promise.all(
      offers.slice(0, 3).map(offer => first.rent(worker, offer, { launch: { targetState: 'stopped' } })),
    )
    const terms = { interruptible: true, bidNanos: 250_000_000n } as const
    const bidders = await Promise.all(offers.slice(3, 6).map(offer => first.rent(worker, offer, { terms })))
    const before = await first.sql('SELECT machine_id FROM offers WHERE id = ANY($1)', [offers.slice(6).map(String)])
    const most = 3n * 4_000_000n + 3n * 254_000_000n + 1_000_000_000n
    await limit(owner, most)
    await atOnce([
      ...offers.slice(6).map(offer => (gateway: Gateway) => gateway.rent(worker, offer)),
      ...stopped.map(
        ({ id }) =>
          (gateway: Gateway) =>
            gateway.services.instances.update(worker, { ids: [id] }, { targetState: 'running' }),
      ),
      ...bidders.map(
        ({ id }) =>
          (gateway: Gateway) =>
            gateway.services.instances.updateBid(worker, id, 600_000_000n),
      ),
      ...before.map(
        ({ machine_id }) =>
          (gateway: Gateway) =>
            gateway.services.volumes.create(worker, { machineId: machine_id as number, sizeGb: 300 }),
      ),
    ])
    expect(await used(owner)).toBeLessThanOrEqual(most)
    expect(await used(owner)).toBeGreaterThan(most - 400_000_000n)
  })
})

describe('a limit that is set during another request', () => {
  it('counts earlier rentals and refuses later rentals', async () => {
    const { owner, worker } = await createRenter()
    const [one, other] = (await newOffers(2)) as [bigint, bigint]
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('UPDATE accounts SET billing_due_at = NULL WHERE id = $1', [owner.accountId])
      const refusal = expect(first.rent(worker, one)).rejects.toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' })
      await waitUntilBlocksOthers(session)
      await session.query(
        `INSERT INTO spend_limits (account_id, "window", amount_nanos, action, created_at, updated_at)
        VALUES ($1, 'hour', 1, 'block_new', now(), now())`,
        [owner.accountId],
      )
      await session.query('COMMIT')
      await refusal
    })
    const [set] = await first.services.billing.spendLimits(owner, { id: true })
    await first.services.billing.updateSpendLimit(
      owner,
      BigInt(set?.id ?? 0),
      { amountNanos: 404_000_000n },
      { id: true },
    )
    await first.rent(worker, one)
    await expect(gateways[1].rent(worker, other)).rejects.toBeInstanceOf(DomainError)
  })

  it('is refused when the key that creates it gets a limit first, and so is a new key', async () => {
    const { owner, worker } = await createRenter()
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('UPDATE accounts SET billing_due_at = NULL WHERE id = $1', [owner.accountId])
      const setting = limit(worker, 9_000_000_000n)
      const making = gateways[1].services.apiKeys.create(worker, { fullAccess: true }, { id: true })
      const settled = Promise.allSettled([setting, making])
      await waitUntilBlocksOthers(session)
      await session.query(
        `INSERT INTO spend_limits (account_id, api_key_id, "window", amount_nanos, action, created_at, updated_at)
        VALUES ($1, $2, 'hour', 1, 'block_new', now(), now())`,
        [owner.accountId, worker.apiKeyId],
      )
      await session.query('COMMIT')
      expect(await settled).toMatchObject([{ reason: { code: 'FORBIDDEN' } }, { reason: { code: 'FORBIDDEN' } }])
    })
  })
})

describe('a limit that stops instances', () => {
  it('stops them once and is recorded once during simultaneous passes, starts and destroys', async () => {
    const { owner, worker } = await createRenter()
    const rented = await Promise.all((await newOffers(6)).map(offer => first.rent(worker, offer)))
    for (let turn = 0; turn < 4; turn += 1) {
      await first.idle()
      clock.advance(31_000)
    }
    const daily = { apiKeyId: null, window: 'day', amountNanos: 2_000_000_000n, action: 'stop_running' } as const
    await first.services.billing.createSpendLimit(owner, daily, { id: true })
    clock.advance(3 * 3_600_000)
    const enforce = (gateway: Gateway) => performDueBilling({ database: gateway.database }, owner.accountId)
    const ids = rented.map(({ id }) => id)
    await atOnce([
      ...Array.from({ length: 6 }, () => enforce),
      ...ids.map(
        id => (gateway: Gateway) =>
          gateway.services.instances.update(worker, { ids: [id] }, { targetState: 'running' }),
      ),
      ...ids.slice(4).map(id => (gateway: Gateway) => gateway.services.instances.destroy(worker, { ids: [id] })),
      ...Array.from({ length: 6 }, () => enforce),
    ])
    // A pass skips an account that another transaction has locked, so even the last pass above may have skipped it.
    await enforce(first)
    const events = await first.sql(
      `SELECT kind, reason, count(*)::int FROM events WHERE account_id = $1
      AND (kind = 'ACCOUNT_SPEND_LIMIT' OR reason = 'SPEND_LIMIT') GROUP BY 1, 2 ORDER BY 1`,
      [owner.accountId],
    )
    expect(events[0]).toEqual({ kind: 'ACCOUNT_SPEND_LIMIT', reason: null, count: 1 })
    const running = await first.sql(
      `SELECT id FROM instances WHERE account_id = $1 AND target_state = 'running' AND destroyed_at IS NULL`,
      [owner.accountId],
    )
    expect(running).toEqual([])
    const [ends] = await first.sql(
      `SELECT count(DISTINCT period_end)::int AS ends, count(DISTINCT meter_id)::int AS meters, max(reached_at) = max(period_end) AS same
      FROM ledger_entries e JOIN spend_limits USING (account_id) WHERE account_id = $1 AND kind = 'gpu'`,
      [owner.accountId],
    )
    expect(ends).toEqual({ ends: 1, meters: 6, same: true })
  })

  it('stops them in the next pass after a gateway died between the record and the stop', async () => {
    const { owner, worker } = await createRenter()
    const [offer] = await newOffers(1)
    const { id } = await first.rent(worker, offer as bigint)
    const hourly = { apiKeyId: null, window: 'hour', amountNanos: 1n, action: 'stop_running' } as const
    await first.services.billing.createSpendLimit(owner, hourly, { id: true })
    // The gateway dies here: the limit is recorded as reached, and nothing is stopped.
    await transaction(first.database, tx => lockAccount(tx, owner.accountId, clock.now()))
    const target = async () => (await first.sql('SELECT target_state FROM instances WHERE id = $1', [id]))[0]
    expect(await target()).toEqual({ target_state: 'running' })
    await performDueBilling({ database: gateways[1].database }, owner.accountId)
    expect(await target()).toEqual({ target_state: 'stopped' })
  })
})
