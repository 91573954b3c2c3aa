// The instant up to which GPUs are charged when their container exits on its own, however late a gateway sees the exit.

import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Provider } from '../../../src/providers/provider.ts'
import { hourMs, newAccount, type TestAccount } from '../../support/accounts/accounts.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const dollar = 1_000_000_000n
const minuteMs = 60_000

let app: TestApp
/** A gateway that reconciles instances and runs no billing work. */
let gateway: Gateway
let account: TestAccount

beforeAll(async () => {
  app = await startApp()
  gateway = openGateway({ url: app.database.url, now: app.clock.now })
})

afterAll(async () => {
  await gateway.close()
  await app.close()
})

const later = (instant: Date, ms: number) => new Date(instant.getTime() + ms)

async function running(creditNanos = 100n * dollar): Promise<{ id: number; since: Date }> {
  account = await newAccount(app, creditNanos)
  return await account.rentRunning()
}

/** Makes the container exit at an instant; null if its provider does not know the instant. */
async function exit(id: number, at: Date | null): Promise<void> {
  const instant = at ? `'${at.toISOString()}'` : 'NULL'
  await app.sql(`UPDATE simulated_containers SET exit_code = 1, ends_at = ${instant} WHERE instance_id = ${id}`)
}

async function seenAt(id: number): Promise<Date> {
  return (await account.look(id))['seen_at'] as Date
}

/** Checks that the GPUs are charged for exactly these periods, to the millisecond. */
async function cost(id: number, ...periods: [Date, Date][]): Promise<void> {
  const ms = periods.reduce((sum, [start, end]) => sum + end.getTime() - start.getTime(), 0)
  const [meter] = await app.sql(`
    SELECT charged_nanos::text AS charged, (SELECT gpu_price_nanos::bigint FROM instances WHERE id = ${id})::text AS price, rate_nanos::text AS rate
    FROM meters WHERE instance_id = ${id} AND kind = 'gpu'`)
  const { charged, price, rate } = meter as Record<'charged' | 'price' | 'rate', string>
  // A refund includes a partly used nano-dollar.
  const exact = Number((BigInt(price) * BigInt(ms)) / 3_600_000n)
  expect([rate, Math.abs(Number(charged) - exact) <= periods.length - 1]).toEqual(['0', true])
  await account.expectLedgerAddsUp()
}

it('charges GPUs no later than the pass that sees the exit when the clock of the machine is ahead', async () => {
  const { since } = await running()
  const ahead = later(app.clock.now(), 5 * minuteMs)
  const wrapProvider = (provider: Provider): Provider => ({
    ...provider,
    observe: async () => ({ state: 'exited', exitCode: 1, sshKeys: [], endedAt: ahead }),
  })
  const other = openGateway({ url: app.database.url, now: app.clock.now, wrapProvider })
  app.clock.advance(2 * minuteMs)
  await other.idle()
  await other.close()
  const [charge] = await account.entries("e.kind = 'gpu'")
  expect([charge?.start, charge?.end]).toEqual([since, app.clock.now()])
})

it('charges GPUs until an exit that the provider knows, and refunds later charges', async () => {
  const { id, since } = await running()
  const ended = later(since, hourMs)
  await exit(id, ended)
  app.clock.advance(71 * hourMs)
  // The order of due work is free: daily charges may come before the pass that sees the exit.
  await app.runUntilIdle()
  expect(await account.instance(id)).toMatchObject({ status: 'exited' })
  await cost(id, [since, ended])
  const disk = await account.entries("e.kind = 'refund' AND m.kind = 'disk'")
  expect(disk).toEqual([])
})

it('charges GPUs until the container was last seen running when the exit instant is unknown', async () => {
  const { id, since } = await running()
  app.clock.advance(minuteMs)
  await app.runUntilIdle()
  const seen = await seenAt(id)
  expect(seen > since).toBe(true)
  await exit(id, null)
  app.clock.advance(71 * hourMs)
  await app.runUntilIdle()
  await cost(id, [since, seen])
})

