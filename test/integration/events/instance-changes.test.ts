// Streams of the changes of instances: nothing missing, nothing of others, and exact across interruptions.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { InstanceFilter } from '../../../src/domain/instances/filter.ts'
import type { WatchedChange, WatchSynced } from '../../../src/domain/instances/watch.ts'
import { captureQueries, interruptAfterStatement } from '../../support/database/captured-statements.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway, type RentOptions } from '../../support/gateways.ts'

type Stream = AsyncIterableIterator<WatchedChange | WatchSynced>

let testDatabase: TestDatabase
let gateway: Gateway
let other: Gateway
let renter: Actor
let rival: Actor
let streams: Stream[] = []

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url })
  other = openGateway({ url: testDatabase.url })
})

beforeEach(async () => {
  renter = await gateway.newActor()
  rival = await gateway.newActor()
})

afterEach(async () => {
  for (const stream of streams) await stream.return?.()
  streams = []
})

afterAll(async () => {
  await gateway.close()
  await other.close()
  await testDatabase.drop()
})

/** The offer of a new machine with one GPU, whose minimum bid is $0.20 per hour. */
async function newOffer(): Promise<bigint> {
  await listMachines(gateway.operations, [{}])
  const [offer] = await gateway.sql('SELECT id FROM offers ORDER BY id DESC LIMIT 1')
  return BigInt(offer?.['id'] as string)
}

const rent = async (label: string, actor = renter, options: RentOptions = {}) =>
  (await gateway.rent(actor, await newOffer(), { ...options, launch: { label } })).id
const setLabel = (id: bigint, label: string | null, on = gateway, actor = renter) =>
  on.services.instances.update(actor, { ids: [id] }, { label })
const destroy = (id: bigint) => gateway.services.instances.destroy(renter, { ids: [id] })
const named = (eq: string): InstanceFilter => ({ label: { eq } })

/** Another key of the renter. */
async function scopedKey(instanceRead: object | undefined, others: object = {}): Promise<Actor> {
  const permissions = { api: { ...(instanceRead && { instance_read: instanceRead }), ...others } }
  const [key] = await gateway.sql(
    `INSERT INTO api_keys SELECT (jsonb_populate_record(k, jsonb_build_object('id', nextval('api_keys_id_seq'),
      'public_id', md5(random()::text), 'permissions', $1::jsonb))).* FROM api_keys k WHERE id = ${renter.apiKeyId}
    RETURNING id, public_id`,
    [JSON.stringify(permissions)],
  )
  const { id, public_id: publicId } = key as { id: number; public_id: string }
  return { accountId: renter.accountId, apiKeyId: id, publicId, permissions }
}

/** Adds events that change no match. */
const addEvents = (count: number, id: bigint, actor = renter) =>
  gateway.sql(`
    INSERT INTO events (kind, account_id, instance_id, actor_kind, subject_type, subject_id, created_at)
    SELECT 'INSTANCE_POLICY_CHANGED', ${actor.accountId}, ${id}, 'system', 'Instance', ${id}, now()
    FROM generate_series(1, ${count})`)

async function watch(filter: InstanceFilter, after?: string, on = gateway, actor = renter): Promise<Stream> {
  const stream = await on.services.instances.watch(actor, filter, after)
  streams.push(stream)
  return stream
}

async function next(stream: Stream): Promise<WatchedChange | WatchSynced> {
  return (await stream.next()).value
}

/** The next changes, without the item that says that the stream has caught up. */
async function take(stream: Stream, count: number): Promise<WatchedChange[]> {
  const taken: WatchedChange[] = []
  while (taken.length < count) {
    const item = await next(stream)
    if (item.kind !== 'synced') taken.push(item)
  }
  return taken
}

const shown = (changes: WatchedChange[]) => changes.map(({ kind, instanceId }) => [kind, instanceId])
const cursorOf = (changes: WatchedChange[]) => changes.at(-1)?.cursor as string

