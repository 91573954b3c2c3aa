import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { Finding } from '../../../src/services/reconciliation/finding.ts'
import type { InstanceLease } from '../../../src/services/reconciliation/leases.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { waitForLockWaiters, withSession } from '../../support/database/sessions.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'
import { expectInvariants } from '../../support/instances/rental-invariants.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let machines = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

/** Rents blocks of one size on a new machine, one at each of the first GPUs in `starts`. */
async function rentOnOneMachine(numGpus: number, size: number, ...starts: number[]): Promise<bigint[]> {
  await listMachines(gateway.operations, [{ machine: { numGpus } }])
  machines += 1
  const ids: bigint[] = []
  for (const firstGpu of starts) ids.push(await rentBlock(firstGpu, size))
  return ids
}

async function rentBlock(firstGpu: number, size: number, bidNanos?: bigint): Promise<bigint> {
  const [offer] = await gateway.sql(
    'SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND num_gpus = $3 AND withdrawn_at IS NULL',
    [machines, firstGpu, size],
  )
  const terms = bidNanos === undefined ? { interruptible: false as const } : { interruptible: true as const, bidNanos }
  const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string), { terms })
  return id
}

const stop = (...ids: bigint[]) => gateway.services.instances.update(actor, { ids }, { targetState: 'stopped' })
const start = (...ids: bigint[]) => gateway.services.instances.update(actor, { ids }, { targetState: 'running' })

async function idle(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await gateway.idle()
    clock.advance(31_000)
  }
  await gateway.idle()
}

const holders = () => gateway.sql('SELECT holder_id FROM gpus WHERE machine_id = $1', [machines])

async function read(id: bigint) {
  const [row] = await gateway.sql(
    'SELECT * FROM instances i JOIN instance_looks l ON l.instance_id = i.id WHERE i.id = $1',
    [id],
  )
  return row as Record<string, unknown>
}

async function leaseOf(id: bigint): Promise<InstanceLease> {
  await gateway.sql('UPDATE instance_looks SET due_at = $2, leased_until = NULL WHERE instance_id = $1', [
    id,
    clock.now(),
  ])
  const lease = (await gateway.reconciliation.leaseDue(100)).find(({ instanceId }) => instanceId === id)
  if (!lease) throw new Error(`Instance ${id} is not due.`)
  return lease
}

const waiting: Finding = {
  status: 'scheduling',
  reason: undefined,
  ran: false,
  usesGpus: false,
  gone: false,
  dueAt: null,
  ...{ answered: true, seenAt: null, unconfirmed: false, needsRetry: false },
}

describe('leasing due instances', () => {
  it('does not miss a grant that happens while it reads', async () => {
    const [holder] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await idle()
    await stop(holder)
    await idle()
    const winner = await rentBlock(0, 1)
    await start(holder)
    await gateway.sql('UPDATE instance_looks SET due_at = NULL WHERE instance_id = $1', [winner])
    // The trigger pauses the statement after it began to read and before it has locked a row.
    await gateway.sql(`CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF current_query() LIKE '%SKIP LOCKED%' THEN PERFORM pg_advisory_xact_lock(7); END IF; RETURN NULL; END $$`)
    await gateway.sql(
      'CREATE TRIGGER pause BEFORE UPDATE ON instance_looks FOR EACH STATEMENT EXECUTE FUNCTION pause()',
    )
    await withSession(testDatabase.url, async session => {
      await session.query('SELECT pg_advisory_lock(7)')
      const passing = gateway.idle()
      await waitForLockWaiters(session)
      await gateway.services.instances.destroy(actor, { ids: [winner] })
      await session.query('SELECT pg_advisory_unlock(7)')
      await passing
    })
    await gateway.sql('DROP FUNCTION pause CASCADE')
    await idle()
    expect(await read(holder)).toMatchObject({ status: 'running' })
  })
})

describe('a pass over an instance', () => {
  it('leaves the instance due when its GPUs become free meanwhile', async () => {
    const [first] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await idle()
    await stop(first)
    const second = await rentBlock(0, 1)
    const lease = await leaseOf(second)
    expect(await gateway.reconciliation.occupyGpus(lease)).toBe(false)
    const leaving = await leaseOf(first)
    await gateway.reconciliation.record(leaving, { ...waiting, status: 'stopped' })
    const later = new Date(clock.now().getTime() + 10_000)
    await gateway.reconciliation.record(lease, { ...waiting, dueAt: later })
    expect(await read(second)).toMatchObject({ due_at: clock.now(), leased_until: null })
  })

  it('leaves the instance due when a command comes before its failed pass is postponed', async () => {
    const [id] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    const lease = await leaseOf(id)
    await stop(id)
    await gateway.reconciliation.postpone(lease, new Date(clock.now().getTime() + 60_000))
    expect(await read(id)).toMatchObject({ due_at: clock.now(), leased_until: null })
  })
})

