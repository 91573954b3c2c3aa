// Day and month limits: which costs count, when they are reached, and what they stop.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/database/client.ts'
import { Prisma } from '../../../src/database/generated/client.ts'
import { transaction } from '../../../src/database/transaction.ts'
import { calculateCharge } from '../../../src/domain/billing/balance.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { chargeMeters } from '../../../src/services/billing/meters.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { urlAs } from '../../support/database/roles.ts'
import { type Rentals, rentalsOf } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let limits: ReturnType<typeof limitsOf>
let owner: string
let worker: string
let accountId: number
let workerId: string

const hour = 3_600_000
const gpu = 400_000_000n
const disk = 4_000_000n

// Each test has a clock and days of its own.
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
const subjectOf = async (id: number) => (await rentals.read(worker, id)).intended_status
const advanceTo = (instant: string | Date) => app.clock.advance(new Date(instant).getTime() - app.clock.now().getTime())
const used = async () => (await limits.read(owner)).account[0].used

/** Charges all running meters of the account, like the daily charge at midnight. */
async function post(): Promise<void> {
  const database = openDatabase({
    url: urlAs('app', app.database.url),
    poolSize: 1,
    onIdleError: () => {},
    now: app.clock.now,
  })
  const at = app.clock.now()
  await transaction(database, async tx => {
    await chargeMeters(tx, await lockAccount(tx, accountId, at), Prisma.sql`true`)
  }).finally(() => database.close())
}

/** The GPU charges of an instance, with their first and last instant. */
async function charged(id: number) {
  const rows =
    await app.sql(`SELECT -sum(amount_nanos)::bigint AS nanos, min(period_start) AS since, max(period_end) AS until
    FROM ledger_entries e JOIN meters m ON m.id = e.meter_id WHERE m.instance_id = ${id} AND e.kind = 'gpu'`)
  const [{ nanos, since, until }] = rows as [{ nanos: string; since: Date; until: Date }]
  return { nanos: BigInt(nanos), since, until }
}

const eventsOf = async (kind: string) =>
  (await app.sql(`SELECT after, reason, instance_id, created_at FROM events WHERE account_id = ${accountId} AND kind = '${kind}'
    ORDER BY id`)) as { after: Record<string, unknown>; reason: string; instance_id: string; created_at: Date }[]

/** The last millisecond at which meters with these rates and starts cost at most the amount. */
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

