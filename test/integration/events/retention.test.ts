// How long events are kept, and the partitions that they go with. A cursor is valid until an event after it was dropped.

import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { updateEpoch } from '../../../src/database/history/epoch.ts'
import { appRole } from '../../../src/database/roles/privileges.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { outboxServices } from '../../../src/services/events/outbox.ts'
import { retentionServices } from '../../../src/services/events/retention.ts'
import { startApp } from '../../support/app.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { withSession } from '../../support/database/sessions.ts'
import { idsInOrder, writeEvent } from '../../support/events/events.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const day = 86_400_000
let testDatabase: TestDatabase
let gateway: Gateway
let clock: ReturnType<typeof manualClock>
let renter: Actor

beforeEach(async () => {
  clock = manualClock()
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  renter = await gateway.newActor()
  // Removes the events of creating the account.
  await gateway.sql('DELETE FROM events')
})

afterEach(async () => {
  await gateway.close()
  await testDatabase.drop()
})

const write = (after: object = {}, at = clock.now()) =>
  writeEvent(gateway.sql, { accountId: renter.accountId, after, createdAt: at })
const all = () => gateway.services.events.page(renter, {}, { first: 100 }, { id: true })
const readFrom = (after: string) => gateway.services.events.page(renter, {}, { first: 100, after }, { id: true })
const idsOf = (edges: { node: { id: bigint } }[]) => edges.map(({ node }) => node.id)
const expired = { code: 'CURSOR_EXPIRED' }

const day90 = 90 * day + 3_600_000
const retention = () => retentionServices({ database: gateway.database }, 90)
const purge = () => retention().purgeEvents()
/** Lets a quarter of the retention pass, after which new events go to the next partition. */
async function beginPartition(): Promise<void> {
  clock.advance((90 / 4) * day)
  await retention().partitionEvents()
}
/** The partitions of both tables, by their first id and the one after their last, in billions. */
const readBounds = async () =>
  (
    await gateway.database.pool.query({
      text: `SELECT pg_get_expr(relpartbound, c.oid) FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
      WHERE inhparent IN ('events'::regclass, 'webhook_deliveries'::regclass) ORDER BY inhparent::regclass::text, 1`,
      rowMode: 'array',
    })
  ).rows.map(([text]) =>
    String(text)
      .match(/\d+/g)
      ?.map(bound => Number(bound) / 1e9),
  )

describe('old events', () => {
  it('are dropped together, 90 days and an hour after the last of them', async () => {
    for (const _ of [1, 2]) await write()
    clock.advance(10 * day)
    await write()
    await beginPartition()
    await write()
    const before = await idsInOrder(gateway.sql, renter)
    clock.advance(day90 - (90 / 4) * day)
    expect(await purge()).toBe(0)
    clock.advance(1)
    expect([await purge(), await purge()]).toEqual([1, 0])
    expect(await idsInOrder(gateway.sql, renter)).toEqual(before.slice(-1))
  })

  it('are kept while new ones can still join them', async () => {
    await write()
    clock.advance(day90 + 1)
    expect(await purge()).toBe(0)
    await retention().partitionEvents()
    expect(await purge()).toBe(1)
  })

  it('are not dropped before they could be read', async () => {
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT pg_current_xact_id()')
      await write()
      await beginPartition()
      clock.advance(day90 + 1)
      expect(await purge()).toBe(0)
      await session.query('COMMIT')
    })
    expect(await purge()).toBe(1)
  })

  it('are dropped with their webhook deliveries', async () => {
    await gateway.sql(`INSERT INTO webhooks (account_id, sealed_url, kinds, secret, created_at)
      VALUES (${renter.accountId}, 'sealed', '{}', '', now())`)
    await write()
    await beginPartition()
    await write()
    await gateway.sql(
      'INSERT INTO webhook_deliveries (webhook_id, event_id) SELECT w.id, e.id FROM webhooks w, events e',
    )
    clock.advance(day90 + 1 - (90 / 4) * day)
    expect(await purge()).toBe(1)
    const left = await gateway.sql('SELECT event_id FROM webhook_deliveries')
    expect(left.map(row => BigInt(row['event_id'] as string))).toEqual(await idsInOrder(gateway.sql, renter))
    expect(left).toHaveLength(1)
  })

  it('of a grant are dropped, yet its idempotency key still prevents a second grant', async () => {
    const { accounts } = gateway.operations
    const email = 'kept@example.com'
    await accounts.create({ email })
    const once = { amountNanos: 5n, idempotencyKey: 'ticket 7' }
    await accounts.grantCredit(email, once)
    await accounts.grantCredit(email, { amountNanos: 7n })
    await beginPartition()
    clock.advance(1_000 * day)
    expect(await purge()).toBe(1)
    expect(await accounts.grantCredit(email, once)).toEqual({ email, beforeNanos: 0n, afterNanos: 5n, replayed: true })
    expect(await gateway.sql('SELECT kind, after FROM events')).toEqual([])
  })

  it('are dropped by one gateway', async () => {
    await write()
    await beginPartition()
    clock.advance(day90 + 1)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM outbox FOR UPDATE')
      expect(await purge()).toBe(0)
      await session.query('ROLLBACK')
    })
    const both = await Promise.all([purge(), purge()])
    expect(both.toSorted()).toEqual([0, 1])
  })

  it('stay while a long statement reads events, and delay other readers only briefly', async () => {
    await write()
    await beginPartition()
    clock.advance(day90 + 1)
    const cursor = (await all()).edges[0]?.cursor as string
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM events')
      await write()
      const dropping = purge()
      // Waits behind the lock that `purge` waits for, and no longer than `purge` does.
      expect((await readFrom(cursor)).edges).toHaveLength(1)
      expect(await dropping).toBe(0)
      await session.query('ROLLBACK')
    })
    expect((await all()).edges).toHaveLength(2)
    expect(await purge()).toBe(1)
    expect((await all()).edges).toHaveLength(1)
  })

  it('leave a cursor valid only if no event after it is missing', async () => {
    for (const _ of [1, 2]) await write()
    await beginPartition()
    await write()
    const { edges } = await all()
    const [first, second, third] = edges.map(({ cursor }) => cursor) as [string, string, string]
    clock.advance(day90 + 1 - (90 / 4) * day)
    await purge()
    await expect(readFrom(first)).rejects.toMatchObject(expired)
    await expect(gateway.services.events.watch(renter, {}, first)).rejects.toMatchObject(expired)
    expect(idsOf((await readFrom(second)).edges)).toEqual(idsOf(edges.slice(2)))
    expect((await readFrom(third)).edges).toEqual([])
  })

  it('that are dropped while a stream reads missed events end the stream', async () => {
    for (const _ of [1, 2, 3]) await write()
    const { edges } = await all()
    const stream = await gateway.services.events.watch(renter, {}, edges[0]?.cursor)
    await beginPartition()
    clock.advance(day90 + 1)
    expect(await purge()).toBe(1)
    await expect(stream.next()).rejects.toMatchObject(expired)
  })
})

