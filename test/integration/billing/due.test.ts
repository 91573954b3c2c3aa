import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { transaction } from '../../../src/database/transaction.ts'
import { createBillingLoop } from '../../../src/reconciler/loops.ts'
import { lockAccount } from '../../../src/services/billing/balance.ts'
import { lockTargets, performAction } from '../../../src/services/billing/due/actions.ts'
import { dueBillingServices } from '../../../src/services/billing/due/due.ts'
import { hourMs, newAccount, type TestAccount } from '../../support/accounts/accounts.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { type Rentals, rentalsOf } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

// Prices of the test machines: GPUs $0.4 an hour, and the smallest disk $0.004.
const gpuPriceNanos = 400_000_000n
const diskNanos = 4_000_000n
const dollar = 1_000_000_000n

let app: TestApp
let rentals: Rentals

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

afterAll(() => app.close())

const ms = (instant: Date) => BigInt(instant.getTime())
const now = () => app.clock.now()

async function advanceTime(hours: number): Promise<void> {
  app.clock.advance(Math.round(hours * hourMs))
  await app.runUntilIdle()
}

async function advanceTimeTo(instant: Date): Promise<void> {
  app.clock.advance(instant.getTime() - now().getTime())
  await app.runUntilIdle()
}

/** Calculates the last millisecond that credit pays for, for an instance whose disk is charged since its rental. */
async function endOf(account: TestAccount, { id, since }: { id: number; since: Date }): Promise<Date> {
  const [granted] = await account.entries("e.kind = 'top_up'")
  const created = (await account.instance(id))['created_at'] as Date
  const partsPerNano = 3_600_000n
  const beforehand = diskNanos * (ms(since) - ms(created))
  const left = (granted?.amount ?? 0n) * partsPerNano - beforehand
  return new Date(since.getTime() + Number(left / (gpuPriceNanos + diskNanos)))
}

