// Limits of a day or month: what is counted, the instant at which they are reached, and what happens then.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import { Prisma } from '../../../src/database/generated/client.ts'
import { transaction } from '../../../src/database/transaction.ts'
import { calculateCharge } from '../../../src/domain/billing/balance.ts'
import { lockBalance } from '../../../src/services/billing/balance.ts'
import { chargeMeters } from '../../../src/services/billing/meters.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { type Rentals, rentalsOf } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let limits: ReturnType<typeof limitsOf>
let owner: string
let worker: string
let accountId: number
let workerId: string

const hour = 3_600_000
const compute = 400_000_000n
const disk = 4_000_000n

// Each test has days for itself.
beforeEach(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  limits = limitsOf(app)
  owner = await app.newKey(null, { creditNanos: 1_000_000_000_000n })
  worker = await app.newScopedKey(owner, { api: { instance_read: {}, instance_write: {}, misc: {} } })
  const ids = await limits.accountOf(worker)
  accountId = ids.accountId
  workerId = `key_${ids.apiKeyId}`
})

afterEach(() => app.close())

const start = (id: number) => app.rest(worker, 'PUT', `/instances/${id}/`, { state: 'running' })
const stop = (id: number) => app.rest(worker, 'PUT', `/instances/${id}/`, { state: 'stopped' })
const targetOf = async (id: number) => (await rentals.read(worker, id)).intended_status
const advanceTo = (instant: string | Date) => app.clock.advance(new Date(instant).getTime() - app.clock.now().getTime())
const used = async () => (await limits.read(owner)).account[0].used

/** Charges everything of the account that goes on, as happens at midnight. */
async function post(): Promise<void> {
  const database = openDatabase({ url: app.database.url, poolSize: 1, onIdleError: () => {}, now: app.clock.now })
  const at = app.clock.now()
  await transaction(database, async tx => {
    await chargeMeters(tx, await lockBalance(tx, accountId, at), Prisma.sql`true`)
  }).finally(() => database.close())
}

/** What was charged for GPUs, and up to when, by instance. */
async function charged(id: number) {
  const rows =
    await app.sql(`SELECT -sum(amount_nanos)::bigint AS nanos, min(period_start) AS since, max(period_end) AS until
    FROM ledger_entries e JOIN meters m ON m.id = e.meter_id WHERE m.instance_id = ${id} AND e.kind = 'compute'`)
  const [{ nanos, since, until }] = rows as [{ nanos: string; since: Date; until: Date }]
  return { nanos: BigInt(nanos), since, until }
}

const eventsOf = async (type: string) =>
  (await app.sql(`SELECT after, reason, instance_id, at FROM events WHERE account_id = ${accountId} AND type = '${type}'
    ORDER BY id`)) as { after: Record<string, unknown>; reason: string; instance_id: string; at: Date }[]

/** The last millisecond up to which meters of these rates, since these instants, cost no more. */
function instantOf(amountNanos: bigint, meters: [bigint, Date][]): Date {
  const [rate, origin] = meters.reduce(
    ([rates, origins], [nanos, since]) => [rates + nanos, origins + nanos * BigInt(since.getTime())],
    [0n, 0n],
  )
  return new Date(Number((amountNanos * 3_600_000n + origin) / rate))
}

const meters = async () =>
  (await app.sql(`SELECT rate_nanos, since FROM meters WHERE account_id = ${accountId} AND rate_nanos > 0`)).map(
    row => {
      const { rate_nanos, since } = row as { rate_nanos: string; since: Date }
      return [BigInt(rate_nanos), since] as [bigint, Date]
    },
  )

