// Rentals whose offer is rented or changed while they are decided.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Prisma } from '../../../../src/database/generated/client.ts'
import type { RowShape } from '../../../../src/database/row-types.ts'
import { type Transaction, transaction } from '../../../../src/database/transaction.ts'
import type { Actor } from '../../../../src/domain/actor.ts'
import type { RentInput } from '../../../../src/domain/instances/rent/decide.ts'
import { createRememberedKeys } from '../../../../src/services/accounts/api-keys/remembered-keys.ts'
import { OfferNotRentedError, rentInTransaction } from '../../../../src/services/instances/rent/alone.ts'
import { createSecrets } from '../../../../src/services/secrets.ts'
import { defaultAdmission } from '../../../support/billing/admission.ts'
import { manualClock } from '../../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { waitForLockWaiters, withSession } from '../../../support/database/sessions.ts'
import { listMachines } from '../../../support/factories.ts'
import { type Gateway, openGateway } from '../../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

type Offer = { id: bigint; machineId: number }

/** The offers of a new machine of two GPUs: one for both GPUs, and one for each GPU. */
async function offers(): Promise<{ both: Offer; first: Offer; second: Offer }> {
  await listMachines(gateway.operations, [{ machine: { numGpus: 2 } }])
  const rows = await gateway.sql(`SELECT id, machine_id FROM offers
    WHERE machine_id = (SELECT max(id) FROM machines) ORDER BY num_gpus DESC, first_gpu`)
  const [both, first, second] = rows.map(row => ({ id: BigInt(row['id'] as string), machineId: row['machine_id'] }))
  return { both, first, second } as { both: Offer; first: Offer; second: Offer }
}

const inputFor = ({ id: offerId }: Offer): RentInput => {
  return { offerId, terms: { interruptible: false }, launch: { image: 'ubuntu' }, failIfUnavailable: false }
}

const instancesOn = async ({ machineId }: Offer) =>
  (await gateway.sql('SELECT offer_id FROM instances WHERE machine_id = $1', [machineId])).map(row => row['offer_id'])

/** Rents in a transaction, and calls `work` before or after the first matching statement. */
async function rentBeside(offer: Offer, when: 'before' | 'after', statement: RegExp, work: () => Promise<unknown>) {
  const noStream = { subscribe: () => Promise.reject(new Error('no stream is opened')) }
  const deps = {
    database: gateway.database,
    log: gateway.log,
    secrets: createSecrets('a secret of tests'),
    rememberedKeys: createRememberedKeys(),
    feed: noStream,
    containerConsole: { logs: () => Promise.resolve([]), execute: () => Promise.reject(new Error('nothing is run')) },
    simulation: {
      realMachines: () => Promise.reject(),
      statsAt: () => undefined as never,
      runsOf: () => Promise.reject(),
    },
    sshProxy: null,
    notebookProxy: null,
    admission: defaultAdmission,
  }
  let done = false
  const besideWork = async <Result>({ text }: { text: string }, run: () => Promise<Result>): Promise<Result> => {
    const isMatch = !done && statement.test(text)
    done ||= isMatch
    if (isMatch && when === 'before') await work()
    const result = await run()
    if (isMatch && when === 'after') await work()
    return result
  }
  return await transaction(gateway.database, tx => {
    const between: Transaction = Object.assign(Object.create(tx) as Transaction, {
      query: <Shape extends RowShape>(query: Prisma.Sql, shape: Shape) =>
        besideWork(query, () => tx.query(query, shape)),
      execute: (query: Prisma.Sql) => besideWork(query, () => tx.execute(query)),
    })
    return rentInTransaction(between, deps, actor, {
      input: inputFor(offer),
      idempotencyKey: null,
      storeWrites: () => ({}),
    })
  })
}