describe('the partitions of events', () => {
  const both = (bounds: [number, number][]) => [...bounds, ...bounds]

  it('begin when a quarter of the retention has passed since the first event', async () => {
    await write()
    clock.advance((90 / 4) * day - 1)
    expect(await retention().partitionEvents()).toBe(0)
    clock.advance(1)
    expect(await retention().partitionEvents()).toBe(1)
    expect(await readBounds()).toEqual(
      both([
        [0, 1],
        [1, 2],
      ]),
    )
    await write()
    const ids = await idsInOrder(gateway.sql, renter)
    expect(ids.map(id => Number(id / 1_000_000_000n))).toEqual([0, 1])
    // One without events never ends.
    await gateway.sql('DELETE FROM events')
    await beginPartition()
    expect(await readBounds()).toEqual(
      both([
        [0, 1],
        [1, 2],
      ]),
    )
  })

  it('begin when half of the ids are used, so that no burst reaches their end', async () => {
    await gateway.sql(`SELECT setval('events_id_seq', 499999999)`)
    expect(await retention().partitionEvents()).toBe(0)
    await write()
    expect(await retention().partitionEvents()).toBe(1)
    await write()
    expect(await idsInOrder(gateway.sql, renter)).toEqual([500_000_000n, 1_000_000_000n])
  })

  it('wait for open transactions, and delay others only briefly', async () => {
    await write()
    clock.advance((90 / 4) * day)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await writeEvent((text, values) => session.query(text, values), { accountId: renter.accountId })
      const beginning = retention().partitionEvents()
      await write()
      expect(await beginning).toBe(0)
      await session.query('COMMIT')
    })
    const all = await Promise.all([1, 2, 3].map(() => retention().partitionEvents()))
    expect(all.toSorted()).toEqual([0, 0, 1])
    expect(await readBounds()).toEqual(
      both([
        [0, 1],
        [1, 2],
      ]),
    )
  })

  it('begin without an error in gateways that write all the time', async () => {
    await write()
    let begun = 0
    const writing = Array.from({ length: 4 }, async () => {
      while (begun < 3) await write()
      for (let count = 0; count < 10; count += 1) await write()
    })
    while (begun < 3) {
      clock.advance((90 / 4) * day)
      begun += await retention().partitionEvents()
    }
    await Promise.all(writing)
    const parts = new Set((await idsInOrder(gateway.sql, renter)).map(id => Number(id / 1_000_000_000n)))
    expect(parts).toEqual(new Set([0, 1, 2, 3]))
  })
})