describe('when credit ends', () => {
  it('stops a running instance at that millisecond with the reason NO_CREDIT', async () => {
    const account = await newAccount(app, dollar)
    const instance = await account.rentRunning()
    const end = await endOf(account, instance)
    await advanceTimeTo(new Date(end.getTime() - 1))
    expect(await account.instance(instance.id)).toMatchObject({ target_state: 'running' })
    await advanceTimeTo(end)
    expect(await account.instance(instance.id)).toMatchObject({ target_state: 'stopped', target_reason: 'NO_CREDIT' })
    expect(await account.eventsLike('INSTANCE_TARGET_CHANGED')).toMatchObject([
      { reason: 'NO_CREDIT', instance_id: String(instance.id), after: { targetState: 'stopped' }, created_at: end },
    ])
    expect(await account.eventsLike('ACCOUNT_CREDIT_ENDED')).toMatchObject([
      { after: { endedAt: end.toISOString() }, created_at: end },
    ])
    await rentals.converge()
    const { data } = await app.graphql(
      account.key,
      `{ instance(id: ${instance.id}) { status statusReason { code message } } }`,
    )
    const statusReason = { code: 'NO_CREDIT', message: 'The account ran out of credit.' }
    expect(data.instance).toEqual({ status: 'STOPPED', statusReason })
    const charged = (gpuPriceNanos * (ms(end) - ms(instance.since))) / 3_600_000n
    const period = { start: instance.since, end, rate: gpuPriceNanos }
    expect(await account.entries("e.kind = 'gpu'")).toMatchObject([{ ...period, amount: -charged }])
    await account.expectLedgerAddsUp()
  })

  it('charges disks but no GPUs afterwards, however late a gateway comes', async () => {
    const account = await newAccount(app, dollar)
    const instance = await account.rentRunning()
    const end = await endOf(account, instance)
    app.clock.advance(10 * hourMs)
    await app.runUntilIdle()
    const charged = (gpuPriceNanos * (ms(end) - ms(instance.since))) / 3_600_000n
    expect(await account.entries("e.kind = 'gpu'")).toMatchObject([{ end, amount: -charged }])
    expect(await account.eventsLike('ACCOUNT_CREDIT_ENDED')).toMatchObject([
      { after: { endedAt: end.toISOString() }, created_at: now() },
    ])
    const owed = (diskNanos * (ms(now()) - ms(end))) / 3_600_000n
    const left = Math.round(Number(await account.credit()) * 1e9)
    expect(Math.abs(left + Number(owed))).toBeLessThan(200)
    expect(left).toBeLessThan(0)
    const start = await app.rest(account.key, 'PUT', `/instances/${instance.id}/`, { state: 'running' })
    expect(start.body).toMatchObject({ success: false, msg: 'You lack credit.' })
  })

  it('stops earlier instances despite new credit, and lets later instances run', async () => {
    const account = await newAccount(app, dollar)
    const instance = await account.rentRunning()
    const end = await endOf(account, instance)
    app.clock.advance(10 * hourMs)
    await account.grant(10n * dollar)
    const other = await rentals.rent(account.key)
    await app.runUntilIdle()
    expect(await account.instance(instance.id)).toMatchObject({ target_state: 'stopped', target_reason: 'NO_CREDIT' })
    expect(await account.instance(other)).toMatchObject({ target_state: 'running' })
    expect(await account.row()).toMatchObject({ credit_ended_at: null, low_credit_hours: null })
    await rentals.converge()
    const open = "SELECT instance_id FROM meters WHERE kind = 'gpu' AND rate_nanos > 0 AND account_id ="
    expect(await app.sql(`${open} ${account.id}`)).toEqual([{ instance_id: String(other) }])
    const answer = await app.rest(account.key, 'PUT', `/instances/${instance.id}/`, { state: 'running' })
    expect(answer.body).toMatchObject({ success: true })
    await rentals.converge()
    expect(await app.sql(`${open} ${account.id}`)).toHaveLength(2)
    const [first, ...rest] = await account.entries(`e.kind = 'gpu' AND m.instance_id = ${instance.id}`)
    expect(first).toMatchObject({ end })
    expect(rest).toEqual([])
  })

  it('stops an instance that waits for its GPUs', async () => {
    const account = await newAccount(app, dollar)
    const offer = await rentals.newOffer()
    const [machine] = (await app.sql(`SELECT machine_id FROM offers WHERE id = ${offer}`)) as { machine_id: number }[]
    const bid = { image: 'ubuntu', price: 0.21 }
    const { body } = await app.rest(account.key, 'PUT', `/asks/${offer}/`, bid)
    await rentals.converge()
    const winner = await app.newKey(null, { creditNanos: 100n * dollar })
    const [other] = (await app.sql(
      `SELECT id FROM offers WHERE machine_id = ${machine?.machine_id} AND withdrawn_at IS NULL`,
    )) as { id: string }[]
    await app.rest(winner, 'PUT', `/asks/${other?.id}/`, { image: 'ubuntu' })
    const outbidAt = now()
    await app.runUntilIdle()
    // The GPUs are charged up to their loss, although nothing else happens to the account.
    const [charged, ...more] = await account.entries("e.kind = 'gpu'")
    expect([charged?.end, more]).toEqual([outbidAt, []])
    expect(await app.sql(`SELECT FROM meter_ends WHERE account_id = ${account.id}`)).toEqual([])
    await advanceTime(24 * 20)
    expect(await account.instance(body.new_contract)).toMatchObject({
      target_state: 'stopped',
      target_reason: 'NO_CREDIT',
    })
  })

  it('warns 24 hours ahead and 1 hour ahead, and again only after credit was added', async () => {
    const account = await newAccount(app, 20n * dollar)
    const instance = await account.rentRunning()
    const end = await endOf(account, instance)
    const ahead = (hours: number) => new Date(end.getTime() - hours * hourMs)
    const notices = async () =>
      (await account.eventsLike('ACCOUNT_%')).map(({ kind, created_at }) => [kind, created_at])
    await advanceTimeTo(new Date(ahead(24).getTime() - 1))
    expect(await notices()).toEqual([])
    await advanceTimeTo(ahead(24))
    await advanceTimeTo(ahead(20))
    expect(await notices()).toEqual([['ACCOUNT_LOW_CREDIT', ahead(24)]])
    await advanceTimeTo(ahead(1))
    const both = [
      ['ACCOUNT_LOW_CREDIT', ahead(24)],
      ['ACCOUNT_LOW_CREDIT', ahead(1)],
    ]
    expect(await notices()).toEqual(both)
    await account.grant(dollar)
    await app.runUntilIdle()
    expect(await notices()).toEqual(both)
    await advanceTime(3)
    expect(await notices()).toEqual([...both, ['ACCOUNT_LOW_CREDIT', now()]])
    await account.grant(50n * dollar)
    await app.runUntilIdle()
    expect(await account.row()).toMatchObject({ low_credit_hours: null })
    await advanceTime(101)
    expect((await notices()).slice(3)).toEqual([['ACCOUNT_LOW_CREDIT', now()]])
    await advanceTime(30)
    expect((await notices()).slice(4)).toEqual([['ACCOUNT_CREDIT_ENDED', now()]])
    await advanceTime(30)
    expect((await account.eventsLike('ACCOUNT_CREDIT_ENDED')).length).toBe(1)
  })
})

