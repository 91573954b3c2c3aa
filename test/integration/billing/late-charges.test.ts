// Charges of accounts while no gateway runs the billing work.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hourMs, newAccount, type TestAccount } from '../../support/accounts/accounts.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf } from '../../support/instances/rentals.ts'

const dollar = 1_000_000_000n

let app: TestApp
let rentals: Rentals
/** A gateway that reconciles instances and runs no billing work. */
let gateway: Gateway

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
})

afterAll(async () => {
  await gateway.close()
  await app.close()
})

async function settleInstances(): Promise<void> {
  for (let turn = 1; turn <= 4; turn += 1) {
    await gateway.idle()
    app.clock.advance(30_000)
  }
}

async function chargedOf({ id }: TestAccount): Promise<number[]> {
  const rows = await app.sql(`
    SELECT instance_id FROM meters m WHERE account_id = ${id} AND kind = 'gpu' AND rate_nanos > 0
    AND NOT EXISTS (SELECT FROM meter_ends e WHERE e.meter_id = m.id) ORDER BY 1`)
  return (rows as { instance_id: string }[]).map(row => Number(row.instance_id))
}

describe('an account without billing passes', () => {
  it('pays for new rentals once it has credit again, but not for earlier rentals', async () => {
    const account = await newAccount(app, dollar)
    await account.rentRunning()
    app.clock.advance(10 * hourMs)
    await account.grant(dollar)
    expect((await account.row())['credit_ended_at']).not.toBeNull()
    const other = await rentals.rent(account.key)
    await settleInstances()
    expect(await chargedOf(account)).toEqual([other])
    await account.expectLedgerAddsUp()
  })

  it('has its running instances stopped at each end of credit', async () => {
    const account = await newAccount(app, dollar)
    const first = await account.rentRunning()
    app.clock.advance(10 * hourMs)
    await account.grant(dollar)
    const second = await rentals.rent(account.key)
    await settleInstances()
    app.clock.advance(10 * hourMs)
    await account.grant(10n * dollar)
    const third = await rentals.rent(account.key)
    await app.runUntilIdle()
    const targets = await Promise.all([first.id, second, third].map(id => account.instance(id)))
    expect(targets.map(instance => instance['target_state'])).toEqual(['stopped', 'stopped', 'running'])
    const ends = (await account.entries("e.kind = 'gpu'")).map(({ end }) => end)
    expect(ends).toHaveLength(2)
    expect(await account.eventsLike('ACCOUNT_CREDIT_ENDED')).toMatchObject([
      { after: { endedAt: ends[1]?.toISOString() } },
    ])
    await account.expectLedgerAddsUp()
  })

  it('starts no GPU charges without credit', async () => {
    const account = await newAccount(app, dollar)
    const id = await rentals.rent(account.key)
    await app.sql(
      `INSERT INTO ledger_entries (account_id, kind, amount_nanos, posted_at) VALUES (${account.id}, 'adjustment', ${-2n * dollar}, now())`,
    )
    await settleInstances()
    expect(await account.instance(id)).toMatchObject({ status: 'running' })
    expect(await chargedOf(account)).toEqual([])
    await app.runUntilIdle()
    expect(await account.instance(id)).toMatchObject({ target_state: 'stopped', target_reason: 'NO_CREDIT' })
    expect(await account.entries("e.kind = 'gpu'")).toEqual([])
  })
})

describe('a meter with a second end', () => {
  const end = (id: number) => `
    INSERT INTO meter_ends (meter_id, account_id, at) SELECT id, account_id, '${app.clock.now().toISOString()}' FROM meters
    WHERE instance_id = ${id} AND kind = 'gpu'`

  it('loses the second end in the next pass, and is not charged again', async () => {
    const account = await newAccount(app, 100n * dollar)
    const { id } = await account.rentRunning()
    await app.rest(account.key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await app.runUntilIdle()
    await app.sql(end(id))
    await app.runUntilIdle()
    expect(await app.sql(`SELECT FROM meter_ends WHERE account_id = ${account.id}`)).toEqual([])
    expect(await account.entries("e.kind = 'gpu'")).toHaveLength(1)
  })

  it('keeps running when its instance was started again', async () => {
    const account = await newAccount(app, 100n * dollar)
    const { id } = await account.rentRunning()
    await app.rest(account.key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await settleInstances()
    await app.sql(end(id))
    await app.rest(account.key, 'PUT', `/instances/${id}/`, { state: 'running' })
    await settleInstances()
    expect(await chargedOf(account)).toEqual([id])
    const meter = `SELECT since FROM meters WHERE instance_id = ${id} AND kind = 'gpu'`
    expect(await app.sql(meter)).toEqual([{ since: (await account.instance(id))['status_changed_at'] }])
    app.clock.advance(hourMs)
    await app.runUntilIdle()
    expect(await chargedOf(account)).toEqual([id])
  })
})
