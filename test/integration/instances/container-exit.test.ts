import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway, type RentOptions } from '../../support/gateways.ts'

const clock = manualClock()
let database: TestDatabase
let actor: Actor
let machines = 0

beforeAll(async () => {
  database = await createDatabase()
  const gateway = open()
  actor = await gateway.newActor()
  await gateway.close()
})

afterAll(() => database.drop())

function open(wrapProvider: (provider: Provider) => Provider = provider => provider): Gateway {
  return openGateway({ url: database.url, now: clock.now, wrapProvider, delayFactor: 0 })
}

/** Lists a new machine, and returns its smallest offer that begins at a GPU. */
async function newOffer({ operations, sql }: Gateway, machine: object = {}, firstGpu = 0): Promise<bigint> {
  await listMachines(operations, [{ machine }])
  machines += 1
  return await offerAt(sql, firstGpu)
}

async function offerAt(sql: Gateway['sql'], firstGpu: number): Promise<bigint> {
  const [row] = await sql(
    'SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND withdrawn_at IS NULL ORDER BY num_gpus LIMIT 1',
    [machines, firstGpu],
  )
  return BigInt(row?.['id'] as string)
}

const refusalOf = async (renting: Promise<unknown>) => {
  const error = await renting.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(DomainError)
  return error as DomainError
}

const rowOf = async ({ sql }: Gateway, id: bigint) => (await sql('SELECT * FROM instances WHERE id = $1', [id]))[0]

describe('a container that ends as soon as it starts', () => {
  it('ends its instance, even when the instance was stopped before', async () => {
    const calm = open()
    const { id } = await calm.rent(actor, await newOffer(calm))
    await calm.idle()
    await calm.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    await calm.idle()
    let starts = 0
    const crashing = open(provider => ({
      ...provider,
      async start(container, signal) {
        starts += 1
        await provider.start(container, signal)
        await crashing.sql('UPDATE simulated_containers SET exit_code = 3 WHERE instance_id = $1', [id])
      },
    }))
    await crashing.services.instances.update(actor, { ids: [id] }, { targetState: 'running' })
    await crashing.idle()
    expect(await rowOf(crashing, id)).toMatchObject({ status: 'exited', reason_code: 'EXITED', exit_code: 3 })
    expect(starts).toBe(1)
    await calm.close()
    await crashing.close()
  })
})

describe('an instance that was observed running', () => {
  it('counts as started, even when it was stopped during the same pass', async () => {
    const gateway = open()
    const { id } = await gateway.rent(actor, await newOffer(gateway))
    const interrupted = open(provider => ({
      ...provider,
      async observe(container, signal) {
        const observed = await provider.observe(container, signal)
        if (observed.state === 'running')
          await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
        return observed
      },
    }))
    await interrupted.idle()
    expect(await rowOf(gateway, id)).toMatchObject({ status: 'stopped', started_at: clock.now() })
    await gateway.sql('DELETE FROM simulated_containers WHERE instance_id = $1', [id])
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'running' })
    await gateway.idle()
    expect(await rowOf(gateway, id)).toMatchObject({ status: 'unknown', reason_code: 'CONTAINER_LOST' })
    await gateway.close()
    await interrupted.close()
  })
})

describe('a machine without room for the smallest disk', () => {
  it('has no rentable offer until a renter frees disk space', async () => {
    const gateway = open()
    const first = await newOffer(gateway, { numGpus: 2, diskMb: 20_000 })
    const { id } = await gateway.rent(actor, first, { launch: { diskGb: 16 } })
    const rentable = async () => {
      const text = 'SELECT count(*)::int AS count FROM offers WHERE machine_id = $1 AND rentable'
      return (await gateway.sql(text, [machines]))[0]?.['count']
    }
    expect(await rentable()).toBe(0)
    const error = await refusalOf(gateway.rent(actor, await offerAt(gateway.sql, 1)))
    expect(error.code).toBe('OFFER_UNAVAILABLE')
    await gateway.services.instances.destroy(actor, { ids: [id] })
    await gateway.idle()
    expect(await rentable()).toBe(3)
    await gateway.close()
  })
})

describe('a bid', () => {
  const bid = (nanos: bigint, options: RentOptions = {}): RentOptions => {
    return { ...options, terms: { interruptible: true, bidNanos: nanos } }
  }

  it('with failIfUnavailable wins if it is the highest by any margin', async () => {
    const gateway = open()
    const low = await gateway.rent(actor, await newOffer(gateway), bid(210_000_000n))
    const other = await offerAt(gateway.sql, 0)
    const refused = await refusalOf(gateway.rent(actor, other, bid(210_000_000n, { failIfUnavailable: true })))
    expect(refused).toMatchObject({ code: 'OFFER_UNAVAILABLE', details: { failIfUnavailable: true } })
    const high = await gateway.rent(actor, other, bid(210_000_001n, { failIfUnavailable: true }))
    expect([
      high.holdsGpus,
      (await gateway.services.instances.byIds(actor, [low.id], { holdsGpus: true }))[0]?.holdsGpus,
    ]).toEqual([true, false])
    await gateway.close()
  })

  it('gets alternatives with room for the same disk when it is refused', async () => {
    const gateway = open()
    const elsewhere = await newOffer(gateway, { gpuNanos: 390_000_000n })
    const taken = await newOffer(gateway)
    await gateway.rent(actor, taken, bid(210_000_000n))
    const wanted = bid(205_000_000n, { failIfUnavailable: true, launch: { diskGb: 100 } })
    const offer = await offerAt(gateway.sql, 0)
    const error = await refusalOf(gateway.rent(actor, offer, wanted))
    const alternatives = error.code === 'OFFER_UNAVAILABLE' ? error.details.alternatives : []
    expect(alternatives[0]?.id).toBe(elsewhere)
    expect(alternatives.map(({ id }) => id)).not.toContain(offer)
    await gateway.close()
  })
})
