// Gateways with wrong clocks, on a database with the right clock. The gateways use the clock of this process.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/client.ts'
import { Prisma } from '../../../src/database/generated/client.ts'
import { type Transaction, transaction } from '../../../src/database/transaction.ts'
import { lockMachine } from '../../../src/services/machines/lock.ts'
import { hourMs, newAccount } from '../../support/accounts/accounts.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { brokenLaws } from '../../support/billing/ledger-laws.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { urlAs } from '../../support/database/roles.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { rentalsOf } from '../../support/instances/rentals.ts'
import { findInstantsAhead } from '../../support/instants-ahead.ts'

const minuteMs = 60_000
/** $10. */
const creditNanos = 10_000_000_000n

let app: TestApp
let database: Database

beforeAll(async () => {
  app = await startApp({ now: undefined, simulatedDelay: 0 })
  database = openDatabase({ url: urlAs('app', app.database.url), poolSize: 4, onIdleError: () => {} })
})

afterAll(async () => {
  await database.close()
  await app.close()
})

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() }))
afterEach(() => void vi.useRealTimers())

const jumpClock = (ms: number) => vi.setSystemTime(Date.now() + ms)
const queryRow = async <Row>(text: string) => (await app.sql(text))[0] as Row
const readDatabaseTime = async () => (await queryRow<{ at: Date }>('SELECT clock_timestamp() AS at')).at

async function expectNothingAhead(): Promise<void> {
  expect(await findInstantsAhead(app.sql)).toEqual([])
  expect(await brokenLaws(app.sql)).toEqual([])
}

describe.each([
  ['5 minutes ahead', 5 * minuteMs],
  ['5 minutes behind', -5 * minuteMs],
])('a gateway that is %s', (_, offMs) => {
  const stop = (key: string, id: number) => app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' })

  it('charges an instance until the time of the stop request', async () => {
    const account = await newAccount(app, creditNanos)
    const { id, since } = await account.rentRunning()
    await sleep(300)
    jumpClock(offMs)
    const before = await readDatabaseTime()
    await stop(account.key, id)
    const after = await readDatabaseTime()
    const [charge] = await account.entries("e.kind = 'gpu'")
    expect(charge?.start).toEqual(since)
    expect(charge?.end?.getTime()).toBeGreaterThanOrEqual(before.getTime() - 1)
    expect(charge?.end?.getTime()).toBeLessThanOrEqual(after.getTime())
    await expectNothingAhead()
  })

  it('charges a later rental correctly after a stop', async () => {
    const account = await newAccount(app, creditNanos)
    const first = await account.rentRunning()
    jumpClock(offMs)
    await stop(account.key, first.id)
    jumpClock(-offMs)
    const { id, since } = await account.rentRunning()
    await sleep(300)
    await stop(account.key, id)
    const charges = await account.entries(`e.kind = 'gpu' AND m.instance_id = ${id}`)
    const [charge] = charges
    const ms = (charge?.end?.getTime() ?? 0) - since.getTime()
    expect(charges).toHaveLength(1)
    expect(ms).toBeGreaterThanOrEqual(290)
    expect(charge?.amount).toBe((-BigInt(ms) * (charge?.rate ?? 0n)) / BigInt(hourMs))
    await expectNothingAhead()
  })

  it("shows an account's balance and runway by the time of the database", async () => {
    const account = await newAccount(app, creditNanos)
    const { id } = await account.rentRunning()
    jumpClock(offMs)
    const before = await readDatabaseTime()
    const instance = await rentalsOf(app).read(account.key, id)
    const readAt = (instance.end_date - instance.duration) * 1_000
    const { viewer } = (await app.graphql(account.key, '{ viewer { account { runwaySeconds } } }')).data
    const after = await readDatabaseTime()
    expect(readAt).toBeGreaterThanOrEqual(before.getTime() - 1)
    expect(readAt).toBeLessThanOrEqual(after.getTime() + 1)
    const { rate } = await queryRow<{ rate: string }>(
      `SELECT sum(rate_nanos) AS rate FROM meters WHERE account_id = ${account.id}`,
    )
    const runwaySeconds = (3_600 * Number(creditNanos)) / Number(rate)
    expect(Math.abs(viewer.account.runwaySeconds - runwaySeconds)).toBeLessThan(minuteMs / 1_000)
  })

  it('is ready, does due work and writes no time ahead of the database', async () => {
    const account = await newAccount(app, creditNanos)
    const rentals = rentalsOf(app)
    jumpClock(offMs)
    expect((await app.fetch(new Request('http://berth.test/ready'))).status).toBe(200)
    const id = await rentals.rent(account.key)
    await rentals.converge()
    expect((await rentals.read(account.key, id)).actual_status).toBe('running')
    await app.rest(account.key, 'DELETE', `/instances/${id}/`)
    await rentals.converge()
    expect((await account.instance(id))['removed_at']).toBeInstanceOf(Date)
    await expectNothingAhead()
  })

  it('accepts a key until it expires by the clock of the database', async () => {
    const account = await newAccount(app, 0n)
    const createExpiringKey = async (interval: string) => {
      await app.sql(
        `UPDATE api_keys SET expires_at = clock_timestamp() + interval '${interval}' WHERE account_id = ${account.id}`,
      )
      return (await app.rest(account.key, 'GET', '/users/current/')).status
    }
    jumpClock(offMs)
    expect([await createExpiringKey('1 minute'), await createExpiringKey('-1 minute')]).toEqual([200, 401])
  })
})

