import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { manualClock } from '../../support/clock.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { createDueInstances } from '../../support/instances/due-instances.ts'

const clock = manualClock()
let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = openGateway({ url: database.url, now: clock.now, delayFactor: 0 })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** Rents this many instances, each on a machine of its own with one GPU. */
async function rentMany(count: number): Promise<bigint[]> {
  const actor = await gateway.newActor()
  const ids: bigint[] = []
  while (ids.length < count) {
    await listMachines(gateway.operations, [{ machine: { numGpus: 1 } }])
    const [offer] = await gateway.sql('SELECT max(id) AS id FROM offers')
    ids.push((await gateway.rent(actor, BigInt(offer?.['id'] as string))).id)
  }
  return ids
}

async function ownerOf(id: bigint): Promise<Actor> {
  const [row] = await gateway.sql(
    `SELECT account_id, k.id, public_id FROM api_keys k WHERE id = (SELECT api_key_id FROM instances WHERE id = $1)`,
    [String(id)],
  )
  const [accountId, apiKeyId] = [row?.['account_id'] as number, row?.['id'] as number]
  return { accountId, apiKeyId, publicId: row?.['public_id'] as string, permissions: null }
}

/** Rents the GPUs that another instance has given up. */
async function rentFreed(id: bigint): Promise<bigint> {
  const [offer] = await gateway.sql(
    `SELECT id FROM offers WHERE withdrawn_at IS NULL AND rentable
     AND machine_id = (SELECT machine_id FROM instances WHERE id = $1)`,
    [String(id)],
  )
  return (await gateway.rent(await ownerOf(id), BigInt(offer?.['id'] as string))).id
}

const dueIds = async () =>
  (await gateway.sql('SELECT instance_id AS id FROM instance_looks WHERE due_at <= $1 ORDER BY 1', [clock.now()])).map(
    ({ id }) => BigInt(id as string),
  )

describe('passes over many instances', () => {
  it('take as many statements as passes over few, when nothing has changed', async () => {
    await gateway.idle()
    const statements: number[] = []
    for (const count of [3, 60]) {
      await createDueInstances(gateway, count, clock.now())
      clock.advance(1_000)
      statements.push((await captureQueries(() => gateway.idle())).length)
      expect(await dueIds()).toEqual([])
    }
    const [few, many] = statements
    expect(many).toBe(few)
    // A lease, the facts of the leased, the containers, the findings, and a lease that finds nothing more.
    expect(few).toBe(5)
  })

  it('start many instances of several accounts with as many statements as a few of one', async () => {
    const statements: string[][] = []
    for (const accounts of [1, 4]) {
      const ids: bigint[] = []
      for (let count = 0; count < accounts; count += 1) ids.push(...(await rentMany(3)))
      statements.push(await captureQueries(() => gateway.idle()))
      const running = "SELECT count(*)::int AS count FROM instances WHERE status = 'running' AND id = ANY($1)"
      expect(await gateway.sql(running, [ids.map(String)])).toEqual([{ count: 3 * accounts }])
      const charged =
        'SELECT count(*)::int AS count FROM meters WHERE rate_nanos > 0 AND kind = $2 AND instance_id = ANY($1)'
      expect(await gateway.sql(charged, [ids.map(String), 'gpu'])).toEqual([{ count: 3 * accounts }])
    }
    const [few, many] = statements
    expect(many).toEqual(few)
  })

  it('free GPUs while another transaction has locked an instance that waits for others', async () => {
    const [leaving, other] = (await rentMany(2)) as [bigint, bigint]
    await gateway.idle()
    const actor = await ownerOf(leaving)
    await gateway.services.instances.update(actor, { ids: [leaving, other] }, { targetState: 'stopped' })
    const waiting = await rentFreed(leaving)
    await rentFreed(other)
    clock.advance(1_000)
    const occupied = async () =>
      (
        await gateway.sql('SELECT occupant_id FROM gpus WHERE occupant_id = ANY($1) ORDER BY 1', [
          [String(leaving), String(other)],
        ])
      ).map(row => BigInt(row['occupant_id'] as string))
    expect(await occupied()).toEqual([leaving, other])
    const leases = await gateway.reconciliation.leaseDue(100)
    const own = leases.filter(({ instanceId }) => [leaving, other].includes(instanceId))
    await withSession(database.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM instances WHERE id = $1 FOR UPDATE', [String(waiting)])
      const done = Promise.all(own.map(lease => gateway.reconcile(lease)))
      await waitForLockWaiters(session)
      await expect.poll(occupied).toEqual([leaving])
      await session.query('ROLLBACK')
      await done
    })
    expect(await occupied()).toEqual([])
    await Promise.all(leases.filter(lease => !own.includes(lease)).map(lease => gateway.reconcile(lease)))
    await gateway.idle()
  })

  it('record their findings while another transaction has locked one of the instances', async () => {
    const { ids } = await createDueInstances(gateway, 10, clock.now())
    clock.advance(1_000)
    const [locked] = ids
    await withSession(database.url, async session => {
      await session.query('BEGIN')
      const leases = await gateway.reconciliation.leaseDue(100)
      await session.query('SELECT FROM instance_looks WHERE instance_id = $1 FOR UPDATE', [String(locked)])
      const done = Promise.all(leases.map(lease => gateway.reconcile(lease)))
      await waitForLockWaiters(session)
      expect(await dueIds()).toEqual([locked])
      await session.query('ROLLBACK')
      await done
    })
    expect(await dueIds()).toEqual([])
  })

  it('record their findings when one of them cannot be recorded', async () => {
    const { ids } = await createDueInstances(gateway, 10, clock.now())
    clock.advance(1_000)
    await gateway.sql(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`)
    await gateway.sql(
      `CREATE TRIGGER fail BEFORE UPDATE OF seen_at ON instance_looks FOR EACH ROW WHEN (NEW.instance_id = ${ids[3]}) EXECUTE FUNCTION fail()`,
    )
    await gateway.idle()
    expect(
      await gateway.sql(
        'SELECT instance_id AS id FROM instance_looks WHERE due_at IS NOT NULL AND instance_id = ANY($1)',
        [ids.map(String)],
      ),
    ).toEqual([{ id: String(ids[3]) }])
    expect(
      await gateway.sql('SELECT attempts, leased_until FROM instance_looks WHERE instance_id = $1', [String(ids[3])]),
    ).toEqual([{ attempts: 1, leased_until: null }])
    await gateway.sql('DROP FUNCTION fail CASCADE')
  })
})