describe('debt', () => {
  it('is announced after 24 hours, destroys instances after 48 hours, and then deletes volumes', async () => {
    const account = await newAccount(app, dollar)
    const volumes = volumesOf(app)
    const machineId = await volumes.newMachine()
    const free = await volumes.make(account.key, machineId, 5)
    const instance = await account.rentRunning()
    const { machine_id: onMachine } = await account.instance(instance.id)
    const held = await volumes.make(account.key, Number(onMachine), 5)
    await volumes.attach(held, instance.id)
    await advanceTime(3)
    const { debt_since: since } = await account.row()
    expect(since).toBeInstanceOf(Date)
    const later = (hours: number) => new Date((since as Date).getTime() + hours * hourMs)
    await advanceTimeTo(new Date(later(24).getTime() - 1))
    expect(await account.eventsLike('ACCOUNT_DEBT')).toEqual([])
    await advanceTimeTo(later(24))
    const destroyed = {
      instances: 1,
      volumes: 2,
      instanceIds: [String(instance.id)],
      volumeIds: [String(free), String(held)],
    }
    const after = { since: later(0).toISOString(), destroysAt: later(48).toISOString(), ...destroyed }
    expect(await account.eventsLike('ACCOUNT_DEBT')).toMatchObject([{ created_at: later(24), after }])
    await advanceTimeTo(new Date(later(48).getTime() - 1))
    expect(await account.instance(instance.id)).toMatchObject({ destroyed_at: null })
    await app.operations.machines.unplug(Number(onMachine))
    await advanceTimeTo(later(48))
    expect(await account.instance(instance.id)).toMatchObject({ destroyed_at: later(48), reason_code: 'DEBT' })
    expect(await account.eventsLike('INSTANCE_DESTROYED')).toMatchObject([{ reason: 'DEBT' }])
    // The machine does not answer, so the container is still there. Its volume costs nothing from now on.
    expect(await account.instance(instance.id)).toMatchObject({ removed_at: null })
    const deleted = await app.sql(`SELECT id, deleted_at FROM volumes WHERE account_id = ${account.id} ORDER BY id`)
    expect(deleted).toEqual([free, held].map(id => ({ id: String(id), deleted_at: later(48) })))
    expect(await account.eventsLike('VOLUME_DELETED')).toMatchObject([{ reason: 'DEBT' }, { reason: 'DEBT' }])
    expect(await account.row()).toMatchObject({ disk_rate_nanos: '0', billing_due_at: null })
    const credit = await account.credit()
    await advanceTime(1000)
    expect(await account.credit()).toBe(credit)
    await account.expectLedgerAddsUp()
  })

  it('deletes no volume that an instance holds by the time of the lock', async () => {
    const account = await newAccount(app, dollar)
    const volumes = volumesOf(app)
    const instance = await account.rentRunning()
    const { machine_id: machineId } = await account.instance(instance.id)
    const volume = await volumes.make(account.key, Number(machineId))
    const gateway = openGateway({ url: app.database.url, now: app.clock.now })
    const { database } = gateway
    const at = now()
    // The volume was chosen while it was free and is attached before it is locked.
    const chosen = { instanceIds: [], volume: { id: BigInt(volume), machineId: Number(machineId) } }
    await volumes.attach(volume, instance.id)
    const deleteIt = () =>
      transaction(database, async tx => {
        const targets = await lockTargets(tx, account.id, chosen)
        await performAction(tx, await lockAccount(tx, account.id, at), 'deleteVolumes', targets, at)
      })
    const isDeleted = async () =>
      (await app.sql(`SELECT deleted_at IS NOT NULL AS deleted FROM volumes WHERE id = ${volume}`))[0]
    await deleteIt()
    expect(await isDeleted()).toEqual({ deleted: false })
    await app.sql(`UPDATE volume_attachments SET released_at = now() WHERE volume_id = ${volume}`)
    await deleteIt()
    expect(await isDeleted()).toEqual({ deleted: true })
    await gateway.close()
  })

  it('ends when there is credit again', async () => {
    const account = await newAccount(app, dollar)
    const instance = await account.rentRunning()
    await advanceTime(30)
    expect((await account.row())['debt_warned_at']).not.toBeNull()
    await account.grant(dollar)
    await app.runUntilIdle()
    expect(await account.row()).toMatchObject({ debt_since: null, debt_warned_at: null })
    await advanceTime(60)
    expect(await account.instance(instance.id)).toMatchObject({ destroyed_at: null, target_state: 'stopped' })
  })

  it('destroys nothing within a day of a late warning', async () => {
    const account = await newAccount(app, dollar)
    const instance = await account.rentRunning()
    const end = await endOf(account, instance)
    app.clock.advance(100 * hourMs)
    await app.runUntilIdle()
    const [{ after } = { after: {} as Record<string, unknown> }, ...more] = await account.eventsLike('ACCOUNT_DEBT')
    expect(more).toEqual([])
    // The remainder that was too small for GPUs paid for the disk a moment longer.
    expect(new Date(after['since'] as string).getTime() - end.getTime()).toBeLessThan(100)
    expect(new Date(after['destroysAt'] as string)).toEqual(new Date(now().getTime() + 24 * hourMs))
    await advanceTime(23.9)
    expect(await account.instance(instance.id)).toMatchObject({ destroyed_at: null })
    await advanceTime(0.2)
    expect(await account.instance(instance.id)).toMatchObject({ reason_code: 'DEBT' })
  })
})

