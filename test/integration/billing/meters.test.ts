// When rentals cost money, and their charges in the ledger.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { int8 } from '../../../src/database/row-types.ts'
import { type Transaction, transaction } from '../../../src/database/transaction.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { creditStatusOf } from '../../../src/domain/billing/balance.ts'
import { systemActor } from '../../../src/domain/events/actor.ts'
import { type AccountBalance, lockAccount, lockAccounts, readBalance } from '../../../src/services/billing/balance.ts'
import { chargeMeters, startGpuMeters, stopMeters } from '../../../src/services/billing/meters.ts'
import { refundAfter } from '../../../src/services/billing/refunds.ts'
import { instanceMetersSql } from '../../../src/services/billing/sql.ts'
import { applyPlans } from '../../../src/services/instances/bulk/apply-plans.ts'
import { lockInstances } from '../../../src/services/instances/lock.ts'
import { lockMachine } from '../../../src/services/machines/lock.ts'
import { loadVolumeFacts } from '../../../src/services/volumes/rent.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { manualClock } from '../../support/clock.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway, type RentOptions } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let machineId = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** A machine with one GPU for $0.4 an hour. Its disk costs $0.36 per GB per month, so 8 GB cost $0.004 an hour. */
beforeEach(async () => {
  machineId += 1
  await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
  actor = await gateway.newActor()
})

const [gpuRate, diskRate] = [400_000_000n, 4_000_000n]
const [minute, hour] = [60_000, 3_600_000]

async function advanceTime(ms: number): Promise<void> {
  await gateway.idle()
  for (let left = ms; left > 0; left -= 10_000) {
    clock.advance(Math.min(left, 10_000))
    await gateway.idle()
  }
}

async function rent(options: RentOptions = {}, by = actor): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  return (await gateway.rent(by, BigInt(offer?.['id'] as string), options)).id
}

async function rentRunning(options: RentOptions = {}): Promise<bigint> {
  const id = await rent(options)
  await advanceTime(minute)
  expect(await meterOf(id)).toMatchObject({ rate: options.terms?.interruptible ? options.terms.bidNanos : gpuRate })
  return id
}

const update = (id: bigint, targetState: 'running' | 'stopped') =>
  gateway.services.instances.update(actor, { ids: [id] }, { targetState })
const destroy = (id: bigint) => gateway.services.instances.destroy(actor, { ids: [id] })
const terms = (bidNanos: bigint) => ({ terms: { interruptible: true, bidNanos } as const })

async function meterOf(id: bigint, kind = 'gpu') {
  const [row] = await gateway.sql(
    `SELECT rate_nanos, since, carried, charged_nanos, (SELECT array_agg(at) FROM meter_ends WHERE meter_id = m.id) AS ends
     FROM meters m WHERE instance_id = $1 AND kind = $2::charge_kind`,
    [id, kind],
  )
  const { rate_nanos, since, carried, charged_nanos, ends } = row as Record<string, unknown>
  const [rate, charged] = [BigInt(rate_nanos as string), BigInt(charged_nanos as string)]
  return { rate, charged, since: since as Date, carried: carried as number, ends: ends as Date[] | null }
}

/** The ledger entries of an instance: kind, amount and period. */
async function entriesOf(id: bigint) {
  const rows = await gateway.sql(
    `SELECT l.kind, amount_nanos, period_start, period_end FROM ledger_entries l JOIN meters m ON m.id = l.meter_id
     WHERE m.instance_id = $1 ORDER BY l.id`,
    [id],
  )
  return rows.map(({ kind, amount_nanos, period_start, period_end }) => ({
    kind: kind as string,
    amount: BigInt(amount_nanos as string),
    start: period_start as Date,
    end: period_end as Date,
  }))
}

/** Runs work with the lock of the account. */
async function withLockedAccount(
  work: (tx: Transaction, account: AccountBalance) => Promise<unknown>,
  at = clock.now(),
) {
  await transaction(gateway.database, async tx => {
    await work(tx, await lockAccount(tx, actor.accountId, at))
  })
}
const postAll = (at?: Date) => withLockedAccount((tx, account) => chargeMeters(tx, account, Prisma.sql`true`), at)
const balance = () => readBalance(gateway.database, actor.accountId, clock.now())
const credit = async () => creditStatusOf(await balance()).creditNanos