/** All changes up to the addition of a new instance that the filter matches. */
async function readToMark(stream: Stream, label: string): Promise<WatchedChange[]> {
  const mark = await rent(label)
  const seen: WatchedChange[] = []
  for (;;) {
    const [change] = (await take(stream, 1)) as [WatchedChange]
    if (change.instanceId === mark) return seen
    seen.push(change)
  }
}

describe('a stream of instances', () => {
  // The compiler asks for an example of each field.
  const filters: Required<{ [Field in keyof InstanceFilter]: (id: bigint) => NonNullable<InstanceFilter[Field]> }> = {
    ids: id => [id],
    label: () => ({ eq: 'a' }),
    status: () => ['created', 'scheduling', 'loading', 'running'],
    targetState: () => 'running',
    rentalKind: () => 'onDemand',
    gpuName: () => ({ neq: 'x' }),
    numGpus: () => ({ gte: 1 }),
    machineId: () => ({ neq: 1_000_000n }),
    templateId: () => 1n,
    templateHashId: () => 'a',
    createdAt: () => ({ gte: new Date(0) }),
    idempotencyKey: () => 'a',
  }
  it.each(Object.entries(filters))('can be filtered by %s, also when it continues', async (name, exampleOf) => {
    const id = await rent('a')
    const first = await next(await watch({ [name]: exampleOf(id) }))
    await setLabel(id, 'A')
    const second = await next(await watch({ [name]: exampleOf(id) }, first.cursor))
    const matches = !['templateId', 'templateHashId', 'idempotencyKey'].includes(name)
    expect([first.kind, second.kind]).toEqual(matches ? ['added', 'updated'] : ['synced', 'synced'])
  })

  it('starts with those that match, in the order of ids, and none of another account', async () => {
    const ids = [await rent('a'), await rent('a'), await rent('a')]
    await rent('b')
    await rent('a', rival)
    await destroy(ids[1] as bigint)
    const stream = await watch(named('a'))
    expect(shown(await take(stream, 2))).toEqual([
      ['added', ids[0]],
      ['added', ids[2]],
    ])
  })

  it('says once that the state at the start is complete, also when no instance matches', async () => {
    const id = await rent('a')
    const [stream, empty] = [await watch(named('a')), await watch(named('b'))]
    const first = [await next(stream), await next(stream), await next(empty)]
    expect(first.map(({ kind }) => kind)).toEqual(['added', 'synced', 'synced'])
    await setLabel(id, 'b')
    expect([await next(stream), await next(empty)].map(({ kind }) => kind)).toEqual(['removed', 'added'])
  })

  it('tells which begin to match, change, and no longer match, whichever gateway changes them', async () => {
    const [first, second] = [await rent('a'), await rent('b')]
    const stream = await watch(named('a'))
    await take(stream, 1)
    await setLabel(second, 'a', other)
    expect(await take(stream, 1)).toMatchObject([{ kind: 'added', instanceId: second, instance: { label: 'a' } }])
    await gateway.services.instances.update(renter, { ids: [first] }, { targetState: 'stopped' })
    expect(await take(stream, 1)).toMatchObject([{ kind: 'updated', instance: { targetState: 'stopped' } }])
    await setLabel(first, 'c', other)
    expect(await take(stream, 1)).toMatchObject([{ kind: 'removed', instanceId: first, instance: { label: 'c' } }])
    await destroy(second)
    expect(await take(stream, 1)).toMatchObject([{ kind: 'removed', instance: { destroyedAt: expect.any(Date) } }])
    const third = await rent('a')
    expect(shown(await take(stream, 1))).toEqual([['added', third]])
  })

  it('tells nothing of instances that matched neither before nor after', async () => {
    const id = await rent('b')
    const stream = await watch(named('a'))
    const seen = readToMark(stream, 'a')
    await setLabel(id, 'c')
    expect(await seen).toEqual([])
  })

  it('follows instances by id, even when they are destroyed', async () => {
    const [id, foreign] = [await rent('a'), await rent('a', rival)]
    await rent('a')
    const stream = await watch({ ids: [id, foreign] })
    await destroy(id)
    const [first, second] = await take(stream, 2)
    expect([first, second]).toMatchObject([
      { kind: 'added', instanceId: id },
      { kind: 'updated', instanceId: id, instance: { destroyedAt: expect.any(Date) } },
    ])
  })

  it('follows each mutable condition of its filter', async () => {
    const id = await rent('a')
    const stream = await watch({ targetState: 'running', status: ['created', 'scheduling', 'loading', 'running'] })
    await take(stream, 1)
    const set = (targetState: 'stopped' | 'running') =>
      gateway.services.instances.update(renter, { ids: [id] }, { targetState })
    await set('stopped')
    expect(shown(await take(stream, 1))).toEqual([['removed', id]])
    await set('running')
    expect(shown(await take(stream, 1))).toEqual([['added', id]])
    const change = (status: string, before: string) =>
      gateway.sql(
        `WITH changed AS (UPDATE instances SET status = '${status}' WHERE id = ${id})
        INSERT INTO events (kind, account_id, instance_id, actor_kind, subject_type, subject_id, created_at, before, after)
        VALUES ('INSTANCE_STATUS_CHANGED', ${renter.accountId}, ${id}, 'system', 'Instance', ${id}, now(),
          '{"status": "${before}"}', '{"status": "${status}"}')`,
      )
    const before = ((await gateway.sql(`SELECT status FROM instances WHERE id = ${id}`))[0]?.['status'] ?? '') as string
    await change('exited', before)
    expect(shown(await take(stream, 1))).toEqual([['removed', id]])
  })

  it('merges changes while its reader is busy: more than a stream of events may hold do not end it', async () => {
    const id = await rent('a')
    const stream = await watch(named('a'))
    await take(stream, 1)
    await gateway.sql(`
      INSERT INTO events (kind, account_id, instance_id, actor_kind, subject_type, subject_id, created_at)
      SELECT 'INSTANCE_POLICY_CHANGED', ${renter.accountId}, ${id}, 'system', 'Instance', ${id}, now()
      FROM generate_series(1, 3000)`)
    await setLabel(id, 'A')
    expect(await take(stream, 1)).toMatchObject([{ kind: 'updated', instanceId: id }])
    await expect.poll(async () => (await readToMark(stream, 'a')).length).toBeLessThan(6)
  })

  it('sends a key with a constraint on the id only those instances', async () => {
    const ids = [await rent('a'), await rent('a'), await rent('a')] as const
    const constraints = { id: { eq: Number(ids[1]) } }
    const scoped = await scopedKey({ 'instances.watch': { constraints } })
    const stream = await watch(named('a'), undefined, gateway, scoped)
    expect(shown(await take(stream, 1))).toEqual([['added', ids[1]]])
    for (const id of ids) await setLabel(id, 'A')
    expect(shown(await take(stream, 1))).toEqual([['updated', ids[1]]])
    await expect(watch({ ids: [ids[0]] }, undefined, gateway, scoped)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    const none = await scopedKey(undefined, { user_read: {} })
    await expect(watch(named('a'), undefined, gateway, none)).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })
})

describe('the bid to beat', () => {
  const bid = (nanos: bigint): RentOptions => ({ terms: { interruptible: true, bidNanos: nanos } })
  const changeBid = (actor: Actor, id: bigint, nanos: bigint) => gateway.services.instances.updateBid(actor, id, nanos)

  async function offerAgain(id: bigint): Promise<bigint> {
    const [offer] = await gateway.sql(`SELECT o.id FROM offers o JOIN instances i ON i.machine_id = o.machine_id
      WHERE i.id = ${id} AND o.withdrawn_at IS NULL AND o.rentable`)
    return BigInt(offer?.['id'] as string)
  }

  it('is told when a rival changes it, and not when a rival leaves it as it is', async () => {
    const id = await rent('a', renter, bid(900_000_000n))
    const unrelated = await rent('a')
    const stream = await watch(named('a'))
    expect(await take(stream, 2)).toMatchObject([
      { instanceId: id, instance: { minimumBidNanos: 200_000_000n } },
      { instanceId: unrelated },
    ])
    const { id: rivalId } = await gateway.rent(rival, await offerAgain(id), bid(300_000_000n))
    expect(await take(stream, 1)).toMatchObject([
      { kind: 'updated', instanceId: id, instance: { minimumBidNanos: 301_000_000n } },
    ])
    await changeBid(rival, rivalId, 400_000_000n)
    expect(await take(stream, 1)).toMatchObject([{ instanceId: id, instance: { minimumBidNanos: 401_000_000n } }])
    // It waits behind the rival, so that it changes nothing.
    await gateway.rent(await gateway.newActor(), await offerAgain(id), bid(250_000_000n))
    await gateway.services.instances.update(rival, { ids: [rivalId] }, { label: 'mine' })
    expect(await readToMark(stream, 'a')).toEqual([])
    await gateway.services.instances.update(rival, { ids: [rivalId] }, { targetState: 'stopped' })
    expect(await take(stream, 1)).toMatchObject([{ instanceId: id, instance: { minimumBidNanos: 251_000_000n } }])
  })

  it('is told after a resume, and only to a key that may read it', async () => {
    const id = await rent('a', renter, bid(900_000_000n))
    const scoped = await scopedKey({ 'instances.watch': {} })
    const cursor = cursorOf(await take(await watch(named('a'), undefined, gateway, scoped), 1))
    await gateway.rent(rival, await offerAgain(id), bid(300_000_000n))
    const [change] = await take(await watch(named('a'), cursor, other, scoped), 1)
    expect(change).toMatchObject({ kind: 'updated', instanceId: id })
    expect(change?.instance.minimumBidNanos).toBeUndefined()
    const [again] = await take(await watch(named('a'), cursor, other), 1)
    expect(again?.instance.minimumBidNanos).toBe(301_000_000n)
  })
})

describe('a stream that continues after a cursor', () => {
  it('on another gateway tells what changed meanwhile, with the kinds that its reader needs', async () => {
    const [kept, changed, leaves, destroyed, enters] = [
      await rent('a'),
      await rent('a'),
      await rent('a'),
      await rent('a'),
      await rent('b'),
    ]
    const passes = await rent('b')
    const stream = await watch(named('a'))
    const cursor = cursorOf(await take(stream, 4))
    await stream.return?.()
    await gateway.services.instances.update(renter, { ids: [changed] }, { targetState: 'stopped' })
    await setLabel(leaves, 'c')
    await destroy(destroyed)
    await setLabel(enters, 'a')
    // Matches for a moment that the reader never sees.
    await setLabel(passes, 'a')
    await setLabel(passes, 'b')
    const brief = await rent('a')
    await setLabel(brief, 'b')
    const created = await rent('a')
    const resumed = await watch(named('a'), cursor, other)
    const seen = await take(resumed, 5)
    expect(shown(seen)).toEqual([
      ['updated', changed],
      ['removed', leaves],
      ['removed', destroyed],
      ['added', enters],
      ['added', created],
    ])
    expect(seen.some(({ instanceId }) => instanceId === kept)).toBe(false)
    // Nothing twice.
    expect(await readToMark(await watch(named('a'), cursorOf(seen), gateway), 'a')).toEqual([])
  })

  it('says that it has caught up, and continues after that as well', async () => {
    const [id, leaves] = [await rent('a'), await rent('a')]
    const cursor = cursorOf(await take(await watch(named('a')), 2))
    await setLabel(leaves, 'b')
    const resumed = await watch(named('a'), cursor, other)
    const [missed, synced] = [await next(resumed), await next(resumed)]
    expect([missed, synced]).toMatchObject([{ kind: 'removed', instanceId: leaves }, { kind: 'synced' }])
    await setLabel(id, 'A')
    const again = await watch(named('a'), synced.cursor)
    expect([await next(again), await next(again)]).toMatchObject([
      { kind: 'updated', instanceId: id },
      { kind: 'synced' },
    ])
  })

  it('continues in the middle of the start, and of the changes', async () => {
    const ids = [await rent('a'), await rent('a'), await rent('a'), await rent('a')] as const
    const first = await take(await watch(named('a')), 2)
    await setLabel(ids[0], 'A')
    await setLabel(ids[2], 'A')
    const second = await take(await watch(named('a'), cursorOf(first), other), 1)
    expect(shown(second)).toEqual([['updated', ids[0]]])
    await setLabel(ids[1], 'b')
    const third = await take(await watch(named('a'), cursorOf(second)), 2)
    expect(shown(third)).toEqual([
      ['removed', ids[1]],
      ['added', ids[2]],
    ])
    await setLabel(ids[1], 'a')
    const last = await watch(named('a'), cursorOf(third), other)
    expect(shown(await take(last, 2))).toEqual([
      ['added', ids[1]],
      ['added', ids[3]],
    ])
    expect(await readToMark(last, 'a')).toEqual([])
  })

  it('misses no change of a transaction that was open, whatever commits first', async () => {
    const [early, late] = [await rent('a'), await rent('a')]
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT pg_current_xact_id()')
      // Commits with a higher id than that of the open transaction, which the snapshot of the start lacks.
      await setLabel(late, 'A')
      const cursor = cursorOf(await take(await watch(named('a')), 2))
      await session.query(`UPDATE instances SET label = 'b' WHERE id = ${early}`)
      await session.query(`
        INSERT INTO events (kind, account_id, instance_id, actor_kind, subject_type, subject_id, created_at, before, after)
        VALUES ('INSTANCE_LABEL_CHANGED', ${renter.accountId}, ${early}, 'system', 'Instance', ${early}, now(),
          '{"label": "a"}', '{"label": "b"}')`)
      await session.query('COMMIT')
      const resumed = await watch(named('a'), cursor, other)
      // Of the other instance nothing is told again.
      expect(shown(await take(resumed, 1))).toEqual([['removed', early]])
      expect(await readToMark(resumed, 'a')).toEqual([])
    })
  })

  it('shows a change between the reading of what is new and of the instances in both, not in neither', async () => {
    const id = await rent('a')
    const stream = await watch(named('a'))
    await take(stream, 1)
    const reading = interruptAfterStatement(
      () => take(stream, 1),
      /AS only_bid/,
      () => setLabel(id, 'b', other),
    )
    await setLabel(id, 'A')
    expect(await reading).toMatchObject([{ kind: 'updated', instanceId: id, instance: { label: 'b' } }])
    expect(shown(await take(stream, 1))).toEqual([['removed', id]])
  })

  it.each([
    ['no cursor', 'x', 'INVALID_CURSOR'],
    ['a cursor of another filter', undefined, 'INVALID_CURSOR'],
  ])('is refused with %s', async (_name, cursor, code) => {
    await rent('a')
    const after = cursor ?? cursorOf(await take(await watch(named('a')), 1))
    await expect(watch(named('b'), after)).rejects.toMatchObject({ code })
  })

  it('is refused once the permissions of its key have changed, and the message says so', async () => {
    const id = await rent('a')
    const constraints = { id: { eq: Number(id) } }
    const scoped = await scopedKey({ 'instances.watch': { constraints } })
    const cursor = cursorOf(await take(await watch(named('a'), undefined, gateway, scoped), 1))
    const expired = { code: 'CURSOR_EXPIRED', message: expect.stringMatching(/permissions.*without the cursor/) }
    await expect(watch(named('a'), cursor)).rejects.toMatchObject(expired)
    await expect(watch(named('a'), cursor, gateway, rival)).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
  })

  it('is refused once the account has had more than 10,000 events since', async () => {
    const id = await rent('a')
    const stream = await watch(named('a'))
    const cursor = cursorOf(await take(stream, 1))
    await stream.return?.()
    await addEvents(9_990, id)
    await addEvents(100, id, rival)
    expect(shown(await take(await watch(named('a'), cursor), 1))).toEqual([['updated', id]])
    await addEvents(11, id)
    const expired = { code: 'CURSOR_EXPIRED', message: expect.stringMatching(/10000 events.*without a cursor/) }
    await expect(watch(named('a'), cursor)).rejects.toMatchObject(expired)
    expect(shown(await take(await watch(named('a')), 1))).toEqual([['added', id]])
  })

  it('is no cursor for an open stream, which ends when its account has more events between two rounds', async () => {
    const id = await rent('a')
    const stream = await watch(named('a'))
    await take(stream, 1)
    await next(stream)
    await addEvents(10_001, id)
    await setLabel(id, 'b')
    await expect(next(stream)).rejects.toMatchObject({
      code: 'CURSOR_EXPIRED',
      message: expect.stringMatching(/of the stream/),
    })
  })

  it('is refused once events after the cursor are gone', async () => {
    const id = await rent('a')
    const cursor = cursorOf(await take(await watch(named('a')), 1))
    await setLabel(id, 'A')
    const [last] = await gateway.sql('SELECT xid::text, id FROM events ORDER BY events.xid DESC, id DESC LIMIT 1')
    await gateway.sql(`UPDATE outbox SET purged_xid = '${last?.['xid']}', purged_id = ${last?.['id']}`)
    await expect(watch(named('a'), cursor)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
    await gateway.sql("UPDATE outbox SET purged_xid = '0', purged_id = 0, epoch = epoch + 1")
    await expect(watch(named('a'), cursor)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
    await expect.poll(async () => shown(await take(await watch(named('a')), 1))).toEqual([['added', id]])
  })
})

describe('a large fleet', () => {
  /** One running instance, and stopped copies of it. */
  async function fleetOf(count: number, label: string): Promise<void> {
    const first = await rent(label)
    await gateway.sql(`
      WITH offer AS (
        INSERT INTO offers SELECT (jsonb_populate_record(o, jsonb_build_object('id', nextval('offers_id_seq'), 'withdrawn_at', now()))).*
        FROM offers o, generate_series(2, ${count}) WHERE o.id = (SELECT offer_id FROM instances WHERE id = ${first}) RETURNING id)
      INSERT INTO instances SELECT (jsonb_populate_record(i, jsonb_build_object('id', nextval('instances_id_seq'),
        'offer_id', offer.id, 'target_state', 'stopped'))).* FROM instances i, offer WHERE i.id = ${first}`)
  }

  it('is refused beyond 1,000 instances, and begins with as many', async () => {
    await fleetOf(1_000, 'a')
    expect(await take(await watch(named('a')), 1_000)).toHaveLength(1_000)
    await rent('a')
    await expect(watch(named('a'))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      details: { issues: [{ path: 'filter', message: expect.stringContaining('more than 1000 instances') }] },
    })
  })

  it('costs as many statements for a change as a single instance does', async () => {
    const counts: number[] = []
    for (const size of [1, 300]) {
      renter = await gateway.newActor()
      await fleetOf(size, 'a')
      const [row] = await gateway.sql(`SELECT min(id) AS id FROM instances WHERE account_id = ${renter.accountId}`)
      const id = BigInt(row?.['id'] as string)
      const stream = await watch(named('a'))
      await take(stream, size)
      const ofStream = (text: string) => /AS only_bid|FROM port_bindings/.test(text)
      const change = take(stream, 1)
      const statements = await captureQueries(async () => {
        await gateway.sql(`
          INSERT INTO events (kind, account_id, instance_id, actor_kind, subject_type, subject_id, created_at)
          VALUES ('INSTANCE_POLICY_CHANGED', ${renter.accountId}, ${id}, 'system', 'Instance', ${id}, now())`)
        await change
      })
      counts.push(statements.filter(ofStream).length)
    }
    expect(counts).toEqual([2, 2])
  })
})