describe('billing work with different clocks', () => {
  const billing = ({ database, log }: Gateway) => dueBillingServices({ database, log }, { debtGraceMs: 48 * hourMs })
  let gateway: Gateway
  beforeAll(() => {
    gateway = openGateway({ url: app.database.url, now: app.clock.now })
  })
  afterAll(() => gateway.close())

  it('checks an account once for a future end, and charges it when the end has come', async () => {
    const account = await newAccount(app, 100n * dollar)
    const instance = await account.rentRunning()
    const end = new Date(now().getTime() + 10_000)
    await app.sql(`
      INSERT INTO meter_ends (meter_id, account_id, at) SELECT id, account_id, '${end.toISOString()}' FROM meters
        WHERE instance_id = ${instance.id} AND kind = 'gpu';
      UPDATE accounts SET billing_due_at = '${now().toISOString()}' WHERE id = ${account.id}`)
    const work = billing(gateway)
    const leaseAccount = async () => (await work.leaseDue(1_000)).find(({ accountId }) => accountId === account.id)
    const lease = await leaseAccount()
    if (!lease) throw new Error('The account is not due.')
    await work.perform(lease)
    expect(await leaseAccount()).toBeUndefined()
    expect(await account.entries("e.kind = 'gpu'")).toEqual([])
    app.clock.advance(10_000)
    const again = await leaseAccount()
    if (!again) throw new Error('The account is not due when the end has come.')
    await work.perform(again)
    expect(await account.entries("e.kind = 'gpu'")).toMatchObject([{ end }])
  })

  it('performs all due actions at once in an account whose time is ahead', async () => {
    app.clock.advance(24 * hourMs - (now().getTime() % (24 * hourMs)) + 12 * hourMs)
    await app.runUntilIdle()
    const account = await newAccount(app, 6n * dollar)
    const instance = await account.rentRunning({ price: 0.4 })
    const midnight = new Date(Math.ceil(now().getTime() / (24 * hourMs)) * 24 * hourMs)
    app.clock.advance(20 * hourMs)
    const bid = `mutation { updateInstanceBid(input: {id: "${instance.id}", bidPerHour: "0.39"}) { __typename } }`
    expect((await app.graphql(account.key, bid)).data.updateInstanceBid.__typename).toBe('UpdateInstanceBidSuccess')
    expect((await account.row())['metered_at']).toSatisfy((ahead: Date) => ahead > midnight)
    app.clock.advance(-15 * hourMs)
    await app.runUntilIdle()
    expect(await account.instance(instance.id)).toMatchObject({ target_reason: 'NO_CREDIT' })
    expect(await account.entries("e.kind = 'disk'")).toMatchObject([{ end: midnight }])
  })
})