/** Records when the GPU meter ends. Like the market, it does not lock the account. */
async function endLater(id: bigint, at: Date): Promise<void> {
  await gateway.sql(
    `INSERT INTO meter_ends (meter_id, account_id, at)
     SELECT id, account_id, $2 FROM meters WHERE instance_id = $1 AND kind = 'gpu'`,
    [id, at],
  )
}

const cost = (rate: bigint, from: Date, to: Date) => (rate * BigInt(to.getTime() - from.getTime())) / 3_600_000n

describe('GPUs', () => {
  it('are charged while their instance runs: from its start until it stops, and from its next start', async () => {
    const id = await rent()
    expect(await meterOf(id)).toMatchObject({ rate: 0n })
    await advanceTime(minute)
    const [started] = await gateway.sql('SELECT started_at FROM instances WHERE id = $1', [id])
    const since = started?.['started_at'] as Date
    expect(await meterOf(id)).toMatchObject({ rate: gpuRate, since, charged: 0n })
    clock.advance(hour)
    const stopped = clock.now()
    await update(id, 'stopped')
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: stopped, charged: cost(gpuRate, since, stopped) })
    const entry = { kind: 'gpu', amount: -cost(gpuRate, since, stopped), start: since, end: stopped }
    expect(await entriesOf(id)).toEqual([entry])
    await advanceTime(hour)
    await update(id, 'running')
    await advanceTime(minute)
    const again = (await meterOf(id)).since
    expect(again.getTime()).toBeGreaterThan(stopped.getTime() + hour)
    clock.advance(minute)
    await destroy(id)
    const end = clock.now()
    expect((await entriesOf(id)).filter(({ kind }) => kind === 'gpu').slice(1)).toEqual([
      { kind: 'gpu', amount: -cost(gpuRate, again, end), start: again, end },
    ])
  })

  it('are charged on when their instance gets another label', async () => {
    const id = await rentRunning()
    const meter = await meterOf(id)
    clock.advance(minute)
    await gateway.services.instances.update(actor, { ids: [id] }, { label: 'renamed' })
    expect(await meterOf(id)).toEqual(meter)
  })

  it('cost nothing if the instance never ran', async () => {
    const made = clock.now()
    const id = await rent()
    clock.advance(hour)
    await update(id, 'stopped')
    await destroy(id)
    expect(await entriesOf(id)).toEqual([{ kind: 'disk', amount: -diskRate, start: made, end: clock.now() }])
    await advanceTime(minute)
    expect(await meterOf(id)).toMatchObject({ rate: 0n, charged: 0n, ends: null })
    clock.advance(hour)
    await destroy(id)
    expect(await entriesOf(id)).toHaveLength(1)
  })

  it('cost nothing after their container exits on its own', async () => {
    const id = await rentRunning()
    const ended = new Date(clock.now().getTime() + 35_017)
    await gateway.sql('UPDATE simulated_containers SET exit_code = 1, ends_at = $2 WHERE instance_id = $1', [id, ended])
    await advanceTime(2 * minute)
    const [row] = await gateway.sql('SELECT status FROM instances WHERE id = $1', [id])
    expect(row?.['status']).toBe('exited')
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: ended })
    expect(await meterOf(id, 'disk')).toMatchObject({ rate: diskRate })
  })
})

