// Bids alongside bids of other accounts and on other machines, and concurrent changes of their instances.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../../src/domain/actor.ts'
import { manualClock } from '../../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { waitForLockWaiters, withSession } from '../../../support/database/sessions.ts'
import { listMachines } from '../../../support/factories.ts'
import { type Gateway, openGateway } from '../../../support/gateways.ts'

let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let rival: Actor

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: manualClock().now })
  actor = await gateway.newActor()
  rival = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** Rents the only GPU of a machine at a bid. Without an id, the machine is new. */
async function bid(by: Actor, bidNanos: bigint, machineId?: number) {
  if (machineId === undefined) await listMachines(gateway.operations, [{}])
  const [offer] = await gateway.sql(
    `SELECT id FROM offers WHERE machine_id = coalesce($1, (SELECT max(id) FROM machines)) AND withdrawn_at IS NULL`,
    [machineId ?? null],
  )
  return await gateway.rent(by, BigInt(offer?.['id'] as string), { terms: { interruptible: true, bidNanos } })
}

describe('minimum bids', () => {
  it('depend only on rivals on the same machine', async () => {
    const [calm, contested] = [await bid(actor, 300_000_000n), await bid(actor, 300_000_000n)]
    await bid(rival, 900_000_000n, contested.machineId)
    const bids = await gateway.services.instances.minimumBids(actor, [calm.id, contested.id])
    expect(bids.toSorted((one, other) => Number(one.id - other.id))).toEqual([
      // The floor of the host.
      { id: calm.id, minimumBidNanos: 200_000_000n },
      { id: contested.id, minimumBidNanos: 901_000_000n },
    ])
  })

  it('are returned only to the account of the instance', async () => {
    const [mine, theirs] = [await bid(actor, 300_000_000n), await bid(rival, 300_000_000n)]
    const ids = async (by: Actor) =>
      (await gateway.services.instances.minimumBids(by, [mine.id, theirs.id])).map(({ id }) => id)
    expect([await ids(actor), await ids(rival)]).toEqual([[mine.id], [theirs.id]])
  })
})

describe('a changed bid', () => {
  it('locks the instances on the machine in the order of their ids', async () => {
    const first = await bid(rival, 300_000_000n)
    const second = await bid(actor, 250_000_000n, first.machineId)
    let changing: Promise<unknown> | undefined
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM instances WHERE id = $1 FOR UPDATE', [first.id])
      let isDone = false
      changing = gateway.services.instances.updateBid(actor, second.id, 400_000_000n).finally(() => {
        isDone = true
      })
      await waitForLockWaiters(session, () => isDone)
      // NOWAIT fails if the change already holds the later lock while it waits for the earlier one.
      await session.query('SELECT FROM instances WHERE id = $1 FOR UPDATE NOWAIT', [second.id])
      await session.query('COMMIT')
    }).finally(() => changing)
    const holders = await gateway.sql('SELECT holder_id FROM gpus WHERE machine_id = $1', [first.machineId])
    expect(holders).toEqual([{ holder_id: String(second.id) }])
  })
})