describe('the daily charge', () => {
  it('charges running meters up to midnight in batches', async () => {
    const account = await newAccount(app, 100n * dollar)
    const machine = await volumesOf(app).newMachine()
    const volume = `account_id, machine_id, name, size_mb, disk_price_per_gb_month_nanos, disk_nanos, created_at`
    const at = `'${now().toISOString()}'::timestamptz`
    await app.sql(`INSERT INTO volumes (${volume}) SELECT ${account.id}, ${machine}, 'v', 1, 1, 1000 + n, ${at} FROM generate_series(1, 1201) n;
      INSERT INTO meters (account_id, volume_id, kind, rate_nanos, since)
      SELECT account_id, id, 'disk', disk_nanos, created_at FROM volumes WHERE account_id = ${account.id} ORDER BY id;
      UPDATE accounts SET billing_due_at = now() WHERE id = ${account.id}`)
    const created = now()
    await advanceTime(49)
    const midnight = new Date(Math.floor(ms(now()) ? now().getTime() / (24 * hourMs) : 0) * 24 * hourMs)
    const entries = await account.entries("e.kind = 'disk'")
    expect(entries).toHaveLength(1201)
    for (const { start, end, rate, amount } of entries) {
      expect([start, end]).toEqual([created, midnight])
      expect(amount).toBe(-(((rate ?? 0n) * (ms(midnight) - ms(created))) / 3_600_000n))
    }
    await account.expectLedgerAddsUp()
    await advanceTime(24)
    expect(await account.entries("e.kind = 'disk'")).toHaveLength(2402)
    await advanceTime(1)
    expect(await account.entries("e.kind = 'disk'")).toHaveLength(2402)
  })
})