describe('a lease', () => {
  let [right, wrong]: Gateway[] = []
  const open = () => openGateway({ url: app.database.url, delayFactor: 0 })

  beforeAll(() => {
    ;[right, wrong] = [open(), open()]
  })
  afterAll(async () => {
    await right?.close()
    await wrong?.close()
  })

  it('holds against a gateway whose clock is ahead', async () => {
    const account = await newAccount(app, creditNanos)
    const id = BigInt(await rentalsOf(app).rent(account.key))
    const leaseBy = (gateway: Gateway | undefined) => gateway?.reconciliation.leaseDue(100)
    const [lease] = (await leaseBy(right)) ?? []
    expect(lease?.instanceId).toBe(id)
    jumpClock(5 * minuteMs)
    expect(await leaseBy(wrong)).toEqual([])
    expect(await queryRow(`SELECT leased_until FROM instance_looks WHERE instance_id = ${id}`)).toEqual({
      leased_until: lease?.leasedUntil,
    })
    await app.sql(`UPDATE instance_looks SET leased_until = clock_timestamp() WHERE instance_id = ${id}`)
    expect((await leaseBy(wrong))?.map(({ instanceId }) => instanceId)).toEqual([id])
    await app.sql(`UPDATE instance_looks SET leased_until = NULL WHERE instance_id = ${id}`)
  })

  it('holds nothing after it expired, even if no other gateway has leased the instance', async () => {
    const account = await newAccount(app, creditNanos)
    const id = await rentalsOf(app).rent(account.key)
    const leases = (await right?.reconciliation.leaseDue(100)) ?? []
    const lease = leases.find(({ instanceId }) => instanceId === BigInt(id)) as (typeof leases)[number]
    expect(await right?.reconciliation.occupyGpus(lease)).toBe(true)
    const late = { ...lease, leasedUntil: await readDatabaseTime() }
    await app.sql(
      `UPDATE instance_looks SET leased_until = '${late.leasedUntil.toISOString()}' WHERE instance_id = ${id}`,
    )
    expect(await right?.reconciliation.occupyGpus(late)).toBe(false)
    await app.sql(`UPDATE instance_looks SET leased_until = NULL WHERE instance_id = ${id}`)
    await app.runUntilIdle()
  })
})

describe('a gateway whose machine was suspended', () => {
  it('records observations at the time of the database, from the first pass on', async () => {
    const gateway = openGateway({ url: app.database.url, delayFactor: 0 })
    const account = await newAccount(app, creditNanos)
    const { id } = await account.rentRunning()
    await transaction(gateway.database, () => Promise.resolve())
    // During a suspension, neither clock of the process advances.
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: Date.now() })
    await sleep(1_000)
    const resumedAt = await readDatabaseTime()
    await app.sql(`UPDATE instance_looks SET due_at = clock_timestamp() WHERE instance_id = ${id}`)
    const [lease] = await gateway.reconciliation.leaseDue(1)
    if (!lease) throw new Error('Nothing is due.')
    await gateway.reconcile(lease)
    const seenAt = (await account.look(id))['seen_at'] as Date
    expect(seenAt.getTime()).toBeGreaterThanOrEqual(resumedAt.getTime())
    await expectNothingAhead()
    await gateway.close()
  })
})