describe('a container', () => {
  it('starts only after another container has left its GPUs', async () => {
    const [first] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await idle()
    await stop(first)
    const second = await rentBlock(0, 1)
    await idle()
    expect(await read(second)).toMatchObject({ status: 'running' })
    await stop(second)
    await start(first)
    await gateway.idle()
    await expectInvariants(gateway, machines, clock.now())
    expect(await read(second)).toMatchObject({ status: 'stopping' })
    expect(await read(first)).toMatchObject({ status: 'scheduling', reason_code: 'WAITING_FOR_GPUS' })
    await idle()
    expect(await read(first)).toMatchObject({ status: 'running' })
  })
})

describe('locks on instances', () => {
  /** Holds the lower lock. A transaction that waits for it must not hold the higher one. */
  async function expectsOrder(low: bigint, high: bigint, work: () => Promise<unknown>): Promise<void> {
    expect(low < high).toBe(true)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM instances WHERE id = $1 FOR UPDATE', [low])
      let isDone = false
      const working = work().finally(() => {
        isDone = true
      })
      await waitForLockWaiters(session, () => isDone)
      const taken = await session.query('SELECT FROM instances WHERE id = $1 FOR UPDATE NOWAIT', [high]).then(
        () => 'in order',
        (error: unknown) => (error as { code?: string }).code,
      )
      await session.query('ROLLBACK')
      await working
      expect(taken).toBe('in order')
    })
  }

  it('are taken in the order of ids when a stopped instance leaves its GPUs to a waiting instance', async () => {
    const [low] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await idle()
    await stop(low)
    const high = await rentBlock(0, 1)
    await idle()
    await stop(high)
    await start(low)
    const lease = await leaseOf(high)
    await expectsOrder(low, high, () => gateway.reconciliation.record(lease, { ...waiting, status: 'stopped' }))
  })

  it('are taken in the order of ids when an ended instance leaves its GPUs to another instance', async () => {
    const [low] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await stop(low)
    const high = await rentBlock(0, 1)
    await start(low)
    const lease = await leaseOf(high)
    await gateway.reconciliation.record(lease, { ...waiting, status: 'exited' })
    expect(await read(high)).toMatchObject({ status: 'exited', due_at: clock.now() })
    const ended = await leaseOf(high)
    await expectsOrder(low, high, () => gateway.reconciliation.catchUpMarket(ended))
  })

  it('are taken in the order of ids when a market update follows another command', async () => {
    const [low] = (await rentOnOneMachine(2, 1, 0)) as [bigint]
    await stop(low)
    await rentBlock(0, 1)
    const high = await rentBlock(1, 1)
    await stop(high)
    await start(low)
    await gateway.sql("UPDATE instances SET target_state = 'running' WHERE id = $1", [high])
    const lease = await leaseOf(low)
    await expectsOrder(low, high, () => gateway.reconciliation.catchUpMarket(lease))
  })

  it('are taken in the order of ids when GPUs are granted in another order', async () => {
    const [low] = (await rentOnOneMachine(2, 1, 1)) as [bigint]
    const high = await rentBlock(0, 1)
    await stop(low, high)
    const both = await rentBlock(0, 2)
    await start(low, high)
    await expectsOrder(low, high, () => stop(both))
  })

  it('are taken in the order of ids when a raised bid wins the GPUs of another instance', async () => {
    await rentOnOneMachine(1, 1)
    const low = await rentBlock(0, 1, 250_000_000n)
    const high = await rentBlock(0, 1, 240_000_000n)
    await expectsOrder(low, high, () => gateway.services.instances.updateBid(actor, high, 300_000_000n))
    expect(await gateway.sql('SELECT holder_id FROM gpus WHERE machine_id = $1', [machines])).toEqual([
      { holder_id: String(high) },
    ])
  })
})

