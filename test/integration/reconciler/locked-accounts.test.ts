import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now, delayFactor: 0 })
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

async function offersOf(count: number): Promise<bigint[]> {
  await listMachines(
    gateway.operations,
    Array.from({ length: count }, () => ({})),
  )
  const rows = await gateway.sql('SELECT id FROM offers WHERE rentable ORDER BY id DESC LIMIT $1', [count])
  return rows.map(({ id }) => BigInt(id as string))
}

it('does not hold up instances of other accounts that come to run in the same batch', async () => {
  const [busy, other] = [await gateway.newActor(), await gateway.newActor()]
  const [first, second] = (await offersOf(2)) as [bigint, bigint]
  const waiting = await gateway.rent(busy, first)
  const { id } = await gateway.rent(other, second)
  await withSession(testDatabase.url, async session => {
    await session.query('BEGIN')
    await session.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [busy.accountId])
    const passes = gateway.idle()
    await waitUntilBlocksOthers(session)
    const statusOf = async (one: bigint) =>
      (await gateway.sql('SELECT status FROM instances WHERE id = $1', [one]))[0]?.['status']
    expect(await statusOf(id)).toBe('running')
    expect(await statusOf(waiting.id)).not.toBe('running')
    await session.query('COMMIT')
    await passes
    expect(await statusOf(waiting.id)).toBe('running')
  })
})

it('begins to charge a rental that waited for its account no earlier than the account was charged', async () => {
  const actor = await gateway.newActor()
  const [offer] = (await offersOf(1)) as [bigint]
  await withSession(testDatabase.url, async session => {
    await session.query("SET session_replication_role = 'replica'")
    await session.query('BEGIN')
    const { rows } = await session.query('UPDATE accounts SET metered_at = $2 WHERE id = $1 RETURNING metered_at', [
      actor.accountId,
      new Date(clock.now().getTime() + 1_000),
    ])
    const renting = gateway.rent(actor, offer)
    await waitUntilBlocksOthers(session)
    await session.query('COMMIT')
    const { id } = await renting
    const meters = await gateway.sql('SELECT since FROM meters WHERE instance_id = $1', [id])
    expect(meters.map(({ since }) => since)).toEqual([rows[0].metered_at, rows[0].metered_at])
  })
})
