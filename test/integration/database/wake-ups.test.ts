import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWakeUps, type WorkKind, workKinds } from '../../../src/database/wake-ups.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { createLog } from '../../../src/http/log.ts'
import { updateMarkets } from '../../../src/services/instances/bulk/update-markets.ts'
import { currentOwner, type Owner, workFor } from '../../../src/turns/owners.ts'
import { aPublicKey } from '../../support/accounts/ssh-keys.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { startFaultyProxy } from '../../support/database/faulty-proxy.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
const woken = new Set<WorkKind>()

beforeAll(async () => {
  testDatabase = await createDatabase()
  const notify = (kinds: ReadonlySet<WorkKind>) => {
    for (const kind of kinds) woken.add(kind)
  }
  gateway = openGateway({ url: testDatabase.url, now: clock.now, delayFactor: 0, notify })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** Rents a machine of one GPU; with a bid, interruptibly. Returns the instance once it runs. */
async function aRunningInstance(bidNanos?: bigint): Promise<bigint> {
  await listMachines(gateway.operations, [{ machine: { numGpus: 1 } }])
  const id = await rentNewest(bidNanos)
  await gateway.idle()
  return id
}

async function rentNewest(bidNanos?: bigint): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT max(id) AS id FROM offers WHERE withdrawn_at IS NULL')
  const terms = bidNanos === undefined ? { interruptible: false as const } : { interruptible: true as const, bidNanos }
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string), { terms })).id
}

async function clearDue(): Promise<void> {
  await gateway.sql('UPDATE instance_looks SET due_at = NULL')
  await gateway.sql('UPDATE instances SET policy_due_at = NULL')
  await gateway.sql('UPDATE accounts SET billing_due_at = NULL')
  await gateway.sql('UPDATE webhook_deliveries SET due_at = NULL')
  await gateway.sql('DELETE FROM meter_ends')
  clock.advance(1_000)
}

/** The kinds of work that the database says is due, and whether there are new events. */
async function dueKinds(eventsBefore: unknown): Promise<WorkKind[]> {
  const [row] = await gateway.sql(
    `SELECT EXISTS (SELECT FROM instance_looks WHERE due_at <= $1) AS instances,
       EXISTS (SELECT FROM instances WHERE policy_due_at <= $1) AS policies,
       EXISTS (SELECT FROM accounts WHERE billing_due_at <= $1) OR EXISTS (SELECT FROM meter_ends WHERE at <= $1) AS billing,
       EXISTS (SELECT FROM webhook_deliveries WHERE due_at <= $1) AS webhooks,
       (SELECT max(id) FROM events) IS DISTINCT FROM $2::bigint AS events`,
    [clock.now(), eventsBefore],
  )
  return workKinds.filter(kind => row?.[kind])
}

it('wakes its loops in the name of no owner, also when a request made their work due', () => {
  const owners: (Owner | undefined)[] = []
  const log = createLog('silent', { write: () => {} })
  const unused = { onKeyChange: () => {}, onListening: () => {} }
  const { pool } = gateway.database
  const wakeUps = createWakeUps({
    url: testDatabase.url,
    pool,
    log,
    ...unused,
    wake: () => void owners.push(currentOwner()),
  })
  workFor(7, () => wakeUps.notify(new Set(['instances'])))
  expect(owners).toEqual([undefined])
})

describe('a commit', () => {
  const services = () => gateway.services
  const instances = () => gateway.services.instances
  const label = (id: bigint) => instances().update(actor, { ids: [id] }, { label: 'new' })
  const stop = (id: bigint) => instances().update(actor, { ids: [id] }, { targetState: 'stopped' })
  const inAnHour = () => new Date(clock.now().getTime() + 3_600_000)

  it.each<[string, WorkKind[], () => Promise<() => Promise<unknown>>]>([
    [
      'of a rental',
      ['instances', 'billing', 'events'],
      async () => {
        await listMachines(gateway.operations, [{ machine: { numGpus: 1 } }])
        return () => rentNewest()
      },
    ],
    ['of a label', ['events'], async () => label.bind(null, await aRunningInstance())],
    ['of a stop', ['instances', 'billing', 'events'], async () => stop.bind(null, await aRunningInstance())],
    [
      'of a stop with a policy',
      ['instances', 'policies', 'billing', 'events'],
      async () => {
        const id = await aRunningInstance()
        await instances().updatePolicy(actor, id, { destroyAt: inAnHour() })
        return () => stop(id)
      },
    ],
    [
      'of a destroy',
      ['instances', 'billing', 'events'],
      async () => {
        const id = await aRunningInstance()
        return () => instances().destroy(actor, { ids: [id] })
      },
    ],
    [
      'of a reboot',
      ['instances', 'events'],
      async () => {
        const id = await aRunningInstance()
        return () => instances().reboot(actor, id)
      },
    ],
    [
      'of a new SSH key of a container',
      ['instances', 'events'],
      async () => {
        const id = await aRunningInstance()
        const { sshKey } = await services().sshKeys.create(actor, { publicKey: aPublicKey('wake-ups') }, { id: true })
        return () => services().sshKeys.attach(actor, id, sshKey.id)
      },
    ],
    [
      'of a policy for later',
      ['billing', 'events'],
      async () => {
        const id = await aRunningInstance()
        return () => instances().updatePolicy(actor, id, { stopAt: inAnHour() })
      },
    ],
    [
      'that outbids an instance',
      ['instances', 'billing', 'events'],
      async () => {
        await aRunningInstance(400_000_000n)
        return () => rentNewest()
      },
    ],
    [
      'of an event for a webhook',
      ['webhooks', 'events'],
      async () => {
        const id = await aRunningInstance()
        await gateway.sql(
          `INSERT INTO webhooks (account_id, sealed_url, secret, kinds, created_at) VALUES ($1, 'sealed', '', '{INSTANCE_LABEL_CHANGED}', now())`,
          [actor.accountId],
        )
        return () => label(id)
      },
    ],
  ])('%s wakes what it makes due: %j', async (_, expected, prepare) => {
    const work = await prepare()
    await clearDue()
    const [last] = await gateway.sql('SELECT max(id) AS id FROM events')
    woken.clear()
    await work()
    await sleep(0)
    expect(workKinds.filter(kind => woken.has(kind))).toEqual(expected)
    expect(await dueKinds(last?.['id'])).toEqual(expected)
  })

  it('of a market in which only offers change wakes the streams of offers', async () => {
    await listMachines(gateway.operations, [{ machine: { numGpus: 1 } }])
    const [changed] = await gateway.sql(
      'UPDATE offers SET rentable = false WHERE id = (SELECT max(id) FROM offers) RETURNING machine_id',
    )
    woken.clear()
    await updateMarkets({ database: gateway.database, log: gateway.log }, [Number(changed?.['machine_id'])])
    await sleep(0)
    expect([...woken]).toEqual(['events'])
  })

  it('of a pass wakes the policies when the time of a stop begins to count, and the instances when GPUs became free', async () => {
    const id = await aRunningInstance()
    await instances().updatePolicy(actor, id, { destroyStoppedSeconds: 3_600 })
    await stop(id)
    await rentNewest()
    await clearDue()
    await gateway.sql('UPDATE instance_looks SET due_at = $2 WHERE instance_id = $1', [id, clock.now()])
    woken.clear()
    const [lease] = await gateway.reconciliation.leaseDue(1)
    expect(lease?.instanceId).toBe(id)
    if (lease) await gateway.reconcile(lease)
    await sleep(0)
    expect(workKinds.filter(kind => woken.has(kind))).toEqual(['instances', 'policies', 'events'])
  })
})

