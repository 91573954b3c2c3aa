// Events as they happen: nothing left out, nothing twice, and nothing of others.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../src/domain/actor.ts'
import { manualClock } from '../support/clock.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { take } from '../support/events.ts'
import { listMachines } from '../support/factories.ts'
import { type Gateway, openGateway } from '../support/gateways.ts'

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
    Array.from({ length: 8 }, () => ({})),
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

it('nobody reads what happened to the instance of another', async () => {
  const asked = { instanceId: await rent(renter), page: {} }
  const read = async (actor: Actor) => (await gateway.services.events.pagesOf(actor, [asked])).get(asked)?.edges
  expect([await read(renter), await read(rival)]).toMatchObject([[{}, {}], []])
})

describe('a stream of events', () => {
  it('tells what happens from then on, to the account that it happens to', async () => {
    const stream = await gateway.services.events.watch(renter, {})
    await rent(rival)
    const id = await rent(renter)
    const told = await take(stream, 2)
    expect(told.map(({ node }) => [node.type, node.instanceId])).toEqual([
      ['INSTANCE_CREATED', id],
      ['INSTANCE_GRANTED', id],
    ])
    await stream.return?.()
  })

  it('goes on after a cursor with what happened since', async () => {
    const stream = await gateway.services.events.watch(renter, {})
    await rent(renter)
    const [first] = await take(stream, 1)
    await stream.return?.()
    const id = await rent(renter)
    const resumed = await gateway.services.events.watch(renter, {}, first?.cursor)
    const later = await rent(renter)
    const told = await take(resumed, 5)
    expect(told.map(({ node }) => node.type)).toEqual([
      'INSTANCE_GRANTED',
      ...['INSTANCE_CREATED', 'INSTANCE_GRANTED'],
      ...['INSTANCE_CREATED', 'INSTANCE_GRANTED'],
    ])
    expect(told.map(({ node }) => node.instanceId).slice(1)).toEqual([id, id, later, later])
    await resumed.return?.()
  })

  it('ends for a reader that waits, when it goes', async () => {
    const stream = await gateway.services.events.watch(renter, {})
    const waiting = stream.next()
    await stream.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})
