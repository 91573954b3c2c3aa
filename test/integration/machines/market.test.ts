import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
/** The machine of the current test. */
let id = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now, delayFactor: 0 })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** Each machine has its own address. */
async function newMachine(numGpus = 2): Promise<void> {
  id += 1
  await listMachines(gateway.operations, [{ machine: { numGpus, publicIp: `203.0.113.${id}` } }])
}

type Row = { id: bigint; firstGpu: number; numGpus: number; rentable: boolean; leads: boolean; leadsBids: boolean }
const offers = async (): Promise<Row[]> =>
  await gateway.database.prisma.offer.findMany({ where: { machineId: id, withdrawnAt: null }, orderBy: { id: 'asc' } })
const offerOf = async (firstGpu: number, numGpus = 1) => {
  const offer = (await offers()).find(row => row.firstGpu === firstGpu && row.numGpus === numGpus)
  return offer?.id as bigint
}
const statusOf = async (instanceId: bigint) =>
  (await gateway.sql('SELECT status FROM instances WHERE id = $1', [instanceId]))[0]?.['status']
const machines = () => gateway.operations.machines
const update = (instanceId: bigint, targetState: 'running' | 'stopped') =>
  gateway.services.instances.update(actor, { ids: [instanceId] }, { targetState })
const destroy = (instanceId: bigint) => gateway.services.instances.destroy(actor, { ids: [instanceId] })

describe('a drained machine', () => {
  it('keeps its offers, but none is rentable until it is resumed', async () => {
    await newMachine()
    const before = await offers()
    await machines().drain(id)
    expect(await offers()).toEqual(before.map(offer => ({ ...offer, rentable: false })))
    for (const offer of before) {
      await expect(gateway.rent(actor, offer.id)).rejects.toMatchObject({ code: 'OFFER_UNAVAILABLE' })
    }
    await machines().resume(id)
    expect(await offers()).toEqual(before)
    await gateway.rent(actor, before[0]?.id as bigint)
  })

  it('offers a freed block only once the machine is resumed, and then behind the older offers', async () => {
    await newMachine()
    const offerId = await offerOf(0)
    const { id: instanceId } = await gateway.rent(actor, offerId)
    await machines().drain(id)
    await destroy(instanceId)
    await gateway.idle()
    expect((await offers()).map(({ firstGpu, numGpus, rentable }) => [firstGpu, numGpus, rentable])).toEqual([
      [0, 2, false],
      [1, 1, false],
    ])
    await machines().resume(id)
    const after = await offers()
    expect(after.map(({ firstGpu, numGpus, ...rest }) => [firstGpu, numGpus, rest.rentable, rest.leads])).toEqual([
      [0, 2, true, true],
      [1, 1, true, true],
      [0, 1, true, false],
    ])
    expect(after[2]?.id).toBeGreaterThan(offerId)
  })

  it('shows one offer of each bundle, rented or not', async () => {
    await newMachine(4)
    const leaders = async () => (await offers()).filter(({ leads, leadsBids }) => leads && leadsBids).length
    expect(await leaders()).toBe(3)
    // Rented blocks have bundles of their own. On a drained machine, they share bundles with the rest.
    await gateway.rent(actor, await offerOf(1))
    const rented = (await offers()).filter(({ leads }) => leads).map(row => [row.firstGpu, row.numGpus, row.rentable])
    expect(rented).toEqual([
      [0, 4, false],
      [0, 1, true],
      [0, 2, false],
      [2, 2, true],
    ])
    await machines().drain(id)
    const drained = (await offers()).filter(({ leads }) => leads).map(row => [row.firstGpu, row.numGpus, row.rentable])
    expect(drained).toEqual([
      [0, 4, false],
      [0, 1, false],
      [0, 2, false],
    ])
  })

  it('lets its instances stop and start, and grants its GPUs to waiting instances', async () => {
    await newMachine(1)
    const offerId = await offerOf(0)
    const { id: first } = await gateway.rent(actor, offerId)
    await gateway.idle()
    await update(first, 'stopped')
    await gateway.idle()
    const { id: second } = await gateway.rent(actor, await offerOf(0))
    await gateway.idle()
    await machines().drain(id)
    await update(first, 'running')
    await gateway.idle()
    expect([await statusOf(first), await statusOf(second)]).toEqual(['scheduling', 'running'])
    await update(second, 'stopped')
    clock.advance(31_000)
    await gateway.idle()
    clock.advance(31_000)
    await gateway.idle()
    expect([await statusOf(first), await statusOf(second)]).toEqual(['running', 'stopped'])
  })

  it('refuses a rental that waits for the lock while the drain commits', async () => {
    await newMachine(1)
    const offerId = await offerOf(0)
    const refusal = (renting: Promise<unknown>) => renting.catch((error: unknown) => error)
    const [draining, renting] = await withSession(testDatabase.url, async session => {
      const waiting = async () => {
        const waiters = "datname = current_database() AND wait_event_type = 'Lock'"
        return (await session.query(`SELECT FROM pg_stat_activity WHERE ${waiters}`)).rows.length
      }
      await session.query('BEGIN')
      await session.query('SELECT FROM machines WHERE id = $1 FOR UPDATE', [id])
      const first = machines().drain(id)
      await expect.poll(waiting).toBe(1)
      const second = refusal(gateway.rent(actor, offerId))
      await expect.poll(waiting).toBe(2)
      await session.query('COMMIT')
      return [first, second] as const
    })
    await draining
    expect(await renting).toMatchObject({ code: 'OFFER_UNAVAILABLE' })
  })
})