describe('gateways', () => {
  const log = createLog('silent', { write: () => {} })
  type WakeUpOptions = Parameters<typeof createWakeUps>[0]

  /** What the other gateways tell this one, and whether it listens. */
  function startHearing(options: Partial<WakeUpOptions> = {}) {
    const heard: WorkKind[][] = []
    const listening: boolean[] = []
    const wakeUps = createWakeUps({
      ...{ url: testDatabase.url, pool: gateway.database.pool, log, onKeyChange: () => {} },
      wake: kinds => void heard.push([...kinds]),
      onListening: isListening => void listening.push(isListening),
      ...options,
    })
    wakeUps.start()
    return { wakeUps, heard, listening }
  }

  it('are woken with the kinds of all commits of a moment, and with all kinds by an earlier version', async () => {
    const { wakeUps: hearing, heard } = startHearing()
    const { wakeUps: telling } = startHearing()
    await expect.poll(() => heard).toEqual([[...workKinds]])

    telling.notify(new Set(['events']))
    telling.notify(new Set(['webhooks', 'events']))
    await expect.poll(() => heard.slice(1)).toEqual([['webhooks', 'events']])
    telling.notify(new Set(['billing']))
    await expect.poll(() => heard.slice(2)).toEqual([['billing']])

    await gateway.sql('NOTIFY berth_wake_up')
    await expect.poll(() => heard.slice(3)).toEqual([[...workKinds]])
    await gateway.sql("NOTIFY berth_wake_up, 'policies,a kind of a later version'")
    await expect.poll(() => heard.slice(4)).toEqual([['policies']])
    for (const one of [hearing, telling]) await one.stop()
  })

  /** Others tell it again and again: it hears the first that is told while it listens. */
  async function expectWoken(heard: WorkKind[][]): Promise<void> {
    heard.length = 0
    await expect
      .poll(
        async () => {
          await gateway.sql("NOTIFY berth_wake_up, 'policies'")
          return heard
        },
        { timeout: 30_000, interval: 100 },
      )
      .toContainEqual(['policies'])
  }

  it('are woken again after the server has ended the connection, and look for all that they missed', async () => {
    const { wakeUps, heard, listening } = startHearing()
    await expectWoken(heard)
    heard.length = 0
    const end = () =>
      gateway.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'berth wake-ups' AND datname = current_database()",
      )
    expect(await end()).toHaveLength(1)
    await expect.poll(() => listening, { timeout: 30_000 }).toEqual([true, false, true])
    expect(heard).toContainEqual([...workKinds])
    await expectWoken(heard)
    await wakeUps.stop()
  })

  it('are woken again after the connection has died unnoticed, even if the next one is never answered', async () => {
    const proxy = await startFaultyProxy(testDatabase.url)
    const timing = { checkMs: 50, answerMs: 500, reconnectMs: 50 }
    const { wakeUps, heard, listening } = startHearing({ url: proxy.url, timing })
    await expectWoken(heard)
    const before = proxy.countSockets()
    proxy.freeze()
    await expect.poll(() => listening.at(-1), { timeout: 30_000 }).toBe(false)
    await expect.poll(() => proxy.countSockets(), { timeout: 30_000 }).toBeGreaterThan(before)
    proxy.thaw()
    await expectWoken(heard)
    await wakeUps.stop()
    proxy.close()
  })
})
