// Streams of events: none missing, none twice, and none of other accounts.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { EventFilter } from '../../../src/domain/events/events.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { takeEvents, writeEvent } from '../../support/events/events.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let renter: Actor
let rival: Actor

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  renter = await gateway.newActor()
  rival = await gateway.newActor()
  await listMachines(
    gateway.operations,
    Array.from({ length: 12 }, () => ({})),
  )
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

async function rent(actor: Actor): Promise<bigint> {
  const [offer] = await gateway.sql(
    'SELECT id FROM offers WHERE num_gpus = 1 AND rentable AND withdrawn_at IS NULL ORDER BY id LIMIT 1',
  )
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string))).id
}

it('an account cannot read the events of instances of another', async () => {
  const query = { instanceId: await rent(renter), page: {} }
  const read = async (actor: Actor) =>
    (await gateway.services.events.instancePages(actor, [query], { id: true })).get(query)?.edges
  expect([await read(renter), await read(rival)]).toMatchObject([[{}, {}], []])
})

describe('a stream of events', () => {
  it('delivers later events of its own account', async () => {
    const stream = await gateway.services.events.watch(renter, {})
    await rent(rival)
    const id = await rent(renter)
    const received = await takeEvents(stream, 2)
    expect(received.map(({ node }) => [node.kind, node.instanceId])).toEqual([
      ['INSTANCE_CREATED', id],
      ['INSTANCE_GRANTED', id],
    ])
    await stream.return?.()
  })

  it('continues after a cursor with the events since then', async () => {
    const stream = await gateway.services.events.watch(renter, {})
    await rent(renter)
    const [first] = await takeEvents(stream, 1)
    await stream.return?.()
    const id = await rent(renter)
    const resumed = await gateway.services.events.watch(renter, {}, first?.cursor)
    const later = await rent(renter)
    const received = await takeEvents(resumed, 5)
    expect(received.map(({ node }) => node.kind)).toEqual([
      'INSTANCE_GRANTED',
      ...['INSTANCE_CREATED', 'INSTANCE_GRANTED'],
      ...['INSTANCE_CREATED', 'INSTANCE_GRANTED'],
    ])
    expect(received.map(({ node }) => node.instanceId).slice(1)).toEqual([id, id, later, later])
    await resumed.return?.()
  })

  it('delivers only events that the key may read, both live and after a cursor', async () => {
    const [mine, other] = [await rent(renter), await rent(renter)]
    const permissions = {
      api: {
        user_read: { 'events.watch': {} },
        instance_read: { 'instances.get': { constraints: { id: { eq: Number(mine) } } } },
      },
    }
    const { apiKey } = await gateway.services.apiKeys.create(renter, { permissions }, { id: true, publicId: true })
    const scoped = { ...renter, apiKeyId: apiKey.id, publicId: apiKey.publicId, permissions }
    const label = async (name: string) => {
      for (const instanceId of [other, mine])
        await writeEvent(gateway.sql, {
          kind: 'INSTANCE_LABEL_CHANGED',
          accountId: renter.accountId,
          instanceId,
          after: { label: name },
        })
    }
    const takeOwn = async (stream: Parameters<typeof takeEvents>[0], count: number) => {
      const edges = await takeEvents(stream, count)
      expect(edges.map(({ node }) => node.instanceId)).toEqual(edges.map(() => mine))
      return edges
    }
    const live = await gateway.services.events.watch(scoped, {})
    await label('one')
    await label('two')
    const [first] = await takeOwn(live, 2)
    await live.return?.()
    const resumed = await gateway.services.events.watch(scoped, {}, first?.cursor)
    await label('three')
    expect((await takeOwn(resumed, 2)).map(({ node }) => node.after)).toEqual([{ label: 'two' }, { label: 'three' }])
    await resumed.return?.()
  })

  it('continues after a cursor without reading events outside the filter', async () => {
    const { endCursor } = await gateway.services.events.page(renter, {}, { last: 1 }, { id: true })
    await gateway.sql(
      `INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, created_at)
      SELECT 'CREDIT_GRANTED', ${renter.accountId}, 'system', 'Account', ${renter.accountId}, now() FROM generate_series(1, 1000)`,
    )
    await rent(renter)
    const rows = vi.spyOn(gateway.database, 'query')
    const stream = await gateway.services.events.watch(renter, { kinds: ['INSTANCE_CREATED'] }, endCursor)
    expect((await takeEvents(stream, 1)).map(({ node }) => node.kind)).toEqual(['INSTANCE_CREATED'])
    const read = (await Promise.all(rows.mock.results.map(({ value }) => value as Promise<unknown[]>))).flat()
    rows.mockRestore()
    expect(read.length).toBeLessThan(50)
    await stream.return?.()
  })

  it('delivers only events of the instances in its filter, both live and after a cursor', async () => {
    const [wanted, other] = [await rent(renter), await rent(renter)]
    const filter: EventFilter = { subjects: [{ type: 'Instance', id: wanted }] }
    const label = async (name: string) => {
      for (const instanceId of [other, wanted]) {
        const event = { kind: 'INSTANCE_LABEL_CHANGED', accountId: renter.accountId, instanceId } as const
        await writeEvent(gateway.sql, { ...event, after: { label: name } })
      }
    }
    const live = await gateway.services.events.watch(renter, filter)
    await label('one')
    await label('two')
    const received = await takeEvents(live, 2)
    expect(received.map(({ node }) => [node.instanceId, node.after])).toEqual([
      [wanted, { label: 'one' }],
      [wanted, { label: 'two' }],
    ])
    await live.return?.()
    const resumed = await gateway.services.events.watch(renter, filter, received[0]?.cursor)
    await label('three')
    expect((await takeEvents(resumed, 2)).map(({ node }) => [node.instanceId, node.after])).toEqual([
      [wanted, { label: 'two' }],
      [wanted, { label: 'three' }],
    ])
    await resumed.return?.()
  })

  it('ends for a waiting reader that leaves', async () => {
    const stream = await gateway.services.events.watch(renter, {})
    const waiting = stream.next()
    await stream.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})