describe('a bid', () => {
  it('applies from the time it was made; earlier time is charged at the earlier bid', async () => {
    const id = await rentRunning(terms(300_000_000n))
    const { since } = await meterOf(id)
    clock.advance(hour)
    await gateway.services.instances.updateBid(actor, id, 350_000_000n)
    const changed = clock.now()
    expect(await entriesOf(id)).toEqual([
      { kind: 'gpu', amount: -cost(300_000_000n, since, changed), start: since, end: changed },
    ])
    expect(await meterOf(id)).toMatchObject({ rate: 350_000_000n, since: changed })
  })

  it('costs nothing while its instance is stopped, even if the bid is changed', async () => {
    const id = await rentRunning(terms(300_000_000n))
    await update(id, 'stopped')
    await gateway.services.instances.updateBid(actor, id, 350_000_000n)
    expect(await meterOf(id)).toMatchObject({ rate: 0n })
  })

  it('costs nothing after it is outbid, even if the account is charged later', async () => {
    const id = await rentRunning(terms(300_000_000n))
    const [{ since }, { since: made }] = [await meterOf(id), await meterOf(id, 'disk')]
    clock.advance(hour)
    const rival = await gateway.newActor()
    const outbid = clock.now()
    await rent(terms(500_000_000n), rival)
    expect(await meterOf(id)).toMatchObject({ rate: 300_000_000n, ends: [outbid] })
    const spent = cost(300_000_000n, since, outbid)
    await advanceTime(hour)
    expect(await credit()).toBe(1_000_000_000_000n - spent - cost(diskRate, made, clock.now()))
    await postAll()
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: outbid, charged: spent, ends: null })
  })

  it('keeps the end of its charges that a gateway with a fast clock recorded, even if the bid is changed', async () => {
    const id = await rentRunning(terms(300_000_000n))
    const end = new Date(clock.now().getTime() + 5_000)
    await endLater(id, end)
    await gateway.services.instances.updateBid(actor, id, 350_000_000n)
    expect(await meterOf(id)).toMatchObject({ rate: 350_000_000n, ends: [end] })
    clock.advance(hour)
    await postAll()
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: end })
  })

  it('ignores a late end from before its instance ran again', async () => {
    const id = await rentRunning(terms(300_000_000n))
    await update(id, 'stopped')
    await endLater(id, clock.now())
    clock.advance(minute)
    await withLockedAccount((tx, account) => startGpuMeters(tx, account, [id]))
    expect(await meterOf(id)).toMatchObject({ rate: 300_000_000n, since: clock.now(), ends: null })
  })

  it('keeps no end that was recorded after its instance stopped', async () => {
    const id = await rentRunning(terms(300_000_000n))
    await update(id, 'stopped')
    const entries = await entriesOf(id)
    clock.advance(minute)
    await endLater(id, clock.now())
    await postAll()
    expect(await meterOf(id)).toMatchObject({ rate: 0n, ends: null })
    expect((await entriesOf(id)).filter(({ kind }) => kind === 'gpu')).toEqual(entries)
  })

  it('is charged again when its instance runs again, even if a recorded end is in the future', async () => {
    const id = await rentRunning(terms(300_000_000n))
    await update(id, 'stopped')
    const end = new Date(clock.now().getTime() + 5_000)
    await endLater(id, end)
    await withLockedAccount((tx, account) => startGpuMeters(tx, account, [id]))
    expect(await meterOf(id)).toMatchObject({ rate: 300_000_000n, since: clock.now() })
  })
})

