// The base of all streams: a follower gets every event once and in order until its stream ends.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createWakeUps, type WakeUps, type WorkKind } from '../../../src/database/wake-ups.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import type { Event } from '../../../src/domain/events/events.ts'
import { createFeed, type FeedOptions } from '../../../src/events/feed.ts'
import { createLog } from '../../../src/http/log.ts'
import { outboxServices } from '../../../src/services/events/outbox.ts'
import type { FeedSubscription } from '../../../src/services/feed.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { startFaultyProxy } from '../../support/database/faulty-proxy.ts'
import { withSession } from '../../support/database/sessions.ts'
import { idsInOrder, takeEvents, writeEvent } from '../../support/events/events.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, type GatewayOptions, openGateway } from '../../support/gateways.ts'

let testDatabase: TestDatabase
let clock: ReturnType<typeof manualClock>
let gateway: Gateway
let renter: Actor
let rival: Actor
const feeds: ReturnType<typeof createFeed>[] = []

beforeEach(async () => {
  // The poll timer does not run by itself.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  clock = manualClock()
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  renter = await gateway.newActor()
  rival = await gateway.newActor()
  // Removes the events that creating the accounts recorded.
  await gateway.sql('DELETE FROM events')
})

afterEach(async () => {
  for (const feed of feeds.splice(0)) feed.stop()
  await gateway.close()
  await testDatabase.drop()
  vi.useRealTimers()
})

const write = (actor = renter, sql: Parameters<typeof writeEvent>[0] = gateway.sql) =>
  writeEvent(sql, { accountId: actor.accountId, createdAt: clock.now() })
const writeMany = (count: number) =>
  gateway.sql(
    `INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, created_at)
      SELECT 'CREDIT_GRANTED', ${renter.accountId}, 'system', 'Account', ${renter.accountId}, now() FROM generate_series(1, ${count})`,
  )
const watch = (cursor?: string) => gateway.services.events.watch(renter, {}, cursor)
/** Makes the feed read once: a new follower is admitted at the end of a read. */
const readOnce = async (feed = gateway.feed) => (await feed.subscribe(rival, {})).close()
const revoke = ({ publicId }: Actor) =>
  gateway.sql("UPDATE api_keys SET revoked_at = '2026-11-21' WHERE public_id = $1", [publicId])
const ended = (ending: string) => ({ code: 'STREAM_ENDED', details: { ending } })
const idsOf = (edges: { node: { id: bigint } }[]) => edges.map(({ node }) => node.id)
const expected = async () => await idsInOrder(gateway.sql, renter)

/** A feed with a changed outbox or changed limits. */
function feedOf(change: Partial<FeedOptions['outbox']>, limits?: FeedOptions['limits'], lines: string[] = []) {
  const outbox = { ...outboxServices({ database: gateway.database }), ...change }
  const log = createLog('warn', { write: line => void lines.push(line) })
  const feed = createFeed({ outbox, now: clock.now, log, ...(limits && { limits }) })
  feeds.push(feed)
  return feed
}
const everyEvent = { includes: (_event: Event) => true }