describe('a command', () => {
  it('succeeds before the market is updated', async () => {
    const [id] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await idle()
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM machines WHERE id = $1 FOR UPDATE', [machines])
      const wakes = gateway.wakeCount()
      expect(await stop(id)).toMatchObject([{ outcome: 'applied' }])
      expect(gateway.wakeCount()).toBe(wakes + 1)
      await session.query('ROLLBACK')
    })
    await idle()
    expect(await holders()).toEqual([{ holder_id: null }])
  })

  it.each([
    ['logs a warning when the database refuses the market update', '55P03', 40],
    ['logs an error when a bug makes the market update fail', 'P0001', 50],
  ])('%s, and the next pass updates the market', async (_title, code, level) => {
    const [id] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await idle()
    await gateway.sql(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no market' USING ERRCODE = '${code}'; END $$`)
    await gateway.sql('CREATE TRIGGER fail BEFORE UPDATE ON gpus FOR EACH ROW EXECUTE FUNCTION fail()')
    const before = gateway.lines.length
    expect(await stop(id)).toMatchObject([{ outcome: 'applied' }])
    await gateway.sql('DROP FUNCTION fail CASCADE')
    expect(gateway.lines.slice(before)).toEqual([
      expect.objectContaining({ level, machineId: machines, err: expect.objectContaining({ code }) }),
    ])
    expect(await holders()).toEqual([{ holder_id: String(id) }])
    await idle()
    expect(await holders()).toEqual([{ holder_id: null }])
  })

  it('changes the label of a stopped instance without waiting for the lock on its account', async () => {
    const [id] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await stop(id)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [actor.accountId])
      const relabeling = gateway.services.instances.update(actor, { ids: [id] }, { label: 'new' })
      expect(await relabeling).toMatchObject([{ outcome: 'applied' }])
    })
  })

  it('moves the GPUs in its own transaction', async () => {
    const [id] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await stop(id)
    expect(await holders()).toEqual([{ holder_id: null }])
    await gateway.services.instances.update(actor, { ids: [id] }, { targetState: 'running' })
    expect(await holders()).toEqual([{ holder_id: String(id) }])
    const kinds =
      'SELECT array_agg(kind ORDER BY id) AS kinds FROM events WHERE instance_id = $1 GROUP BY xid ORDER BY min(id)'
    expect(await gateway.sql(kinds, [id])).toMatchObject([
      {},
      { kinds: ['INSTANCE_TARGET_CHANGED'] },
      { kinds: ['INSTANCE_TARGET_CHANGED', 'INSTANCE_GRANTED'] },
    ])
  })

  it('keeps its precedence over a later rental when the gateway crashed before the market update', async () => {
    const [earlier] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await stop(earlier)
    clock.advance(1_000)
    const command =
      "WITH due AS (UPDATE instance_looks SET due_at = $2 WHERE instance_id = $1) UPDATE instances SET target_state = 'running', claimed_at = $2 WHERE id = $1"
    await gateway.sql(command, [earlier, clock.now()])
    clock.advance(1_000)
    const [offer] = await gateway.sql(
      'SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL AND rentable',
      [machines],
    )
    const renting = gateway.rent(actor, BigInt(offer?.['id'] as string), { failIfUnavailable: true })
    await expect(renting).rejects.toMatchObject({ code: 'OFFER_UNAVAILABLE' })
    expect(await gateway.sql('SELECT id FROM instances WHERE machine_id = $1', [machines])).toHaveLength(1)
  })
})