describe('a posted charge', () => {
  it('is refunded for the time after the last heartbeat of a lost machine, to the nano-dollar', async () => {
    const id = await rentRunning()
    const [since, made] = [(await meterOf(id)).since, (await meterOf(id, 'disk')).since]
    await gateway.operations.machines.unplug(machineId)
    const [row] = await gateway.sql('SELECT seen_at FROM instance_looks WHERE instance_id = $1', [id])
    const seen = row?.['seen_at'] as Date
    // Two charges on the way: the refund covers a part of one entry and all of another.
    await advanceTime(2 * minute)
    await postAll()
    await advanceTime(2 * minute)
    await postAll()
    await advanceTime(3 * minute)
    const [{ status } = {}] = await gateway.sql('SELECT status FROM instances WHERE id = $1', [id])
    expect(status).toBe('offline')
    const entries = await entriesOf(id)
    const total = (kinds: string[], meter: bigint) =>
      entries.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { amount }) => sum + amount, meter)
    expect(entries.filter(({ kind }) => kind === 'refund')).toHaveLength(2)
    expect(total(['gpu', 'disk', 'refund'], 0n)).toBe(-cost(gpuRate, since, seen) - cost(diskRate, made, seen))
    expect(await meterOf(id)).toMatchObject({ rate: 0n, charged: cost(gpuRate, since, seen) })
    expect(await meterOf(id, 'disk')).toMatchObject({ rate: 0n, charged: cost(diskRate, made, seen) })
    // A second refund changes nothing.
    await withLockedAccount((tx, account) => refundAfter(tx, account, instanceMetersSql([id]), seen, 'a test'))
    expect(await entriesOf(id)).toEqual(entries)
    await destroy(id)
    await advanceTime(hour)
    await postAll()
    expect(await entriesOf(id)).toEqual(entries)
  })

  it('is refunded for the second run of an instance when its machine is lost', async () => {
    const id = await rentRunning()
    const first = (await meterOf(id)).since
    clock.advance(hour)
    const stopped = clock.now()
    await update(id, 'stopped')
    await advanceTime(minute)
    await update(id, 'running')
    await advanceTime(minute)
    const { since } = await meterOf(id)
    await gateway.operations.machines.unplug(machineId)
    const [row] = await gateway.sql('SELECT seen_at FROM instance_looks WHERE instance_id = $1', [id])
    const seen = row?.['seen_at'] as Date
    await advanceTime(2 * minute)
    await postAll()
    await advanceTime(5 * minute)
    const [{ status } = {}] = await gateway.sql('SELECT status FROM instances WHERE id = $1', [id])
    expect(status).toBe('offline')
    // The parts carried from the first run may make one more nano-dollar in the second.
    const beyond = (await meterOf(id)).charged - cost(gpuRate, first, stopped) - cost(gpuRate, since, seen)
    expect([0n, 1n]).toContain(beyond)
    expect(await entriesOf(id)).toContainEqual(expect.objectContaining({ kind: 'refund', start: seen }))
  })

  it('is not refunded when it ends no later than the instant of the refund', async () => {
    const id = await rentRunning()
    await postAll()
    const entries = await entriesOf(id)
    await withLockedAccount((tx, account) => refundAfter(tx, account, instanceMetersSql([id]), clock.now(), 'a test'))
    expect(await entriesOf(id)).toEqual(entries)
  })

  it('is not repeated by a second charge or by a clock that stepped back', async () => {
    const id = await rentRunning()
    clock.advance(hour)
    await postAll()
    const [entries, before] = [await entriesOf(id), await meterOf(id)]
    await postAll()
    await postAll(new Date(clock.now().getTime() - hour))
    expect(await entriesOf(id)).toEqual(entries)
    // The time of an account does not go back.
    const past = await readBalance(gateway.database, actor.accountId, new Date(clock.now().getTime() - hour))
    expect([past.at, creditStatusOf(past)]).toEqual([clock.now(), creditStatusOf(await balance())])
    const early = openGateway({ url: testDatabase.url, now: () => new Date(clock.now().getTime() - hour) })
    await early.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    await early.close()
    expect(await entriesOf(id)).toEqual(entries)
    expect(await meterOf(id)).toEqual({ ...before, rate: 0n })
  })

  it('ends at an earlier instant if requested', async () => {
    const id = await rentRunning()
    const { since } = await meterOf(id)
    clock.advance(hour)
    const until = new Date(since.getTime() + 30 * minute)
    const of = Prisma.sql`m.instance_id = ${id} AND m.kind = 'gpu'`
    await withLockedAccount((tx, account) => stopMeters(tx, account, of, until))
    expect(await entriesOf(id)).toEqual([
      { kind: 'gpu', amount: -cost(gpuRate, since, until), start: since, end: until },
    ])
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: until })
  })
})