describe('a follower', () => {
  it('gets events in the order in which their transactions began, whatever the order of ids and commits', async () => {
    const stream = await watch()
    await withSession(testDatabase.url, one =>
      withSession(testDatabase.url, async other => {
        await one.query('BEGIN')
        await one.query('SELECT pg_current_xact_id()')
        await other.query('BEGIN')
        await write(renter, (text, values) => other.query(text, values))
        await write(renter, (text, values) => one.query(text, values))
        await other.query('COMMIT')
        await readOnce()
        await one.query('COMMIT')
      }),
    )
    await readOnce()
    const received = idsOf(await takeEvents(stream, 2))
    expect(received).toEqual(await expected())
    expect(received).toEqual(received.toSorted((a, b) => Number(b - a)))
    await stream.return?.()
  })

  it.each(['COMMIT', 'ROLLBACK'])(
    'gets events that a long transaction held back as soon as the transaction ends with %s',
    async end => {
      const stream = await watch()
      await withSession(testDatabase.url, async session => {
        await session.query('BEGIN')
        await write(renter, (text, values) => session.query(text, values))
        for (const _ of [1, 2, 3]) {
          await write()
          await readOnce()
        }
        const page = await gateway.services.events.page(renter, {}, {}, { id: true })
        expect(page.edges).toEqual([])
        await session.query(end)
      })
      await readOnce()
      const ids = await expected()
      expect(ids).toHaveLength(end === 'COMMIT' ? 4 : 3)
      expect(idsOf(await takeEvents(stream, ids.length))).toEqual(ids)
      await stream.return?.()
    },
  )

  it('gets more events than one read returns, both live and after it resumes', async () => {
    await write()
    await readOnce()
    const { endCursor } = await gateway.services.events.page(renter, {}, {}, { id: true })
    const live = await watch()
    const received = takeEvents(live, 1_200)
    for (const count of [700, 500]) {
      await writeMany(count)
      await readOnce()
    }
    const ids = (await expected()).slice(1)
    expect(idsOf(await received)).toEqual(ids)
    const resumed = await watch(endCursor as string)
    expect(idsOf(await takeEvents(resumed, 1_200))).toEqual(ids)
    for (const stream of [live, resumed]) await stream.return?.()
  })

  it('gets no event from before its cursor when its gateway has not read as far as the cursor', async () => {
    const behind = await watch()
    await writeMany(800)
    const { endCursor } = await gateway.services.events.page(renter, {}, { last: 1 }, { id: true })
    const stream = await watch(endCursor as string)
    await write()
    await readOnce()
    expect(idsOf(await takeEvents(stream, 1))).toEqual((await expected()).slice(-1))
    for (const one of [behind, stream]) await one.return?.()
  })

  it.each(['', 'nonsense'])('is refused with the cursor "%s"', async cursor => {
    await expect(watch(cursor)).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
  })

  it('that joins during a read gets everything after its start position and nothing before', async () => {
    const gate = Promise.withResolvers<void>()
    let reads = 0
    const outbox = outboxServices({ database: gateway.database })
    const feed = feedOf({
      async readAfter(...args) {
        const read = await outbox.readAfter(...args)
        reads += 1
        if (reads === 1) await gate.promise
        return read
      },
    })
    const first = await feed.subscribe(renter, everyEvent)
    await write()
    feed.wake()
    await expect.poll(() => reads).toBe(1)
    const joining = feed.subscribe(renter, everyEvent)
    await write()
    gate.resolve()
    const second = await joining
    await write()
    await readOnce(feed)
    const ids = await expected()
    const placed = await gateway.sql(
      `SELECT id FROM events WHERE (xid, id) > ('${second.startPosition.xid}', ${second.startPosition.id}) AND account_id = ${renter.accountId} ORDER BY xid, id`,
    )
    expect((await first.next())?.events.map(({ id }) => id)).toEqual(ids)
    expect((await second.next())?.events.map(({ id }) => id)).toEqual(placed.map(({ id }) => BigInt(id as string)))
    expect(placed.length).toBeLessThan(3)
  })

  it('is served by one read at a time, and by another one if it may have missed something', async () => {
    const gate = Promise.withResolvers<void>()
    const outbox = outboxServices({ database: gateway.database })
    let reads = 0
    const feed = feedOf({
      async readAfter(...args) {
        reads += 1
        if (reads === 1) await gate.promise
        return await outbox.readAfter(...args)
      },
    })
    const follower = await feed.subscribe(renter, everyEvent)
    feed.wake()
    await expect.poll(() => reads).toBe(1)
    feed.wake()
    expect(reads).toBe(1)
    gate.resolve()
    await expect.poll(() => reads).toBeGreaterThan(1)
    follower.close()
  })

  it('leaves without an effect on other readers', async () => {
    const [one, other] = [await watch(), await watch()]
    expect(gateway.feed.streamCount()).toBe(2)
    await one.return?.()
    expect(gateway.feed.streamCount()).toBe(1)
    await write()
    await readOnce()
    expect(await takeEvents(other, 1)).toHaveLength(1)
    expect(await one.next()).toEqual({ done: true, value: undefined })
    await other.return?.()
    expect(gateway.feed.streamCount()).toBe(0)
  })

  it('gets machines with changed offers once, if it follows the market', async () => {
    const [buyer, reader] = [
      await gateway.feed.subscribe(renter, { includesMarket: true }),
      await gateway.feed.subscribe(renter, everyEvent),
    ]
    await listMachines(gateway.operations, [{}, {}])
    await readOnce()
    expect((await buyer.next())?.machineIds.toSorted()).toEqual([1, 2])
    await gateway.sql('UPDATE machines SET free_ports = free_ports WHERE id = 2')
    await readOnce()
    expect((await buyer.next())?.machineIds).toEqual([2])
    await write()
    await readOnce()
    expect(await buyer.next(1)).toMatchObject({ events: [], machineIds: [] })
    expect(await reader.next()).toMatchObject({ events: [{}], machineIds: [] })
  })
})