describe('a limit of a day that stops', () => {
  it('stops what it counts at the millisecond that it can still pay for, however late that is found', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    // Looked at before, it says when to look again, and stops nothing.
    expect(await limits.enforce(accountId)).toEqual(reached)
    expect(await targetOf(id)).toBe('running')
    advanceTo(new Date(reached.getTime() - 1))
    expect(await limits.enforce(accountId)).toEqual(reached)
    expect([await targetOf(id), await eventsOf('ACCOUNT_SPEND_LIMIT')]).toEqual(['running', []])
    app.clock.advance(5 * hour)
    const at = app.clock.now()
    expect(await limits.enforce(accountId)).toEqual(new Date('2026-11-22T00:00:00.000Z'))
    expect(await targetOf(id)).toBe('stopped')
    const { nanos, since, until } = await charged(id)
    expect(until).toEqual(reached)
    expect(nanos).toBe(calculateCharge(compute, reached.getTime() - since.getTime(), 0).amountNanos)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toMatchObject([
      {
        at,
        after: { window: 'day', amountNanos: '1000000000', action: 'stop_running', reachedAt: reached.toISOString() },
      },
    ])
    const targets = (await eventsOf('INSTANCE_TARGET_CHANGED')).filter(({ reason }) => reason === 'SPEND_LIMIT')
    expect(targets).toMatchObject([{ instance_id: String(id), after: { targetState: 'stopped' } }])
    expect((await limits.read(owner)).account).toMatchObject([{ reachedAt: reached.toISOString() }])
    // Once more does nothing more.
    await limits.enforce(accountId)
    await rentals.converge()
    await limits.enforce(accountId)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(1)
    expect(await charged(id)).toEqual({ nanos, since, until })
  })

  it('lets nothing start until its window ends, or it is set higher', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    app.clock.advance(3 * hour)
    await limits.enforce(accountId)
    await rentals.converge()
    const { status, body } = await start(id)
    expect([status, body.error]).toEqual([400, 'spend_limit_exceeded'])
    expect(body.msg).toMatch(
      /^The spend limit of the account is 1 \$ a day and is reached: 1\.\d+ \$ are spent\. This request costs 0\.4 \$ an hour\. Wait for the next day \(UTC\), or raise the limit\.$/,
    )
    expect((await rentals.tryRent(worker, { image: 'ubuntu' })).body.error).toBe('spend_limit_exceeded')
    await limits.set(owner, { window: 'DAY', amount: '2', action: 'STOP_RUNNING' })
    expect((await start(id)).status).toBe(200)
    await stop(id)
    await limits.set(owner, { window: 'DAY', amount: '0.5', action: 'STOP_RUNNING' })
    expect((await start(id)).status).toBe(400)
    advanceTo('2026-11-21T23:59:59.999Z')
    expect((await start(id)).status).toBe(400)
    advanceTo('2026-11-22T00:00:00.000Z')
    expect((await start(id)).status).toBe(200)
  })

  it.each([
    ['is stopped', async (id: number) => void (await stop(id))],
    ['is destroyed', async (id: number) => void (await app.rest(worker, 'DELETE', `/instances/${id}/`))],
    ['is charged at midnight', post],
    [
      'is found to have exited after that',
      async (id: number) => {
        const ended = app.clock.now().toISOString()
        await app.sql(`UPDATE simulated_containers SET exit_code = 1, ends_at = '${ended}' WHERE instance_id = ${id}`)
        await rentals.converge()
      },
    ],
  ])('charges nothing beyond when its instance %s before anybody looks', async (_name, act) => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    app.clock.advance(6 * hour)
    await act(id)
    expect((await charged(id)).until).toEqual(reached)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(1)
  })

  it('charges nothing beyond in a day that ended before anybody looked', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    advanceTo('2026-11-24T05:00:00.000Z')
    await limits.enforce(accountId)
    expect((await charged(id)).until).toEqual(reached)
    expect(await targetOf(id)).toBe('stopped')
    // It is another day, in which nothing of it was reached.
    expect((await start(id)).status).toBe(200)
  })

  it('is reached on the second day, if the first was not enough', async () => {
    // Eight hours are left of the first day.
    advanceTo('2026-11-21T16:00:00.000Z')
    await limits.set(owner, { window: 'DAY', amount: '5', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    expect(await limits.enforce(accountId)).toEqual(new Date('2026-11-22T00:00:00.000Z'))
    advanceTo('2026-11-23T16:00:00.000Z')
    await limits.enforce(accountId)
    const midnight = new Date('2026-11-22T00:00:00.000Z')
    // What is carried over midnight may move it by one.
    const reached = instantOf(5_000_000_000n, [[compute + disk, midnight]])
    expect(Math.abs((await charged(id)).until.getTime() - reached.getTime())).toBeLessThanOrEqual(1)
  })

  it('counts also where another was reached before it, and nobody looked at either', async () => {
    const id = await rentals.rentToStatus(worker, 'running')
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    await limits.set(owner, { window: 'MONTH', amount: '0.5', action: 'NOTIFY' })
    const reached = instantOf(1_000_000_000n, await meters())
    app.clock.advance(9 * hour)
    await post()
    expect((await charged(id)).until).toEqual(reached)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toMatchObject([
      { after: { window: 'month' } },
      { after: { window: 'day', reachedAt: reached.toISOString() } },
    ])
  })

  it('does not charge again what is seen running before it is stopped', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    app.clock.advance(3 * hour)
    await post()
    const before = await charged(id)
    // A gateway that is slow has the account: nobody stops anything for its limits meanwhile.
    const slow = (until: string) =>
      app.sql(`UPDATE accounts SET billing_leased_until = ${until} WHERE id = ${accountId}`)
    await slow("'2027-01-01'")
    await rentals.converge()
    expect(await targetOf(id)).toBe('running')
    await post()
    expect(await charged(id)).toEqual(before)
    // What was ended is stopped, also when the limit is set higher meanwhile. Started again it costs something again.
    await limits.set(owner, { window: 'DAY', amount: '5', action: 'STOP_RUNNING' })
    await slow('NULL')
    await rentals.converge()
    expect(await targetOf(id)).toBe('stopped')
    await start(id)
    app.clock.advance(61_000)
    await rentals.converge()
    await post()
    expect((await charged(id)).nanos).toBeGreaterThan(before.nanos)
  })

  it('that is set under what is spent already stops from then on, and not before', async () => {
    const id = await rentals.rentToStatus(worker, 'running')
    app.clock.advance(3 * hour)
    const at = app.clock.now()
    await limits.set(owner, { window: 'DAY', amount: '0.5', action: 'STOP_RUNNING' })
    app.clock.advance(hour)
    await limits.enforce(accountId)
    expect([(await charged(id)).until, await targetOf(id)]).toEqual([at, 'stopped'])
  })

  it('stops also what bid anew after it was reached', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running', { price: 0.4 })
    const reached = instantOf(1_000_000_000n, await meters())
    app.clock.advance(3 * hour)
    const bid = `mutation { changeBid(input: { instanceId: ${id}, bidPerHour: "0.3" }) { ... on Error { code } } }`
    expect((await app.graphql(worker, bid)).data.changeBid).toEqual({})
    await limits.enforce(accountId)
    expect([await targetOf(id), (await charged(id)).until]).toEqual(['stopped', reached])
  })

  it('of a key stops what that key rented, and nothing else', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING', apiKeyId: workerId })
    const [mine, other] = [await rentals.rentToStatus(worker, 'running'), await rentals.rentToStatus(owner, 'running')]
    app.clock.advance(3 * hour)
    await limits.enforce(accountId)
    expect([await targetOf(mine), await targetOf(other)]).toEqual(['stopped', 'running'])
    const { keys } = await limits.read(owner)
    const [{ used: spent }] = keys.find(({ id }: { id: string }) => id === workerId).spendLimits
    await post()
    expect((await charged(other)).until > (await charged(mine)).until).toBe(true)
    // Its disk goes on.
    expect([Number(spent) >= 1, Number(spent) < 1.01]).toEqual([true, true])
  })

  it('and the end of credit: the one that comes first counts, and then the other may not come', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    await app.sql(creditSql(1_200_000_000n, `id = ${accountId}`))
    app.clock.advance(5 * hour)
    await limits.enforce(accountId)
    expect((await charged(id)).until).toEqual(reached)
    const ended = async () => (await eventsOf('ACCOUNT_CREDIT_ENDED')).map(({ after }) => after)
    expect(await ended()).toEqual([])
    // The other way round: what is left ends before the limit of the next day.
    advanceTo('2026-11-22T00:00:00.000Z')
    await app.sql(creditSql(3_000_000_000n, `id = ${accountId}`))
    await start(id)
    await rentals.converge()
    await post()
    await app.sql(creditSql(100_000_000n, `id = ${accountId}`))
    app.clock.advance(9 * hour)
    await limits.enforce(accountId)
    await post()
    expect(await ended()).toMatchObject([{ endedAt: (await charged(id)).until.toISOString() }])
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(1)
  })
})