describe('an unlisted machine', () => {
  it('has no offers until it is resumed, and new offers then', async () => {
    await newMachine()
    const before = await offers()
    await machines().unlist(id)
    expect(await offers()).toEqual([])
    expect(await machines().byId(id)).toMatchObject({ drainedAt: clock.now(), unlistedAt: clock.now() })
    await machines().resume(id)
    const after = await offers()
    expect(after.map(({ id: _, ...offer }) => ({ ...offer }))).toEqual(
      before.map(({ id: _, ...offer }) => ({ ...offer })),
    )
    expect(Number(after[0]?.id)).toBeGreaterThan(Math.max(...before.map(offer => Number(offer.id))))
    expect(await machines().byId(id)).toMatchObject({ drainedAt: null, unlistedAt: null })
  })

  it('had to be empty before', async () => {
    await newMachine()
    const { id: instanceId } = await gateway.rent(actor, await offerOf(0), { launch: { targetState: 'stopped' } })
    const volume = {
      accountId: actor.accountId,
      machineId: id,
      name: 'data',
      sizeMb: 1,
      diskPricePerGbMonthNanos: 0n,
      diskNanos: 0n,
    }
    await gateway.database.prisma.volume.createMany({ data: [1, 2].map(() => ({ ...volume, createdAt: clock.now() })) })
    await expect(machines().unlist(id)).rejects.toThrow(
      `Machine ${id} still has 1 instance and 2 volumes on it. Drain the machine, and wait until they are gone.`,
    )
    await gateway.sql('UPDATE volumes SET deleted_at = created_at WHERE machine_id = $1', [id])
    await expect(machines().unlist(id)).rejects.toThrow(`Machine ${id} still has 1 instance on it.`)
    await destroy(instanceId)
    await expect(machines().unlist(id)).rejects.toThrow(
      `Machine ${id} still removes the containers of destroyed instances.`,
    )
    expect(await machines().byId(id)).toMatchObject({ drainedAt: null, unlistedAt: null })
    await gateway.idle()
    await machines().unlist(id)
    expect(await offers()).toEqual([])
  })

  it('cannot be resumed while another machine uses its ports', async () => {
    await newMachine()
    const [left, address] = [id, { publicIp: `203.0.113.${id}` }]
    await machines().unlist(left)
    await listMachines(gateway.operations, [{ machine: { ...address, firstPort: 20_099, lastPort: 20_199 } }])
    id += 1
    await expect(machines().resume(left)).rejects.toThrow(
      `Machine ${left} shares ports of ${address.publicIp} with machine ${id}, which is on the market. Unlist that machine first.`,
    )
    await machines().unlist(id)
    await machines().resume(left)
    await expect(machines().resume(id)).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})

it('drains, unlists and resumes idempotently, and names a machine that does not exist', async () => {
  await newMachine()
  for (const command of ['drain', 'drain', 'unlist', 'unlist', 'drain', 'resume', 'resume'] as const) {
    await machines()[command](id)
    clock.advance(1_000)
  }
  expect((await offers()).every(({ rentable }) => rentable)).toBe(true)
  for (const command of ['drain', 'resume', 'unlist', 'byId'] as const) {
    await expect(machines()[command](9_999)).rejects.toThrow('There is no machine 9999.')
  }
})

it('lists machines with their free capacity, instances and volumes', async () => {
  await newMachine(4)
  await gateway.rent(actor, await offerOf(0, 2))
  const [row] = await machines().page(id - 1, 10)
  const [host] = await gateway.sql("SELECT id FROM accounts WHERE email = 'host@example.com'")
  expect(row).toMatchObject({
    id,
    host: 'host@example.com',
    gpuName: 'RTX 4090',
    numGpus: 4,
    freeGpus: 2,
    instances: 1,
    volumes: 0,
    engine: null,
  })
  expect(row?.diskMb).toBeGreaterThan(row?.freeDiskMb as number)
  expect((await machines().page(0, 2, host?.['id'] as number)).map(machine => machine.id)).toEqual([1, 2])
  expect(await machines().page(0, 10, actor.accountId)).toEqual([])
  const [renter] = await gateway.operations.accounts.page(actor.accountId - 1, 1)
  const [count] = await gateway.sql('SELECT count(*)::int AS living FROM instances WHERE destroyed_at IS NULL')
  expect(renter).toMatchObject({ id: actor.accountId, keys: 1, instances: count?.['living'] })
  expect(renter?.instances).toBeGreaterThan(0)
})

describe('a machine that an operator changes', () => {
  const change = (given: Record<string, string>) => machines().change(id, given)

  it('has new offers at once, at the new price, and keeps the price of what is rented', async () => {
    await newMachine()
    const rented = await gateway.rent(actor, await offerOf(0))
    const priceOf = async () =>
      (await gateway.sql('SELECT gpu_price_nanos FROM instances WHERE id = $1', [rented.id]))[0]?.['gpu_price_nanos']
    const [before, offersBefore] = [await priceOf(), await offers()]
    await change({ pricePerGpuHour: '9.5', minimumBidPerGpuHour: '1', country: 'DE', listedUntil: '2099-12-31' })
    expect(await priceOf()).toBe(before)
    const after = await gateway.database.prisma.offer.findMany({ where: { machineId: id, withdrawnAt: null } })
    expect(after).toMatchObject([
      {
        firstGpu: 1,
        numGpus: 1,
        gpuPriceNanos: 9_500_000_000n,
        minBidNanos: 1_000_000_000n,
        country: 'DE',
        rentable: true,
      },
    ])
    expect(after[0]?.listedUntil).toEqual(new Date('2099-12-31'))
    const stale = offersBefore.find(({ rentable }) => rentable)?.id as bigint
    await expect(gateway.rent(actor, stale)).rejects.toMatchObject({ code: 'OFFER_UNAVAILABLE' })
    expect(await machines().byId(id)).toMatchObject({ gpuNanos: 9_500_000_000n, country: 'DE' })
  })

  it('stays off the market if it is drained or unlisted', async () => {
    await newMachine()
    await machines().drain(id)
    await change({ pricePerGpuHour: '2' })
    expect(await offers()).toEqual([])
    await machines().unlist(id)
    await change({ pricePerGpuHour: '3' })
    expect(await offers()).toEqual([])
    await machines().resume(id)
    const after = await gateway.database.prisma.offer.findMany({ where: { machineId: id, withdrawnAt: null } })
    expect(after.map(({ gpuPriceNanos }) => gpuPriceNanos).toSorted()).toEqual([
      3_000_000_000n,
      3_000_000_000n,
      6_000_000_000n,
    ])
  })

  it('stays as it is if a value is wrong, and says each that is', async () => {
    await newMachine()
    const before = [await offers(), await machines().byId(id)]
    const given = {
      prcePerGpuHour: '1',
      numGpus: '8',
      country: 'Germany',
      minimumBidPerGpuHour: '99999',
      listedUntil: '2000-01-01',
    }
    await expect(change(given)).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      details: {
        issues: [
          { path: 'prcePerGpuHour', message: 'is not the name of a column. Did you mean "pricePerGpuHour"?' },
          { path: 'numGpus', message: 'cannot be changed. Unlist the machine, and import it anew.' },
          { path: 'country', message: 'must be two capital letters, as in ISO 3166, not "Germany".' },
          { path: 'minimumBidPerGpuHour', message: expect.stringContaining('must be dollars from') },
          { path: 'listedUntil', message: expect.stringMatching(/^must be later than now, /) },
        ],
      },
    })
    await expect(change({ minimumBidPerGpuHour: '99' })).rejects.toMatchObject({
      details: { issues: [{ path: 'minimumBidPerGpuHour', message: 'must be at most pricePerGpuHour.' }] },
    })
    await expect(change({ pricePerGpuHour: '0.000001' })).rejects.toMatchObject({
      details: { issues: [{ path: 'minimumBidPerGpuHour', message: 'must be at most pricePerGpuHour.' }] },
    })
    expect([await offers(), await machines().byId(id)]).toEqual(before)
  })
})