describe('an offer whose GPUs are rented', () => {
  const gone = { code: 'OFFER_UNAVAILABLE' }

  it('cannot be rented, whether all its GPUs are taken or some', async () => {
    const { both, first, second } = await offers()
    await gateway.rent(actor, first.id)
    await expect(gateway.rent(actor, both.id)).rejects.toMatchObject(gone)
    await gateway.rent(actor, second.id)
    await expect(gateway.rent(actor, both.id)).rejects.toMatchObject(gone)
    expect(await instancesOn(both)).toHaveLength(2)
  })

  it('cannot be rented by a caller that waited for the lock meanwhile', async () => {
    const { both, first } = await offers()
    const answers = await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM machines WHERE id = $1 FOR UPDATE', [both.machineId])
      let isDone = false
      const renting = gateway.rent(actor, both.id).catch((error: unknown) => error)
      renting.finally(() => {
        isDone = true
      })
      await waitForLockWaiters(session, () => isDone)
      expect(isDone).toBe(false)
      // The same changes as a rental of one GPU.
      await session.query('UPDATE offers SET rentable = false WHERE id = $1', [both.id])
      await session.query('UPDATE offers SET rentable = false, withdrawn_at = now() WHERE id = $1', [first.id])
      await session.query('COMMIT')
      return await renting
    })
    expect(answers).toMatchObject(gone)
    expect(await instancesOn(both)).toEqual([])
  })

  it('cannot be rented in a transaction without the lock, even if the GPUs become free meanwhile', async () => {
    const { both } = await offers()
    const setRentable = (rentable: boolean) =>
      gateway.sql('UPDATE offers SET rentable = $1 WHERE id = $2', [rentable, both.id])
    await setRentable(false)
    const renting = rentBeside(both, 'after', /WITH locked .* FROM offers/s, () => setRentable(true))
    await expect(renting).rejects.toBeInstanceOf(OfferNotRentedError)
    await gateway.rent(actor, both.id)
  })

  it.each(['rented', 'quoted'])('is refused without a wait for the lock of its machine when it is %s', async how => {
    const { both, first } = await offers()
    await gateway.rent(actor, first.id)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM machines WHERE id = $1 FOR UPDATE', [both.machineId])
      const { instances } = gateway.services
      const asking =
        how === 'rented'
          ? instances.rent(actor, inputFor(both), { id: true }).catch(({ code }) => code)
          : instances.quote(actor, inputFor(both)).then(({ blockers }) => blockers[0]?.code)
      let isDone = false
      asking.finally(() => {
        isDone = true
      })
      await waitForLockWaiters(session, () => isDone)
      expect(isDone).toBe(true)
      expect(await asking).toBe('OFFER_UNAVAILABLE')
    })
  })
})

it('answers a quote while another transaction locks the machine', async () => {
  const { both } = await offers()
  await withSession(testDatabase.url, async session => {
    await session.query('BEGIN')
    await session.query('SELECT FROM machines WHERE id = $1 FOR UPDATE', [both.machineId])
    let isDone = false
    const asking = gateway.services.instances.quote(actor, inputFor(both)).finally(() => {
      isDone = true
    })
    await waitForLockWaiters(session, () => isDone)
    expect(isDone).toBe(true)
    expect((await asking).blockers).toEqual([])
  })
})

describe('an offer that is changed without a lock on its machine', () => {
  it.each([
    ['not rentable', 'rentable = false'],
    ['withdrawn', 'rentable = false, withdrawn_at = now()'],
  ])('cannot be rented once it is %s', async (_how, change) => {
    const { both } = await offers()
    const changing = () =>
      withSession(testDatabase.url, async session => {
        // A trigger would update the machine, and wait for its lock.
        await session.query("SET session_replication_role = 'replica'")
        await session.query(`UPDATE offers SET ${change} WHERE id = $1`, [both.id])
      })
    const renting = rentBeside(both, 'before', /UPDATE offers SET rentable = false, withdrawn_at/, changing)
    await expect(renting).rejects.toThrow('without a lock on its machine')
    expect(await instancesOn(both)).toEqual([])
  })
})