describe('a day limit that stops instances', () => {
  it('ends GPU charges at the last millisecond within it, however late a gateway notices', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    // An earlier pass schedules the next check and stops nothing.
    expect(await limits.enforce(accountId)).toEqual(reached)
    expect(await subjectOf(id)).toBe('running')
    advanceTo(new Date(reached.getTime() - 1))
    expect(await limits.enforce(accountId)).toEqual(reached)
    expect([await subjectOf(id), await eventsOf('ACCOUNT_SPEND_LIMIT')]).toEqual(['running', []])
    app.clock.advance(5 * hour)
    const at = app.clock.now()
    expect(await limits.enforce(accountId)).toEqual(new Date('2026-11-22T00:00:00.000Z'))
    expect(await subjectOf(id)).toBe('stopped')
    const { nanos, since, until } = await charged(id)
    expect(until).toEqual(reached)
    expect(nanos).toBe(calculateCharge(gpu, reached.getTime() - since.getTime(), 0).amountNanos)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toMatchObject([
      {
        created_at: at,
        after: { window: 'day', amountNanos: '1000000000', action: 'stop_running', reachedAt: reached.toISOString() },
      },
    ])
    const targets = (await eventsOf('INSTANCE_TARGET_CHANGED')).filter(({ reason }) => reason === 'SPEND_LIMIT')
    expect(targets).toMatchObject([{ instance_id: String(id), after: { targetState: 'stopped' } }])
    expect((await limits.read(owner)).account).toMatchObject([{ reachedAt: reached.toISOString() }])
    // Another pass changes nothing.
    await limits.enforce(accountId)
    await rentals.converge()
    await limits.enforce(accountId)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(1)
    expect(await charged(id)).toEqual({ nanos, since, until })
  })

  it('refuses starts until its window ends or it is raised', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    app.clock.advance(3 * hour)
    await limits.enforce(accountId)
    await rentals.converge()
    const { status, body } = await start(id)
    expect([status, body.error]).toEqual([400, 'spend_limit_exceeded'])
    expect(body.msg).toMatch(
      /^The spend limit of the account is \$1 a day and is reached: \$1\.\d+ is spent\. This request costs \$0\.4 an hour\. Wait for the next day \(UTC\), or raise the limit\.$/,
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
    ['stops', async (id: number) => void (await stop(id))],
    ['is destroyed', async (id: number) => void (await app.rest(worker, 'DELETE', `/instances/${id}/`))],
    ['is charged', post],
    [
      'exits',
      async (id: number) => {
        const ended = app.clock.now().toISOString()
        await app.sql(`UPDATE simulated_containers SET exit_code = 1, ends_at = '${ended}' WHERE instance_id = ${id}`)
        await rentals.converge()
      },
    ],
  ])('ends GPU charges when it is reached, even if the instance %s before the next pass', async (_name, act) => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    app.clock.advance(6 * hour)
    await act(id)
    expect((await charged(id)).until).toEqual(reached)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(1)
  })

  it('ends GPU charges when it is reached, even if the day ends before the next pass', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    advanceTo('2026-11-24T05:00:00.000Z')
    await limits.enforce(accountId)
    expect((await charged(id)).until).toEqual(reached)
    expect(await subjectOf(id)).toBe('stopped')
    // The limit is not reached on this later day.
    expect((await start(id)).status).toBe(200)
  })

  it('is reached on the second day if the first costs too little', async () => {
    // Eight hours remain of the first day.
    advanceTo('2026-11-21T16:00:00.000Z')
    await limits.set(owner, { window: 'DAY', amount: '5', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    expect(await limits.enforce(accountId)).toEqual(new Date('2026-11-22T00:00:00.000Z'))
    advanceTo('2026-11-23T16:00:00.000Z')
    await limits.enforce(accountId)
    const midnight = new Date('2026-11-22T00:00:00.000Z')
    // The parts carried over midnight may move the instant by one millisecond.
    const reached = instantOf(5_000_000_000n, [[gpu + disk, midnight]])
    expect(Math.abs((await charged(id)).until.getTime() - reached.getTime())).toBeLessThanOrEqual(1)
  })

  it('is reached after another limit, even if no pass runs between them', async () => {
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

  it('does not charge an instance again while it still runs before its stop', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    app.clock.advance(3 * hour)
    await post()
    const before = await charged(id)
    // A slow gateway has leased the account, so no other gateway stops its instances.
    const slow = (until: string) =>
      app.sql(`UPDATE accounts SET billing_leased_until = ${until} WHERE id = ${accountId}`)
    await slow(`'${new Date(app.clock.now().getTime() + 30_000).toISOString()}'`)
    await app.runUntilIdle()
    expect(await subjectOf(id)).toBe('running')
    await post()
    expect(await charged(id)).toEqual(before)
    // The instance stops even if the limit is raised meanwhile. Its GPUs are charged again after a new start.
    await limits.set(owner, { window: 'DAY', amount: '5', action: 'STOP_RUNNING' })
    await slow('NULL')
    await rentals.converge()
    expect(await subjectOf(id)).toBe('stopped')
    await start(id)
    app.clock.advance(61_000)
    await rentals.converge()
    await post()
    expect((await charged(id)).nanos).toBeGreaterThan(before.nanos)
  })

  it('ends GPU charges when it is set below the current spending, and not earlier', async () => {
    const id = await rentals.rentToStatus(worker, 'running')
    app.clock.advance(3 * hour)
    const at = app.clock.now()
    await limits.set(owner, { window: 'DAY', amount: '0.5', action: 'STOP_RUNNING' })
    app.clock.advance(hour)
    await limits.enforce(accountId)
    expect([(await charged(id)).until, await subjectOf(id)]).toEqual([at, 'stopped'])
  })

  it('stops an instance whose bid is changed after the limit is reached', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running', { price: 0.4 })
    const reached = instantOf(1_000_000_000n, await meters())
    app.clock.advance(3 * hour)
    const bid = `mutation { updateInstanceBid(input: { id: ${id}, bidPerHour: "0.3" }) { ... on Error { code } } }`
    expect((await app.graphql(worker, bid)).data.updateInstanceBid).toEqual({})
    await limits.enforce(accountId)
    expect([await subjectOf(id), (await charged(id)).until]).toEqual(['stopped', reached])
  })

  it('stops only instances of its key', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING', apiKeyId: workerId })
    const [mine, other] = [await rentals.rentToStatus(worker, 'running'), await rentals.rentToStatus(owner, 'running')]
    app.clock.advance(3 * hour)
    await limits.enforce(accountId)
    expect([await subjectOf(mine), await subjectOf(other)]).toEqual(['stopped', 'running'])
    const { keys } = await limits.read(owner)
    const [{ used: spent }] = keys.find(({ id }: { id: string }) => id === workerId).spendLimits
    await post()
    expect((await charged(other)).until > (await charged(mine)).until).toBe(true)
    // The disk of the stopped instance still costs money.
    expect([Number(spent) >= 1, Number(spent) < 1.01]).toEqual([true, true])
  })

  it('and the end of credit take effect in order, and the first can prevent the second', async () => {
    await limits.set(owner, { window: 'DAY', amount: '1', action: 'STOP_RUNNING' })
    const id = await rentals.rentToStatus(worker, 'running')
    const reached = instantOf(1_000_000_000n, await meters())
    await app.sql(creditSql(1_200_000_000n, `id = ${accountId}`))
    app.clock.advance(5 * hour)
    await limits.enforce(accountId)
    expect((await charged(id)).until).toEqual(reached)
    const ended = async () => (await eventsOf('ACCOUNT_CREDIT_ENDED')).map(({ after }) => after)
    expect(await ended()).toEqual([])
    // The other way round: the credit ends before the limit of the next day.
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

describe('an hourly limit that stops instances', () => {
  it('stops them when it is set below the current rate, and is recorded again when exceeded again', async () => {
    const id = await rentals.rentToStatus(worker, 'running')
    const at = app.clock.now()
    await limits.set(owner, { window: 'HOUR', amount: '0.1', action: 'STOP_RUNNING' })
    expect((await limits.read(owner)).account).toMatchObject([{ used: '0.404', reachedAt: at.toISOString() }])
    expect(await limits.enforce(accountId)).toBe(null)
    expect([(await charged(id)).until, await subjectOf(id)]).toEqual([at, 'stopped'])
    await rentals.converge()
    await limits.enforce(accountId)
    expect((await limits.read(owner)).account).toMatchObject([{ used: '0.004', reachedAt: null }])
    expect((await start(id)).status).toBe(400)
    await limits.set(owner, { window: 'HOUR', amount: '1', action: 'STOP_RUNNING' })
    expect((await start(id)).status).toBe(200)
    await limits.set(owner, { window: 'HOUR', amount: '0.2', action: 'NOTIFY' })
    await limits.enforce(accountId)
    expect(await subjectOf(id)).toBe('running')
    const recorded = (await eventsOf('ACCOUNT_SPEND_LIMIT')).map(({ after }) => [after['usedNanos'], after['action']])
    expect(recorded).toEqual([
      ['404000000', 'stop_running'],
      ['404000000', 'notify'],
    ])
  })
})

it('records an hourly limit again when the rate exceeds it again', async () => {
  await limits.set(owner, { window: 'HOUR', amount: '0.1', action: 'NOTIFY' })
  const id = await rentals.rent(worker)
  for (const act of [start, stop, start, start]) {
    await act(id)
    await limits.enforce(accountId)
    app.clock.advance(1)
  }
  expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(2)
})

describe('a month limit', () => {
  it('stops nothing, is recorded once, and refuses new costs when it only blocks', async () => {
    await limits.set(owner, { window: 'MONTH', amount: '1' })
    const id = await rentals.rentToStatus(worker, 'running')
    const idle = await rentals.rentToStatus(worker, 'stopped')
    app.clock.advance(20 * hour)
    await limits.enforce(accountId)
    expect(await subjectOf(id)).toBe('running')
    const { body } = await start(idle)
    expect(body.msg).toMatch(/^The spend limit of the account is \$1 a month and is reached: \$8\.\d+ is spent\./)
    app.clock.advance(20 * hour)
    await limits.enforce(accountId)
    expect(await eventsOf('ACCOUNT_SPEND_LIMIT')).toHaveLength(1)
    advanceTo('2026-12-01T00:00:00.000Z')
    expect(await used()).toBe('0')
    expect((await start(idle)).status).toBe(200)
  })

  it('blocks a quote as soon as it is reached, even before it is recorded', async () => {
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

  it('refuses every cost with an amount of 0', async () => {
    await limits.set(owner, { window: 'MONTH', amount: '0' })
    expect((await rentals.tryRent(worker, { image: 'ubuntu' })).body.error).toBe('spend_limit_exceeded')
    expect((await rentals.tryRent(worker, { image: 'ubuntu', target_state: 'stopped' })).body.error).toBe(
      'spend_limit_exceeded',
    )
  })
})

describe('the used amount of a limit', () => {
  it('equals the costs in the ledger for its window, before and after charges, without refunds', async () => {
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
    // The costs of the lost instance after its machine was last seen, on both days, are charged and refunded.
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

  /** All costs of the account, which was created in this month. */
  async function balance(): Promise<string> {
    const [row] = await app.sql(`SELECT trim_scale(-sum(amount_nanos) / 1000000000)::text AS taken FROM ledger_entries
      WHERE account_id = ${accountId} AND kind <> 'top_up'`)
    return (row as { taken: string }).taken
  }

  /** The costs of the day and of the month, calculated from every ledger entry, cut at the start of the window. */
  async function sumByHand(): Promise<string[]> {
    const rows = (await app.sql(`SELECT e.rate_nanos, e.carried, e.period_start AS since,
        least(e.period_end, r.period_start) AS until FROM ledger_entries e
      LEFT JOIN ledger_entries r ON r.meter_id = e.meter_id AND r.kind = 'refund'
      WHERE e.account_id = ${accountId} AND e.kind IN ('gpu', 'disk')`)) as Record<string, unknown>[]
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