describe('a transaction', () => {
  it('reads the clock of the database without another round trip', async () => {
    // A new connection sends further statements.
    await transaction(database, tx => tx.execute(Prisma.sql`SELECT 1`))
    const statements = await captureQueries(() => transaction(database, tx => tx.execute(Prisma.sql`SELECT 1`)))
    expect(statements).toEqual([expect.stringMatching(/^BEGIN; SELECT clock_timestamp\(\)/), 'SELECT 1', 'COMMIT'])
  })

  it('has a new time for each attempt', async () => {
    const instants: number[] = []
    await transaction(database, async tx => {
      instants.push(tx.at.getTime())
      await tx.execute(Prisma.sql`SELECT pg_sleep(0.01)`)
      if (instants.length < 3) throw Object.assign(new Error('conflict'), { code: '40001' })
    })
    expect(instants).toHaveLength(3)
    expect(instants).toEqual([...new Set(instants)].toSorted((a, b) => a - b))
  })

  it('never goes back in time, even if the clock of the database does', async () => {
    const [began, at] = await transaction(database, async tx => {
      const began = tx.at
      tx.advanceTo(new Date(began.getTime() - 2 * minuteMs))
      return [began, tx.at]
    })
    expect(at).toEqual(began)
  })

  it('that waited for a machine has a later time than the transaction that held the machine', async () => {
    await rentalsOf(app).newOffer()
    const { id } = await queryRow<{ id: number }>('SELECT max(id) AS id FROM machines')
    const lockAndRead = async (tx: Transaction) => {
      const began = tx.at
      await lockMachine(tx, id)
      return { began, at: tx.at }
    }
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM machines WHERE id = $1 FOR NO KEY UPDATE', [id])
      const waiting = transaction(database, lockAndRead)
      await waitUntilBlocksOthers(session)
      const { rows } = await session.query('SELECT clock_timestamp() AS at')
      await session.query('COMMIT')
      const { began, at } = await waiting
      expect(began.getTime()).toBeLessThanOrEqual(rows[0].at.getTime())
      expect(at.getTime()).toBeGreaterThanOrEqual(rows[0].at.getTime())
    })
  })

  it('that waited for a machine charges no GPU of the machine twice', async () => {
    const [first, second] = [await newAccount(app, creditNanos), await newAccount(app, creditNanos)]
    const rentals = rentalsOf(app)
    const offerId = await rentals.newOffer()
    const bid = await app.rest(first.key, 'PUT', `/asks/${offerId}/`, { image: 'ubuntu', price: 1 })
    const outbidId = bid.body.new_contract as number
    await rentals.converge()
    const { machine } = await queryRow<{ machine: number }>(
      `SELECT machine_id AS machine FROM instances WHERE id = ${outbidId}`,
    )
    const offer = await queryRow<{ id: string }>(
      `SELECT id FROM offers WHERE machine_id = ${machine} AND withdrawn_at IS NULL AND rentable`,
    )
    const { freedAt, rented } = await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM machines WHERE id = $1 FOR NO KEY UPDATE', [machine])
      const renting = app.rest(second.key, 'PUT', `/asks/${offer.id}/`, { image: 'ubuntu' })
      await waitUntilBlocksOthers(session)
      await sleep(200)
      const { rows } = await session.query('SELECT clock_timestamp() AS at')
      await session.query('COMMIT')
      return { freedAt: rows[0].at as Date, rented: await renting }
    })
    expect([bid.status, rented.status]).toEqual([200, 200])
    await expect
      .poll(async () => {
        await app.sql(
          'UPDATE instance_looks SET due_at = clock_timestamp() FROM instances WHERE id = instance_id AND destroyed_at IS NULL',
        )
        await app.runUntilIdle()
        return (await rentals.read(second.key, rented.body.new_contract)).actual_status
      })
      .toBe('running')
    await app.rest(second.key, 'PUT', `/instances/${rented.body.new_contract}/`, { state: 'stopped' })
    const [[lost], [won]] = [await first.entries("e.kind = 'gpu'"), await second.entries("e.kind = 'gpu'")]
    expect(lost?.end?.getTime()).toBeGreaterThanOrEqual(freedAt.getTime())
    expect(won?.start?.getTime()).toBeGreaterThanOrEqual(lost?.end?.getTime() as number)
    await expectNothingAhead()
  })

  it('finds due work by an index, since its clock is constant within a statement', async () => {
    const plan = await transaction(database, async tx => {
      await tx.execute(Prisma.sql`SET LOCAL enable_seqscan = off`)
      const explain = Prisma.sql`EXPLAIN SELECT FROM instance_looks WHERE due_at <= ${tx.nowSql}`
      return await tx.read(explain, { toRow: ([line]) => line })
    })
    expect(plan.join(' ')).toMatch(/Index Cond: \(due_at <= date_trunc/)
  })
})