describe('when the credit ends', () => {
  const setCredit = (nanos: bigint) =>
    gateway.sql(
      `INSERT INTO ledger_entries (account_id, kind, amount_nanos, note, posted_at)
       SELECT id, 'adjustment', $2::bigint - posted_nanos, 'a test', $3 FROM accounts WHERE id = $1`,
      [actor.accountId, nanos, clock.now()],
    )

  it('charges no GPUs after the last paid millisecond, however late a gateway comes', async () => {
    const id = await rentRunning()
    await postAll()
    const { since } = await meterOf(id)
    // Credit for an hour, and up to two nano-dollars that were carried.
    await setCredit(404_000_002n)
    clock.advance(3 * hour)
    const ended = new Date(since.getTime() + hour)
    expect(creditStatusOf(await balance())).toMatchObject({ hasEnded: true, endsAt: ended })
    const before = await credit()
    expect(before + 2n * diskRate >= 0n && before + 2n * diskRate <= 2n).toBe(true)
    await gateway.operations.accounts.grantCredit(await emailOf(), { amountNanos: 1_000_000_000n })
    expect(await meterOf(id)).toMatchObject({ ends: [ended] })
    await withLockedAccount(async () => {})
    expect(await balance()).toMatchObject({ creditEndedAt: ended })
    // Once the end is recorded, the remainder of the GPUs at that instant is not charged.
    const dropped = (await credit()) - (1_000_000_000n + before)
    expect([0n, 1n]).toContain(dropped)
    // The instance runs until it is stopped, and its GPUs cost nothing.
    await withLockedAccount((tx, account) => startGpuMeters(tx, account, [id]))
    await advanceTime(minute)
    await postAll()
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: ended, ends: null })
    const last = (await entriesOf(id)).findLast(({ kind }) => kind === 'gpu')
    expect(last).toEqual({ kind: 'gpu', amount: -gpuRate, start: since, end: ended })
  })

  async function emailOf(): Promise<string> {
    const [row] = await gateway.sql('SELECT email FROM accounts WHERE id = $1', [actor.accountId])
    return row?.['email'] as string
  }

  it('keeps an earlier end of a meter', async () => {
    const id = await rentRunning(terms(300_000_000n))
    await postAll()
    const { since } = await meterOf(id)
    await setCredit(1_000_000n)
    // $0.001 lasts for 11.8 seconds at $0.304 an hour. The instance was outbid after 5 seconds.
    const outbid = new Date(since.getTime() + 5_000)
    await endLater(id, outbid)
    clock.advance(10 * hour)
    await withLockedAccount(async () => {})
    const before = await credit()
    await postAll()
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: outbid })
    expect(await credit()).toBe(before)
  })
})

describe('the lock order', () => {
  const all = Prisma.sql`true`
  /** Runs work while another transaction holds locks that precede the lock of an account. */
  async function whileTaken(take: (tx: Transaction) => Promise<unknown>, work: () => Promise<unknown>): Promise<void> {
    await transaction(gateway.database, async tx => {
      await take(tx)
      await work()
    })
  }

  it('lets a transaction on an account run while instances, volumes and machines are locked', async () => {
    const id = await rentRunning()
    const { volume } = await gateway.services.volumes.create(actor, { machineId, sizeGb: 10 })
    clock.advance(minute)
    await whileTaken(
      async tx => {
        await lockMachine(tx, machineId)
        await lockInstances(tx, [id])
        await loadVolumeFacts(tx, actor, [volume.id])
      },
      () => withLockedAccount((tx, account) => stopMeters(tx, account, all)),
    )
    expect(await meterOf(id)).toMatchObject({ rate: 0n })
  })

  it('lets a transaction write an instance twice while its machine is locked', async () => {
    const id = await rentRunning()
    const steps = [{ id, outcome: 'applied', targetState: 'stopped' }] as const
    await whileTaken(
      tx => lockMachine(tx, machineId),
      () =>
        transaction(gateway.database, async tx => {
          const locked = await lockInstances(tx, [id])
          await applyPlans(tx, { actor: systemActor, reason: 'USER_REQUEST' }, [...steps], locked, clock.now())
          await tx.execute(Prisma.sql`UPDATE instances SET policy_due_at = NULL WHERE id = ${id}`)
        }),
    )
    expect(await meterOf(id)).toMatchObject({ rate: 0n })
  })
})

it('makes an account due when its money changes, and keeps an earlier due time', async () => {
  const dueAt = async () =>
    (await gateway.sql('SELECT billing_due_at FROM accounts WHERE id = $1', [actor.accountId]))[0]?.['billing_due_at']
  const first = clock.now()
  expect(await dueAt()).toEqual(first)
  clock.advance(hour)
  await withLockedAccount(async () => {})
  expect(await dueAt()).toEqual(first)
  await gateway.sql('UPDATE accounts SET billing_due_at = NULL WHERE id = $1', [actor.accountId])
  const wakes = gateway.wakeCount()
  await withLockedAccount(async () => {})
  expect(await dueAt()).toEqual(clock.now())
  await expect.poll(() => gateway.wakeCount()).toBeGreaterThan(wakes)
})