describe('a database', () => {
  const read = async () => (await gateway.sql('SELECT * FROM outbox'))[0] as { epoch: number; cluster: string }

  it('keeps its cursors valid while it stays in its cluster', async () => {
    expect(await updateEpoch(testDatabase.url)).toBe(undefined)
    const first = await read()
    await write()
    const { edges } = await all()
    expect(first).toMatchObject({ epoch: 1, cluster: expect.stringMatching(/^\d+\/\d+\/\d+$/) })
    expect(await updateEpoch(testDatabase.url)).toBe(undefined)
    expect(await read()).toEqual(first)
    expect((await readFrom(edges[0]?.cursor as string)).edges).toEqual([])
  })

  it('in another cluster has new cursors and the same events', async () => {
    await updateEpoch(testDatabase.url)
    const { cluster } = await read()
    await write()
    const before = await all()
    const cursor = before.edges[0]?.cursor as string
    await gateway.sql("UPDATE outbox SET cluster = '7123/1/5'")
    expect(await updateEpoch(testDatabase.url)).toMatchObject({ epoch: expect.any(Number) })
    const raised = await read()
    expect(raised).toMatchObject({ cluster })
    expect(raised.epoch).toBeGreaterThan(1)
    await expect(readFrom(cursor)).rejects.toMatchObject(expired)
    await expect(gateway.services.events.watch(renter, {}, cursor)).rejects.toMatchObject(expired)
    const after = await all()
    expect(after.edges.map(({ node }) => node)).toEqual(before.edges.map(({ node }) => node))
    expect((await readFrom(after.edges[0]?.cursor as string)).edges).toEqual([])
  })

  it('is checked for a new cluster by each gateway that starts', async () => {
    const first = await startApp()
    await first.sql("UPDATE outbox SET cluster = '7123/1/5'")
    const second = await startApp({ sharedApp: first })
    // Only the gateway with the first new connection logs the warning.
    const warnings = [...first.logLines, ...second.logLines].filter(({ msg }) =>
      /cursors have expired/i.test(String(msg)),
    )
    expect(warnings).toHaveLength(1)
    expect(await first.sql('SELECT witnessed FROM failovers')).toEqual([{ witnessed: false }])
    await second.close()
    await first.close()
  })

  it('restored from a dump has its old events first, and delivers new events', async () => {
    await listMachines(gateway.operations, [{}])
    for (const _ of [1, 2, 3]) await write()
    // As if a cluster with many more transactions had written them, out of the order of ids.
    await gateway.sql("UPDATE events SET xid = (9000000000 - id)::text::xid8 WHERE kind = 'CREDIT_GRANTED'")
    await gateway.sql("UPDATE outbox SET purged_xid = '8000000000'")
    await withSession(testDatabase.url, async session => {
      await session.query('SET session_replication_role = replica')
      await session.query("UPDATE market_changes SET xid = '8000000000'")
    })
    expect(idsOf((await all()).edges)).toEqual([])
    expect(await updateEpoch(testDatabase.url)).toMatchObject({ epoch: expect.any(Number) })
    // No machine counts as changed when this cluster reaches those transaction ids.
    const { findChangedMachines } = outboxServices({ database: gateway.database })
    expect(await findChangedMachines(7_000_000_000n, 9_000_000_000n)).toEqual([])
    const old = await idsInOrder(gateway.sql, renter)
    expect(old).toEqual(old.toSorted((one, other) => Number(one - other)))
    const { edges } = await all()
    expect(idsOf(edges)).toEqual(old)
    const stream = await gateway.services.events.watch(renter, {}, edges[0]?.cursor)
    await write()
    const received: bigint[] = []
    while (received.length < old.length) received.push((await stream.next()).value.node.id)
    expect(received).toEqual((await idsInOrder(gateway.sql, renter)).slice(1))
    await stream.return?.()
    expect(await updateEpoch(testDatabase.url)).toBe(undefined)
  })

  it('goes on in the newest partition, although that has no event yet', async () => {
    await gateway.sql('SELECT begin_event_partition()')
    const [{ first }] = (await gateway.sql('SELECT last_value AS first FROM events_id_seq')) as [{ first: string }]
    await gateway.sql("UPDATE outbox SET cluster = '7123/1/5'")
    expect(await updateEpoch(testDatabase.url)).toMatchObject({ epoch: expect.any(Number) })
    const [{ next }] = (await gateway.sql(`SELECT nextval('events_id_seq') AS next`)) as [{ next: string }]
    expect(BigInt(next)).toBeGreaterThan(BigInt(first))
  })

  it.each([true, false])(
    'knows its timeline through a role without superuser rights, and its server if the role may read that (%s)',
    async mayAsk => {
      const role = `berth_test_${randomBytes(6).toString('hex')}`
      await gateway.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'ordinary'`)
      await gateway.sql(`GRANT ${appRole} TO ${role}`)
      if (!mayAsk) await gateway.sql('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC')
      const url = new URL(testDatabase.url)
      Object.assign(url, { username: role, password: 'ordinary' })
      try {
        expect(await updateEpoch(url.href)).toBe(undefined)
        expect((await read()).cluster).toMatch(mayAsk ? /^\d+\/\d+\/\d+$/ : /^\/\d+\/\d+$/)
      } finally {
        await gateway.sql(`DROP OWNED BY ${role}`)
        await gateway.sql(`DROP ROLE ${role}`)
      }
    },
  )
})