describe('a limit per hour that stops', () => {
  it('and is set under what runs stops it from then on, and is told again when it is exceeded again', async () => {
    const id = await rentals.rentToStatus(worker, 'running')
    const at = app.clock.now()
    await limits.set(owner, { window: 'HOUR', amount: '0.1', action: 'STOP_RUNNING' })
    expect((await limits.read(owner)).account).toMatchObject([{ used: '0.404', reachedAt: at.toISOString() }])
    expect(await limits.enforce(accountId)).toBe(null)
    expect([(await charged(id)).until, await targetOf(id)]).toEqual([at, 'stopped'])
    await rentals.converge()
    await limits.enforce(accountId)
    expect((await limits.read(owner)).account).toMatchObject([{ used: '0.004', reachedAt: null }])
    expect((await start(id)).status).toBe(400)
    await limits.set(owner, { window: 'HOUR', amount: '1', action: 'STOP_RUNNING' })
    expect((await start(id)).status).toBe(200)
    await limits.set(owner, { window: 'HOUR', amount: '0.2', action: 'NOTIFY' })
    await limits.enforce(accountId)
    expect(await targetOf(id)).toBe('running')
    const told = (await eventsOf('ACCOUNT_SPEND_LIMIT')).map(({ after }) => [after['usedNanos'], after['action']])
    expect(told).toEqual([
      ['404000000', 'stop_running'],
      ['404000000', 'notify'],
    ])
  })
})