describe('the lock of an account', () => {
  /** How often the work writes accounts. */
  async function countWrites(tx: Transaction, work: () => Promise<unknown>): Promise<number> {
    const statement = Prisma.sql`SELECT n_tup_upd AS writes FROM pg_stat_xact_user_tables WHERE relname = 'accounts'`
    const read = async () => Number((await tx.query(statement, { writes: int8 }))[0]?.writes)
    const before = await read()
    await work()
    return (await read()) - before
  }
  const setDue = (at: Date | null) =>
    gateway.sql('UPDATE accounts SET billing_due_at = $2 WHERE id = $1', [actor.accountId, at])
  const dueAt = async () =>
    (await gateway.sql('SELECT billing_due_at FROM accounts WHERE id = $1', [actor.accountId]))[0]?.['billing_due_at']

  it.each([
    ['does not write the account if it is due', () => clock.now(), 0],
    ['makes the account due if it is not', () => null, 1],
    ['makes the account due earlier', () => new Date(clock.now().getTime() + 1), 1],
  ])('%s', async (_, due, writes) => {
    await setDue(due())
    await transaction(gateway.database, async tx => {
      const { accountId } = actor
      expect(await countWrites(tx, () => lockAccount(tx, accountId, clock.now()))).toBe(writes)
    })
    expect(await dueAt()).toEqual(clock.now())
  })

  it('makes the account due if a transaction that had the lock before has done what was due', async () => {
    await setDue(clock.now())
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('UPDATE accounts SET billing_due_at = NULL WHERE id = $1', [actor.accountId])
      const locking = withLockedAccount(async () => {})
      await waitUntilBlocksOthers(session)
      await session.query('COMMIT')
      await locking
    })
    expect(await dueAt()).toEqual(clock.now())
  })

  it('is taken for several accounts at once, whose instances stop with as many statements as those of one', async () => {
    const rented = [{ id: await rentRunning(), by: actor }]
    while (rented.length < 4) {
      machineId += 1
      await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
      const by = await gateway.newActor()
      rented.push({ id: await rent({}, by), by })
    }
    await advanceTime(hour)
    await gateway.sql('UPDATE accounts SET billing_due_at = $1', [clock.now()])
    const stop = (chosen: typeof rented) =>
      captureQueries(() =>
        transaction(gateway.database, async tx => {
          const ids = chosen.map(({ id }) => id)
          const locked = await lockInstances(tx, ids)
          const steps = ids.map(id => ({ id, outcome: 'applied', targetState: 'stopped' }) as const)
          const cause = { actor: systemActor, reason: 'USER_REQUEST' } as const
          const writes = await countWrites(tx, () => applyPlans(tx, cause, steps, locked, clock.now()))
          // For each account: its charges, and its rates.
          expect(writes).toBe(2 * chosen.length)
        }),
      )
    const [first, ...others] = rented
    const statements = await stop(first ? [first] : [])
    expect((await stop(others)).map(text => text.trim().slice(0, 20))).toEqual(
      statements.map(text => text.trim().slice(0, 20)),
    )
    for (const { id, by } of rented) {
      expect(await meterOf(id)).toMatchObject({ rate: 0n, since: clock.now() })
      const last = (await entriesOf(id)).filter(({ kind }) => kind === 'gpu').at(-1)
      expect(last).toMatchObject({ end: clock.now(), amount: -cost(gpuRate, last?.start as Date, clock.now()) })
      const { gpuRateNanos } = await readBalance(gateway.database, by.accountId, clock.now())
      expect(gpuRateNanos).toBe(0n)
    }
    const accounts = rented.map(({ by }) => by.accountId)
    await transaction(gateway.database, async tx => {
      const ids = rented.map(({ id }) => id)
      await startGpuMeters(tx, await lockAccounts(tx, accounts.toReversed(), clock.now()), ids)
    })
    for (const { id } of rented) expect(await meterOf(id)).toMatchObject({ rate: gpuRate, since: clock.now() })
    expect(await brokenLaws(gateway.sql)).toEqual([])
  })

  it('charges each meter up to its own instant', async () => {
    const id = await rentRunning()
    clock.advance(hour)
    const earlier = (ms: number) => new Date(clock.now().getTime() - ms)
    await withLockedAccount((tx, account) =>
      stopMeters(tx, [account], instanceMetersSql([id]), ({ kind }) => earlier(kind === 'gpu' ? 7 : 5)),
    )
    expect(await meterOf(id)).toMatchObject({ rate: 0n, since: earlier(7) })
    expect(await meterOf(id, 'disk')).toMatchObject({ rate: 0n, since: earlier(5) })
  })
})