describe('a new bid', () => {
  const changeBid = (id: bigint, nanos: bigint) => gateway.services.instances.updateBid(actor, id, nanos)

  it('is refused for an instance that is destroyed meanwhile', async () => {
    await rentOnOneMachine(1, 1)
    const id = await rentBlock(0, 1, 250_000_000n)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('UPDATE instances SET destroyed_at = now() WHERE id = $1', [id])
      let isDone = false
      const changing = changeBid(id, 300_000_000n).catch((error: unknown) => {
        isDone = true
        return error
      })
      await waitForLockWaiters(session, () => isDone)
      await session.query('COMMIT')
      expect(await changing).toMatchObject({ code: 'INVALID_STATE', details: { cause: 'destroyed' } })
    })
    expect(await read(id)).toMatchObject({ gpu_price_nanos: '250000000' })
  })

  it('waits for the lock of the machine, and is decided by the state after the wait', async () => {
    await rentOnOneMachine(1, 1)
    const id = await rentBlock(0, 1, 250_000_000n)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('UPDATE machines SET min_bid_gpu_nanos = 300000000 WHERE id = $1', [machines])
      const changing = changeBid(id, 299_000_000n).catch((error: unknown) => error)
      await waitForLockWaiters(session)
      await session.query('COMMIT')
      const minimum = { minimumBidNanos: 300_000_000n }
      expect(await changing).toMatchObject({ code: 'BID_TOO_LOW', details: minimum })
    })
  })

  it('is rolled back when the market update fails', async () => {
    await rentOnOneMachine(1, 1)
    const low = await rentBlock(0, 1, 210_000_000n)
    const high = await rentBlock(0, 1, 220_000_000n)
    await gateway.sql(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`)
    await gateway.sql('CREATE TRIGGER fail BEFORE UPDATE ON gpus EXECUTE FUNCTION fail()')
    const [before, rival, wakes] = [await read(low), await read(high), gateway.wakeCount()]
    await expect(changeBid(low, 300_000_000n)).rejects.toThrow('no')
    await gateway.sql('DROP FUNCTION fail CASCADE')
    expect(await read(low)).toEqual(before)
    expect(gateway.wakeCount()).toBe(wakes)
    const events = "SELECT FROM events WHERE kind = 'INSTANCE_BID_CHANGED' AND instance_id = $1"
    expect(await gateway.sql(events, [low])).toEqual([])
    await changeBid(low, 300_000_000n)
    expect(await gateway.sql(events, [low])).toHaveLength(1)
    expect([(await read(low))['generation'], (await read(high))['generation']]).toEqual([
      (before['generation'] as number) + 1,
      (rival['generation'] as number) + 1,
    ])
  })

  it('ranks below an equal older bid, even if it was as high before', async () => {
    await rentOnOneMachine(1, 1)
    const first = await rentBlock(0, 1, 250_000_000n)
    clock.advance(1_000)
    const second = await rentBlock(0, 1, 240_000_000n)
    const holder = async () => {
      const [gpu] = await gateway.sql('SELECT holder_id FROM gpus WHERE machine_id = $1', [machines])
      return BigInt(gpu?.['holder_id'] as string)
    }
    clock.advance(1_000)
    await changeBid(second, 250_000_000n)
    expect(await holder()).toBe(first)
    clock.advance(1_000)
    await changeBid(first, 260_000_000n)
    clock.advance(1_000)
    await changeBid(first, 250_000_000n)
    expect(await holder()).toBe(second)
  })

  it('that equals the old bid changes nothing, and keeps the place in the queue', async () => {
    await rentOnOneMachine(1, 1)
    const id = await rentBlock(0, 1, 250_000_000n)
    clock.advance(1_000)
    const [before, wakes] = [await read(id), gateway.wakeCount()]
    expect(await changeBid(id, 250_000_000n)).toMatchObject({ id, gpuPriceNanos: 250_000_000n })
    expect(await read(id)).toEqual(before)
    expect(gateway.wakeCount()).toBe(wakes)
  })
})

it('returns no minimum bid for an instance of another account', async () => {
  await rentOnOneMachine(1, 1)
  const id = await rentBlock(0, 1, 250_000_000n)
  const { minimumBids } = gateway.services.instances
  expect(await minimumBids(actor, [id])).toEqual([{ id, minimumBidNanos: 200_000_000n }])
  expect(await minimumBids(await gateway.newActor(), [id])).toEqual([])
})

describe('a rental that waits', () => {
  /** One instance that holds the GPU, and two that wait for it, `first` longer than `second`. */
  async function aQueue(): Promise<[holder: bigint, first: bigint, second: bigint]> {
    const [first] = (await rentOnOneMachine(1, 1, 0)) as [bigint]
    await stop(first)
    clock.advance(1_000)
    const second = await rentBlock(0, 1)
    await stop(second)
    clock.advance(1_000)
    const holder = await rentBlock(0, 1)
    for (const id of [first, second]) {
      clock.advance(1_000)
      await start(id)
    }
    clock.advance(1_000)
    return [holder, first, second]
  }

  async function holderOfAll(): Promise<unknown> {
    const [gpu] = await gateway.sql('SELECT holder_id FROM gpus WHERE machine_id = $1', [machines])
    return BigInt(gpu?.['holder_id'] as string)
  }

  it('goes to the end of the queue when it is stopped and started again', async () => {
    const [holder, first, second] = await aQueue()
    await stop(first)
    await start(first)
    expect(await holderOfAll()).toBe(holder)
    await stop(holder)
    expect(await holderOfAll()).toBe(second)
    await stop(second)
    expect(await holderOfAll()).toBe(first)
  })

  it('queues from the time of its start, not of its rental', async () => {
    const [holder, first, second] = await aQueue()
    await stop(first, second)
    clock.advance(1_000)
    await start(second)
    clock.advance(1_000)
    await start(first)
    await stop(holder)
    expect(await holderOfAll()).toBe(second)
  })

  it('keeps its place when its label changes', async () => {
    const [holder, first] = await aQueue()
    await gateway.services.instances.update(actor, { ids: [first] }, { label: 'patient', targetState: 'running' })
    await stop(holder)
    expect(await holderOfAll()).toBe(first)
  })
})