it('a rate that is kept again can be exceeded again, which is told again', async () => {
  await limits.set(owner, { window: 'HOUR', amount: '0.1', action: 'NOTIFY' })
  const id = await rentals.rent(worker)
  for (const act of [start, stop, start, start]) {
    await act(id)
    await limits.enforce(accountId)
    app.clock.advance(1)
  }
  expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(2)
})

describe('a limit of a month', () => {
  it('that only blocks stops nothing, tells once, and refuses what is new', async () => {
    await limits.set(owner, { window: 'MONTH', amount: '1' })
    const id = await rentals.rentToStatus(worker, 'running')
    const idle = await rentals.rentToStatus(worker, 'stopped')
    app.clock.advance(20 * hour)
    await limits.enforce(accountId)
    expect(await targetOf(id)).toBe('running')
    const { body } = await start(idle)
    expect(body.msg).toMatch(/^The spend limit of the account is 1 \$ a month and is reached: 8\.\d+ \$ are spent\./)
    app.clock.advance(20 * hour)
    await limits.enforce(accountId)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(1)
    advanceTo('2026-12-01T00:00:00.000Z')
    expect(await used()).toBe('0')
    expect((await start(idle)).status).toBe(200)
  })

  it('is refused by a quote as soon as it is reached, though nobody noted it yet', async () => {
    await limits.set(owner, { window: 'MONTH', amount: '1' })
    await rentals.rentToStatus(worker, 'running')
    const offerId = await rentals.newOffer()
    const quote = `{ rentQuote(input: { offerId: "${offerId}", spec: { source: { image: "ubuntu" } } }) { blockers { code } } }`
    expect((await app.graphql(owner, quote)).data.rentQuote.blockers).toEqual([])
    app.clock.advance(3 * hour)
    expect((await app.graphql(owner, quote)).data.rentQuote.blockers).toEqual([{ code: 'SPEND_LIMIT_EXCEEDED' }])
    expect((await limits.read(owner)).account[0].reachedAt).not.toBe(null)
    expect(await app.sql('SELECT FROM spend_limits WHERE reached_at IS NOT NULL')).toEqual([])
  })

  it('of 0 refuses everything that costs something', async () => {
    await limits.set(owner, { window: 'MONTH', amount: '0' })
    expect((await rentals.tryRent(worker, { image: 'ubuntu' })).body.error).toBe('spend_limit_exceeded')
    expect((await rentals.tryRent(worker, { image: 'ubuntu', target_state: 'stopped' })).body.error).toBe(
      'spend_limit_exceeded',
    )
  })
})

