// Properties of events: every reader gets each event that it may read once, in order, and in pieces of any size.

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Prisma } from '../../../src/database/generated/client.ts'
import { readingOf } from '../../../src/database/selection/reading.ts'
import type { Permissions } from '../../../src/domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../src/domain/actor.ts'
import { canReadEvent, type EventKind, eventReadOperations } from '../../../src/domain/events/events.ts'
import { eventSource, wholeEvent } from '../../../src/services/events/sql.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { withSession } from '../../support/database/sessions.ts'
import { idsInOrder, takeEvents, writeEvent } from '../../support/events/events.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

// FC_SEED repeats a run. FC_RUNS sets its length.
const seed = Number(process.env['FC_SEED'] ?? Date.now() % 2 ** 31)
const numRuns = Number(process.env['FC_RUNS'] ?? 4)
const timeout = 60_000 + 10_000 * numRuns

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let other: Gateway

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  // Small batches: this gateway is often behind when readers come from the first gateway.
  other = openGateway({ url: testDatabase.url, now: clock.now, eventBatch: 2 })
})

afterAll(async () => {
  await gateway.close()
  await other.close()
  await testDatabase.drop()
})

/** A transaction: the owners of its events, the pauses between them, and whether it commits. */
const written = fc.record({
  events: fc.array(fc.record({ mine: fc.boolean(), pauseMs: fc.nat(8) }), { minLength: 1, maxLength: 4 }),
  commits: fc.boolean(),
})
type Written = { events: { mine: boolean; pauseMs: number }[]; commits: boolean }
const writers = fc.array(fc.array(written, { minLength: 5, maxLength: 15 }), { minLength: 4, maxLength: 4 })
/** A reader takes at most this many events before it leaves and resumes, perhaps at another gateway. */
const maxPerVisit = 9
type Visit = { count: number; elsewhere: boolean }
const visit = fc.record({ count: fc.integer({ min: 1, max: maxPerVisit }), elsewhere: fc.boolean() })
const visits = fc.array(visit, { minLength: 1 })

async function write(transactions: Written[], mine: Actor, theirs: Actor) {
  await withSession(testDatabase.url, async session => {
    for (const { events, commits } of transactions) {
      await session.query('BEGIN')
      for (const { mine: isMine, pauseMs } of events) {
        const { accountId } = isMine ? mine : theirs
        await writeEvent((text, values) => session.query(text, values), { accountId })
        await session.query('SELECT pg_sleep($1::float8 / 1000)', [pauseMs])
      }
      await session.query(commits ? 'COMMIT' : 'ROLLBACK')
      gateway.feed.wake()
    }
  })
}

it(
  'gives a reader of resumed streams or pages every event once and in order, while others write',
  async () => {
    const property = fc.asyncProperty(
      writers,
      fc.array(visits, { minLength: 3, maxLength: 3 }),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      async (work, readers, sizes) => {
        const [mine, theirs] = [await gateway.newActor(), await gateway.newActor()]
        // Start after the events of the setup.
        const { endCursor: start } = await gateway.services.events.page(mine, {}, { last: 1 }, { id: true })
        const before = (await idsInOrder(gateway.sql, mine)).length
        // Set once all but the last events are written. A reader that takes several events at a time must not wait for events
        // that never come.
        let total = Number.POSITIVE_INFINITY

        const follow = async (plan: Visit[]) => {
          const read: bigint[] = []
          let cursor = start
          for (let visit = 0; read.length < total; visit += 1) {
            const { count, elsewhere } = plan[visit % plan.length] as Visit
            const stream = await (elsewhere ? other : gateway).services.events.watch(mine, {}, cursor)
            const edges = await takeEvents(stream, Math.min(count, total - read.length))
            await stream.return?.()
            read.push(...edges.map(({ node }) => node.id))
            cursor = edges.at(-1)?.cursor ?? cursor
          }
          return read
        }
        const page = async () => {
          const read: bigint[] = []
          let after = start
          for (let turn = 0; read.length < total; turn += 1) {
            const first = sizes[turn % sizes.length] as number
            const { edges, endCursor } = await gateway.services.events.page(mine, {}, { first, after }, { id: true })
            read.push(...edges.map(({ node }) => node.id))
            after = endCursor
          }
          return read
        }
        const happen = async () => {
          await Promise.all(work.map(transactions => write(transactions, mine, theirs)))
          total = (await idsInOrder(gateway.sql, mine)).length - before + maxPerVisit
          const last = Array(maxPerVisit).fill({ mine: true, pauseMs: 0 })
          await write([{ events: last, commits: true }], mine, theirs)
        }
        const [, ...reads] = await Promise.all([happen(), page(), ...readers.map(follow)])
        const expected = (await idsInOrder(gateway.sql, mine)).slice(before)
        expect(reads).toEqual(reads.map(() => expected))
      },
    )
    await fc.assert(property, { seed, numRuns })
  },
  timeout,
)