describe('a stream', () => {
  async function endingOf({ next }: FeedSubscription): Promise<unknown> {
    for (;;) await next()
  }

  it('ends for a reader that is too slow, and continues for other readers', async () => {
    const [slow, quick] = [
      await gateway.feed.subscribe(renter, everyEvent),
      await gateway.feed.subscribe(renter, everyEvent),
    ]
    const received: Event[] = []
    for (const _ of [1, 2, 3]) {
      await writeMany(400)
      await readOnce()
      received.push(...((await quick.next())?.events ?? []))
    }
    await expect(slow.next()).rejects.toMatchObject(ended('TOO_SLOW'))
    expect(received.map(({ id }) => id)).toEqual(await expected())
    expect(gateway.feed.streamCount()).toBe(1)
    quick.close()
  })

  it('does not end for a reader that is only woken, however much happens', async () => {
    const subscription = await gateway.feed.subscribe(renter, { wakesOn: ({ kind }) => kind === 'CREDIT_GRANTED' })
    for (const _ of [1, 2, 3]) {
      await writeMany(400)
      await readOnce()
    }
    expect(await subscription.next()).toMatchObject({ events: [], machineIds: [] })
    await writeEvent(gateway.sql, { accountId: renter.accountId, kind: 'SSH_KEY_DELETED' })
    await readOnce()
    const waiting = subscription.next()
    subscription.close()
    expect(await waiting).toBeUndefined()
  })

  it('ends with its key, and delivers nothing that happened after the end of the key', async () => {
    const stream = await watch()
    await write()
    await revoke(renter)
    await write()
    await readOnce()
    await expect(stream.next()).rejects.toMatchObject(ended('KEY_ENDED'))
    await expect(watch()).rejects.toMatchObject(ended('KEY_ENDED'))
  })

  it('ends with its key, even when the key ends between the read and the delivery', async () => {
    const outbox = outboxServices({ database: gateway.database })
    const feed = feedOf({
      async readAfter(...args) {
        const read = await outbox.readAfter(...args)
        await revoke(renter)
        return read
      },
    })
    const subscription = await feed.subscribe(renter, everyEvent)
    await write()
    await readOnce(feed)
    await expect(subscription.next()).rejects.toMatchObject(ended('KEY_ENDED'))
  })

  it('ends with its key, even while it delivers missed events', async () => {
    await write()
    await readOnce()
    const { endCursor } = await gateway.services.events.page(renter, {}, {}, { id: true })
    await writeMany(10)
    const stream = await watch(endCursor as string)
    expect(await takeEvents(stream, 3)).toHaveLength(3)
    await revoke(renter)
    await readOnce()
    await expect(stream.next()).rejects.toMatchObject(ended('KEY_ENDED'))
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  it('ends when its key expires, ends after a day, and is refused to a key that was reset', async () => {
    const end = new Date(clock.now().getTime() + 3_600_000)
    await gateway.sql('UPDATE api_keys SET expires_at = $2 WHERE public_id = $1', [renter.publicId, end])
    const [expiring, reset] = [
      await watch(),
      await gateway.feed.subscribe({ ...renter, publicId: 'before' }, everyEvent).catch(String),
    ]
    expect(reset).toContain('revoked or reset')
    clock.advance(3_600_000)
    await readOnce()
    await expect(expiring.next()).rejects.toMatchObject(ended('KEY_ENDED'))
    const long = await gateway.feed.subscribe(rival, everyEvent)
    clock.advance(24 * 3_600_000)
    await readOnce()
    await expect(endingOf(long)).rejects.toMatchObject(ended('TOO_LONG'))
  })

  it('ends, and all cursors expire, when the database lost events that it delivered', async () => {
    const outbox = outboxServices({ database: gateway.database })
    let lost = 0n
    const feeds = [1, 2].map(() =>
      feedOf({
        async readAfter(...args) {
          const { reached, ...read } = await outbox.readAfter(...args)
          return { ...read, reached: { ...reached, xid: reached.xid - lost } }
        },
      }),
    )
    await write()
    await readOnce()
    const { endCursor } = await gateway.services.events.page(renter, {}, {}, { id: true })
    const streams = await Promise.all(feeds.map(feed => feed.subscribe(renter, everyEvent)))
    lost = 1_000_000n
    const epochs: number[] = []
    for (const feed of feeds) {
      await readOnce(feed)
      epochs.push(Number((await gateway.sql('SELECT epoch FROM outbox'))[0]?.['epoch']))
    }
    for (const { next } of streams) await expect(next()).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
    lost = 0n
    await expect(watch(endCursor as string)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
    expect(epochs[0]).toBeGreaterThan(1)
    expect(epochs[1]).toBe(epochs[0])
    const later = await (feeds[0] as (typeof feeds)[number]).subscribe(renter, everyEvent)
    await write()
    await readOnce(feeds[0])
    expect((await later.next())?.events).toHaveLength(1)
  })

  it('ends when another gateway expired all cursors, and the log says so', async () => {
    const stream = await watch()
    await gateway.sql('UPDATE outbox SET epoch = epoch + 1')
    await write()
    await readOnce()
    await expect(stream.next()).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
    const msg = 'The order of events starts again: cursors have expired, and streams end.'
    expect(gateway.lines).toMatchObject([{ epoch: 1, msg }])
    expect(await gateway.sql('SELECT epoch FROM outbox')).toEqual([{ epoch: 2 }])
    const next = await watch()
    await write()
    await readOnce()
    expect(await takeEvents(next, 1)).toHaveLength(1)
    await next.return?.()
  })

  it('ends when its gateway stops, which then refuses new streams', async () => {
    const [stream, reading] = [await watch(), await watch()]
    const waiting = reading.next()
    gateway.feed.stop()
    await expect(waiting).rejects.toMatchObject(ended('GATEWAY_STOPS'))
    await expect(stream.next()).rejects.toMatchObject(ended('GATEWAY_STOPS'))
    await expect(watch()).rejects.toMatchObject(ended('GATEWAY_STOPS'))
  })
})

describe('streams', () => {
  it('are limited per account, over all its keys', async () => {
    const feed = feedOf({}, { perKey: 2, perAccount: 3, total: 5 })
    const another = { ...renter, apiKeyId: 99 }
    for (const actor of [renter, renter, another]) await feed.subscribe(actor, everyEvent)
    await expect(feed.subscribe(another, everyEvent)).rejects.toThrow('This account has reached its limit of 3 streams')
    await feed.subscribe(rival, everyEvent)
    expect(feed.streamCount()).toBe(4)
  })

  it('are limited per key and in total', async () => {
    const feed = feedOf({}, { perKey: 2, perAccount: 9, total: 3 })
    const [first] = [await feed.subscribe(renter, everyEvent), await feed.subscribe(renter, everyEvent)]
    await expect(feed.subscribe(renter, everyEvent)).rejects.toMatchObject({ code: 'TOO_MANY_STREAMS' })
    await feed.subscribe(rival, everyEvent)
    await expect(feed.subscribe({ ...rival, apiKeyId: 99 }, everyEvent)).rejects.toMatchObject({
      code: 'TOO_MANY_STREAMS',
    })
    first.close()
    await feed.subscribe(renter, everyEvent)
    expect(feed.streamCount()).toBe(3)
  })

  it('count toward the limits while they wait to be admitted', async () => {
    const feed = feedOf({}, { perKey: 2, perAccount: 9, total: 3 })
    const results = await Promise.allSettled([1, 2, 3].map(() => feed.subscribe(renter, everyEvent)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
  })

  it('survive an outage of the database with no event lost and one line in the log', async () => {
    const proxy = await startFaultyProxy(testDatabase.url)
    const behind = openGateway({ url: proxy.url, now: clock.now })
    const stream = await behind.services.events.watch(renter, {})
    const received = takeEvents(stream, 3)
    await write()
    await behind.feed.subscribe(rival, {}).then(({ close }) => close())
    proxy.cut()
    for (const _ of [1, 2]) {
      await write()
      await expect(behind.feed.subscribe(rival, {})).rejects.toThrow()
    }
    expect(behind.feed.streamCount()).toBe(1)
    proxy.heal()
    // The poll timer makes the feed read, without a wake-up.
    await vi.advanceTimersByTimeAsync(1_000)
    expect(idsOf(await received)).toEqual(await expected())
    expect(behind.lines.map(({ msg }) => msg)).toEqual(['Events cannot be read. Retrying.'])
    await stream.return?.()
    await behind.close()
    proxy.close()
  })
})

it('a feed says in the log that it cannot read, once for each outage', async () => {
  const outbox = outboxServices({ database: gateway.database })
  const lines: string[] = []
  let isDown = false
  const change: Partial<FeedOptions['outbox']> = {
    async readHorizon() {
      if (isDown) throw new Error('The database is down.')
      return await outbox.readHorizon()
    },
  }
  const feed = feedOf(change, undefined, lines)
  const countAfterOutage = async () => {
    isDown = true
    for (const _ of [1, 2]) await expect(feed.subscribe(rival, {})).rejects.toThrow('The database is down.')
    isDown = false
    await readOnce(feed)
    return lines.length
  }
  // An outage that begins before the feed rests is part of the one before it.
  await expect.poll(countAfterOutage, { timeout: 30_000 }).toBe(2)
  expect(lines.map(line => JSON.parse(line).msg)).toEqual(Array(2).fill('Events cannot be read. Retrying.'))
})

describe('two gateways', () => {
  const quiet = createLog('silent', { write: () => {} })
  const wakeUpsOf = ({ database, feed }: Gateway, wake = feed.wake) =>
    createWakeUps({
      ...{ url: testDatabase.url, pool: database.pool, log: quiet, wake },
      ...{ onKeyChange: () => {}, onListening: () => {} },
    })

  async function withOtherGateway(
    work: (other: Gateway) => Promise<void>,
    notify?: GatewayOptions['notify'],
  ): Promise<void> {
    const other = openGateway({ url: testDatabase.url, now: clock.now, ...(notify && { notify }) })
    await work(other).finally(() => other.close())
  }
  const happen = (on: Gateway) => on.operations.accounts.grantCredit('renter-0@example.com', { amountNanos: 1n })

  it('wake each other on new events', async () => {
    const listening = Promise.withResolvers<void>()
    let telling: WakeUps | undefined
    const tellOthers = (kinds: ReadonlySet<WorkKind>) => telling?.notify(kinds)
    await withOtherGateway(async other => {
      telling = wakeUpsOf(other)
      const hearing = wakeUpsOf(gateway, () => {
        gateway.feed.wake()
        listening.resolve()
      })
      const both = [telling, hearing]
      for (const one of both) one.start()
      await listening.promise
      const stream = await watch()
      await happen(other)
      expect((await stream.next()).value.node).toMatchObject({ kind: 'CREDIT_GRANTED' })
      await stream.return?.()
      for (const one of both) await one.stop()
    }, tellOthers)
  })

  it('find new events by polling when no wake-up comes', async () =>
    await withOtherGateway(async other => {
      const stream = await watch()
      await happen(other)
      const received = stream.next()
      vi.advanceTimersByTime(1_000)
      expect((await received).value.node).toMatchObject({ kind: 'CREDIT_GRANTED' })
      await stream.return?.()
    }))
})