describe('what is spent', () => {
  it('is what the ledger will say of the window, also before it is charged, and what is given back is not', async () => {
    await limits.set(owner, { window: 'DAY', amount: '900', action: 'NOTIFY' })
    await limits.set(owner, { window: 'MONTH', amount: '900', action: 'NOTIFY' })
    const gone = await rentals.rentToStatus(worker, 'running')
    const id = await rentals.rentToStatus(worker, 'running')
    advanceTo('2026-11-22T23:00:00.123Z')
    await post()
    await app.runUntilIdle()
    const { machine_id } = await rentals.read(worker, gone)
    await app.operations.machines.unplug(machine_id)
    await stop(id)
    app.clock.advance(3 * hour + 77)
    await start(id)
    await post()
    await rentals.converge()
    app.clock.advance(6 * 60_000)
    await rentals.converge()
    // What it cost after it was seen last, in both days, was charged, and is given back.
    expect(await rentals.read(worker, gone)).toMatchObject({ actual_status: 'offline' })
    const given = await app.sql(
      "SELECT FROM ledger_entries WHERE kind = 'refund' AND period_start < '2026-11-23T00:00:00Z'",
    )
    expect(given).toHaveLength(2)
    app.clock.advance(2 * hour + 1)
    const read = async () => (await limits.read(owner)).account.map((limit: { used: string }) => limit.used)
    const before = await read()
    await post()
    expect(await read()).toEqual(before)
    expect(before).toEqual(await sumByHand())
    expect(before[1]).toBe(await balance())
    app.clock.advance(61_001)
    const later = await read()
    await post()
    expect(later).toEqual(await sumByHand())
    expect(later[1]).toBe(await balance())
  })

  /** All that was taken of the account, in the month in which it began. */
  async function balance(): Promise<string> {
    const [row] = await app.sql(`SELECT trim_scale(-sum(amount_nanos) / 1000000000)::text AS taken FROM ledger_entries
      WHERE account_id = ${accountId} AND kind <> 'top_up'`)
    return (row as { taken: string }).taken
  }

  /** Day and month, from every entry of the ledger, cut where the window begins. */
  async function sumByHand(): Promise<string[]> {
    const rows = (await app.sql(`SELECT e.rate_nanos, e.carried, e.period_start AS since,
        least(e.period_end, r.period_start) AS until FROM ledger_entries e
      LEFT JOIN ledger_entries r ON r.meter_id = e.meter_id AND r.kind = 'refund'
      WHERE e.account_id = ${accountId} AND e.kind IN ('compute', 'disk')`)) as Record<string, unknown>[]
    return ['2026-11-23T00:00:00.000Z', '2026-11-01T00:00:00.000Z'].map(from => {
      const nanos = rows.map(({ rate_nanos, carried, since, until }) => {
        const upTo = (instant: Date) =>
          calculateCharge(
            BigInt(rate_nanos as string),
            Math.max(0, instant.getTime() - (since as Date).getTime()),
            Number(carried),
          ).amountNanos
        const end = until as Date
        return upTo(end) - upTo(new Date(Math.min(new Date(from).getTime(), end.getTime())))
      })
      const total = nanos
        .reduce((sum, one) => sum + one, 0n)
        .toString()
        .padStart(10, '0')
      return `${total.slice(0, -9)}.${total.slice(-9)}`.replace(/\.?0+$/, '')
    })
  }
})