describe('two gateways', () => {
  let gateways: Gateway[]

  beforeAll(() => {
    gateways = [0, 1].map(() => openGateway({ url: app.database.url, now: app.clock.now }))
  })

  afterAll(async () => {
    for (const gateway of gateways) await gateway.close()
  })

  const rules = { debtGraceMs: 48 * hourMs }
  const billingOf = ({ database }: Pick<Gateway, 'database'>) => dueBillingServices({ database, log }, rules)
  const log = { warn: () => {} } as never

  it('stop every instance once', async () => {
    await app.runUntilIdle()
    const accounts: TestAccount[] = []
    for (let index = 0; index < 8; index += 1) {
      const account = await newAccount(app, dollar)
      await account.rentRunning()
      accounts.push(account)
    }
    app.clock.advance(5 * hourMs)
    const loops = gateways.map(gateway => createBillingLoop({ billing: billingOf(gateway), log }))
    await Promise.all(loops.map(loop => loop.idle()))
    for (const account of accounts) {
      expect(await account.eventsLike('ACCOUNT_CREDIT_ENDED')).toHaveLength(1)
      expect(await account.eventsLike('INSTANCE_TARGET_CHANGED')).toHaveLength(1)
      expect(await account.entries("e.kind = 'gpu'")).toHaveLength(1)
      await account.expectLedgerAddsUp()
    }
  })

  it('keep the lease of another gateway on an account without due work', async () => {
    const account = await newAccount(app, dollar)
    await app.runUntilIdle()
    const [slow, quick] = gateways.map(billingOf)
    const lease = async (billing: typeof slow) =>
      (await billing?.leaseDue(1_000))?.find(({ accountId }) => accountId === account.id)
    await app.sql(`UPDATE accounts SET billing_due_at = '${now().toISOString()}' WHERE id = ${account.id}`)
    const first = await lease(slow)
    app.clock.advance(30_001)
    const second = await lease(quick)
    if (!first || !second) throw new Error('The account is not due.')
    await slow?.perform(first)
    expect(await account.row()).toMatchObject({ billing_leased_until: second.leasedUntil })
    await quick?.perform(second)
    expect(await account.row()).toMatchObject({ billing_leased_until: null })
  })

  it('take few statements for a pass over an account without due work', async () => {
    await app.runUntilIdle()
    const account = await newAccount(app, dollar)
    await account.rentRunning()
    await app.runUntilIdle()
    const [billing] = gateways.map(billingOf)
    const measurePass = async () => {
      await app.sql(`UPDATE accounts SET billing_due_at = '${now().toISOString()}' WHERE id = ${account.id}`)
      const lease = (await billing?.leaseDue(10))?.find(({ accountId }) => accountId === account.id)
      if (!lease) throw new Error('The account is not due.')
      return await captureQueries(async () => await billing?.perform(lease))
    }
    // Five statements: BEGIN, the lock with the check of the lease, balance and facts, the release, and COMMIT.
    expect(await measurePass()).toHaveLength(5)
    for (const window of ['DAY', 'MONTH']) {
      const limit = `{subject: {account: true}, window: ${window}, amount: "100", action: STOP_RUNNING}`
      await app.graphql(account.key, `mutation { createSpendLimit(input: ${limit}) { __typename } }`)
    }
    // The usage of the limits is summed at the lock and at the release.
    expect((await measurePass()).filter(text => text.includes('ledger_entries'))).toHaveLength(2)
    expect(await account.row()).toMatchObject({ billing_leased_until: null })
  })

  it('perform an action once when one of them dies during the action and comes back', async () => {
    await app.runUntilIdle()
    const account = await newAccount(app, dollar)
    await account.rentRunning()
    const [dead, living] = gateways.map(billingOf)
    app.clock.advance(5 * hourMs)
    const lease = (await dead?.leaseDue(10))?.find(({ accountId }) => accountId === account.id)
    expect((await living?.leaseDue(10))?.map(({ accountId }) => accountId)).not.toContain(account.id)
    app.clock.advance(30_001)
    const second = (await living?.leaseDue(10))?.find(({ accountId }) => accountId === account.id)
    if (!lease || !second) throw new Error('The account is not due.')
    await dead?.perform(lease)
    expect(await account.eventsLike('INSTANCE_TARGET_CHANGED')).toEqual([])
    await living?.perform(second)
    await living?.perform(second)
    expect(await account.eventsLike('INSTANCE_TARGET_CHANGED')).toHaveLength(1)
    expect(await account.eventsLike('ACCOUNT_CREDIT_ENDED')).toHaveLength(1)
  })

  it('make the same charge and the same stop, even when one of them dies between any two transactions', async () => {
    for (const survived of [0, 1]) {
      await app.runUntilIdle()
      const account = await newAccount(app, dollar)
      const instance = await account.rentRunning()
      const end = await endOf(account, instance)
      app.clock.advance(5 * hourMs)
      const { database } = gateways[0] as Gateway
      let left = survived
      const pool = Object.create(database.pool, {
        connect: {
          value: async () => {
            if (left === 0) throw new Error('The gateway died.')
            left -= 1
            return await database.pool.connect()
          },
        },
      })
      const dying = billingOf({ database: { ...database, pool } })
      const lease = (await dying.leaseDue(10)).find(({ accountId }) => accountId === account.id)
      if (!lease) throw new Error('The account is not due.')
      await dying.perform(lease).catch(() => {})
      app.clock.advance(30_001)
      await app.runUntilIdle()
      await rentals.converge()
      expect(await account.entries("e.kind = 'gpu'")).toMatchObject([{ end }])
      expect(await account.eventsLike('ACCOUNT_CREDIT_ENDED')).toHaveLength(1)
      expect(await account.instance(instance.id)).toMatchObject({ status: 'stopped' })
      expect(await app.sql(`SELECT FROM gpus WHERE holder_id = ${instance.id}`)).toEqual([])
      await account.expectLedgerAddsUp()
    }
  })
})