it('charges GPUs until the container was last seen running when it is lost, and its disk until the machine says so', async () => {
  const { id, since } = await running()
  const seen = await seenAt(id)
  await app.sql(`DELETE FROM simulated_containers WHERE instance_id = ${id}`)
  app.clock.advance(71 * hourMs)
  await app.runUntilIdle()
  expect(await account.instance(id)).toMatchObject({ status: 'unknown' })
  await cost(id, [since, seen < since ? since : seen])
  expect((await account.entries("m.kind = 'disk'")).at(-1)).toMatchObject({ kind: 'disk', end: app.clock.now() })
})

it('charges GPUs until the exit when a grant and a stop come before the pass that sees the exit', async () => {
  const { id, since } = await running()
  const ended = later(since, hourMs)
  await exit(id, ended)
  app.clock.advance(2 * hourMs)
  await account.grant(dollar)
  await app.rest(account.key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
  expect(await account.entries("e.kind = 'gpu'")).toMatchObject([{ end: app.clock.now() }])
  await app.runUntilIdle()
  expect(await account.instance(id)).toMatchObject({ status: 'stopped' })
  await cost(id, [since, ended])
})

it('refunds late charges after each exit of the same instance', async () => {
  const { id, since } = await running()
  const periods: [Date, Date][] = []
  let from = since
  for (const [turn, ms] of [hourMs, 7_001, 2 * hourMs + 1].entries()) {
    const ended = later(from, ms)
    await exit(id, ended)
    app.clock.advance(30 * hourMs)
    await app.rest(account.key, 'PUT', `/instances/${id}/`, { state: 'stopped' })
    await app.runUntilIdle()
    periods.push([from, ended])
    await cost(id, ...periods)
    expect(await account.entries("e.kind = 'refund'")).toHaveLength(turn + 1)
    await app.rest(account.key, 'PUT', `/instances/${id}/`, { state: 'running' })
    for (let turns = 1; turns <= 4; turns += 1) {
      await app.runUntilIdle()
      app.clock.advance(5_000)
    }
    const [meter] = await app.sql(
      `SELECT since FROM meters WHERE instance_id = ${id} AND rate_nanos > 0 AND kind = 'gpu'`,
    )
    from = (meter as { since: Date }).since
  }
  const end = app.clock.now()
  await app.rest(account.key, 'DELETE', `/instances/${id}/`)
  await cost(id, ...periods, [from, end])
  // The total cost of the usage equals the sum of the ledger, to the nano-dollar.
  const period = `startsAt: "${later(since, -hourMs).toISOString()}", endsAt: "${later(end, 1).toISOString()}"`
  const { data } = await app.graphql(account.key, `{ viewer { account { usage(${period}, bucket: DAY) { cost } } } }`)
  const [spent] = await app.sql(`SELECT (-sum(amount_nanos) * 0.000000001)::float::text AS dollars FROM ledger_entries
    WHERE account_id = ${account.id} AND meter_id IS NOT NULL`)
  expect(spent).toEqual({ dollars: data.viewer.account.usage.cost })
})

it('charges GPUs until the exit when a later end of credit was recorded first', async () => {
  const { id, since } = await running(2n * dollar)
  const ended = later(since, hourMs)
  await exit(id, ended)
  app.clock.advance(20 * hourMs)
  await account.grant(dollar)
  expect(await app.sql(`SELECT FROM meter_ends WHERE account_id = ${account.id}`)).toHaveLength(1)
  await gateway.idle()
  await cost(id, [since, ended])
  await app.runUntilIdle()
  await cost(id, [since, ended])
})

it('charges GPUs at least until they were last seen running when the clock of the machine is behind', async () => {
  const { id, since } = await running()
  app.clock.advance(minuteMs)
  await app.runUntilIdle()
  const seen = await seenAt(id)
  await exit(id, later(since, -hourMs))
  app.clock.advance(minuteMs)
  await app.runUntilIdle()
  await cost(id, [since, seen])
})

it('charges GPUs to the millisecond with passes every minute', async () => {
  const { id, since } = await running()
  const ended = later(since, 10 * minuteMs + 17)
  await exit(id, ended)
  for (let minute = 1; minute <= 12; minute += 1) {
    app.clock.advance(minuteMs)
    await app.runUntilIdle()
  }
  await cost(id, [since, ended])
  expect(await account.entries("e.kind = 'refund'")).toEqual([])
})