const bound = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom<string | boolean | number>('2', true, 1.5) },
)
const constraint = fc.record({ eq: bound, lte: bound, gte: bound }, { requiredKeys: [] })
const constraints = fc.record({ id: constraint, other: constraint }, { requiredKeys: [] })
const granted = fc.oneof(fc.constant({}), fc.record({ constraints }, { requiredKeys: [] }))
const grantOf = (...operations: string[]) =>
  fc.oneof(
    fc.constant({}),
    fc.record(Object.fromEntries(operations.map(name => [name, granted])), { requiredKeys: [] }),
  )
const user_read = grantOf('templates.get', 'sshKeys.list', 'apiKeys.list', 'accounts.viewer', 'webhooks.list')
const api = fc.record(
  {
    // A key with a part of the category may list events, too.
    user_read: user_read.map(grant => (Object.keys(grant).length === 0 ? grant : { ...grant, 'events.list': {} })),
    instance_read: grantOf('instances.get', 'volumes.get', 'instances.list'),
  },
  { requiredKeys: ['user_read'] },
)

it(
  'shows a key the same events in a history as in a stream, for any permissions',
  async () => {
    const [mine, theirs] = [await gateway.newActor(), await gateway.newActor()]
    await withSession(testDatabase.url, async session => {
      // Allows events of instances that do not exist.
      await session.query('SET session_replication_role = replica')
      const sql = (text: string, values?: unknown[]) => session.query(text, values)
      for (const kind of Object.keys(eventReadOperations) as EventKind[])
        for (const id of [1, 2])
          for (const { accountId } of [mine, theirs]) {
            const after = { id, templateId: id, volumeId: String(id), apiKeyId: id, sshKeyId: id, webhookId: id }
            const instanceId = kind.startsWith('INSTANCE_') ? { instanceId: BigInt(id) } : {}
            await writeEvent(sql, { kind, accountId, after, ...instanceId })
          }
      const newer =
        "INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, created_at) VALUES ('OF_A_NEWER_VERSION', $1::int, 'system', 'Account', $1::int, now())"
      await session.query(newer, [mine.accountId])
    })
    const reading = readingOf(eventSource, wholeEvent)
    const statement = Prisma.sql`SELECT ${reading.columns} FROM events e ORDER BY e.xid, e.id`
    const all = await gateway.database.read(statement, reading)
    let some = 0
    const property = fc.asyncProperty(fc.option(api), async api => {
      const actor = { ...mine, permissions: api && ({ api } as Permissions) }
      const readable = all.filter(event => canReadEvent(actor, event)).map(({ id }) => id)
      const { edges } = await gateway.services.events.page(actor, {}, { first: 100 }, { id: true })
      expect(edges.map(({ node }) => node.id)).toEqual(readable)
      some += readable.length > 0 && readable.length < 70 ? 1 : 0
    })
    await fc.assert(property, { seed, numRuns: numRuns * 40 })
    expect(some).toBeGreaterThan(0)
  },
  timeout,
)
