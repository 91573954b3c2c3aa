import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { Finding } from '../../../src/services/reconciliation/finding.ts'
import { manualClock } from '../../support/clock.ts'
import { deaths, openMortal } from '../../support/crashes/crashing-gateways.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let [gateway, other]: Gateway[] = []
let actor: Actor
let machines = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  other = openGateway({ url: testDatabase.url, now: clock.now })
  actor = await living().newActor()
})

afterAll(async () => {
  await gateway?.close()
  await other?.close()
  await testDatabase.drop()
})

/** The gateway that does not die. */
function living(): Gateway {
  if (!gateway) throw new Error('There is no gateway yet.')
  return gateway
}

async function aMachineWith(numGpus: number): Promise<void> {
  await listMachines(living().operations, [{ machine: { numGpus } }])
  machines += 1
}

async function rentGpu(index: number): Promise<bigint> {
  const [offer] = await living().sql(
    `SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND withdrawn_at IS NULL ORDER BY num_gpus LIMIT 1`,
    [machines, index],
  )
  const { id } = await living().rent(actor, BigInt(offer?.['id'] as string))
  return id
}

async function idle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await living().idle()
    clock.advance(31_000)
  }
  await living().idle()
}

async function read(id: bigint) {
  const [row] = await living().sql('SELECT * FROM instances WHERE id = $1', [id])
  return row as Record<string, unknown>
}

async function freeGpus(): Promise<unknown> {
  const text = 'SELECT index FROM gpus WHERE machine_id = $1 AND (holder_id, occupant_id) IS NULL ORDER BY index'
  return (await living().sql(text, [machines])).map(({ index }) => index)
}

const calm = { answered: true, seenAt: null, unconfirmed: false, failed: false }
const running: Finding = {
  status: 'running',
  reason: undefined,
  ran: true,
  inactive: false,
  gone: false,
  dueAt: null,
  ...calm,
}

describe('a lease', () => {
  it('is had by one gateway, until it runs out', async () => {
    await aMachineWith(8)
    const ids = []
    for (let index = 0; index < 8; index += 1) ids.push(await rentGpu(index))
    const gateways = [living(), other as Gateway]
    const claimed = await Promise.all([...gateways, ...gateways].map(({ reconciliation }) => reconciliation.claim(3)))
    const taken = claimed.flat()
    expect(new Set(taken.map(({ instanceId }) => instanceId)).size).toBe(taken.length)
    const rest = await living().reconciliation.claim(100)
    expect([...taken, ...rest].map(({ instanceId }) => instanceId).sort()).toEqual(ids.sort())
    expect(await other?.reconciliation.claim(100)).toEqual([])
    clock.advance(29_999)
    expect(await other?.reconciliation.claim(100)).toEqual([])
    clock.advance(1)
    expect(await other?.reconciliation.claim(100)).toHaveLength(8)
  })

  it('that another has taken over writes nothing any more', async () => {
    await aMachineWith(1)
    const id = await rentGpu(0)
    const [old] = (await living().reconciliation.claim(100)).filter(({ instanceId }) => instanceId === id)
    if (!old) throw new Error('It is not due.')
    clock.advance(30_000)
    const taken = (await other?.reconciliation.claim(100))?.find(({ instanceId }) => instanceId === id)
    const before = await read(id)
    await living().reconciliation.record(old, running)
    await living().reconciliation.postpone(old, clock.now())
    expect(await living().reconciliation.occupy(old)).toBe(false)
    expect(await read(id)).toEqual(before)
    expect(before['leased_until']).toEqual(taken?.leasedUntil)
  })

  it('that ran out during a slow look begins no further step', async () => {
    await aMachineWith(1)
    const id = await rentGpu(0)
    await idle()
    await living().services.instances.update(actor, [id], { targetState: 'stopped' })
    await idle()
    await living().services.instances.update(actor, [id], { targetState: 'running' })
    const told: string[] = []
    const slow = openGateway({
      url: testDatabase.url,
      now: clock.now,
      between: provider => ({
        ...provider,
        async observe(...args) {
          clock.advance(30_000)
          return await provider.observe(...args)
        },
        async start(...args) {
          told.push('start')
          await provider.start(...args)
        },
      }),
    })
    const [lease] = (await slow.reconciliation.claim(100)).filter(({ instanceId }) => instanceId === id)
    if (!lease) throw new Error('It is not due.')
    await slow.look(lease)
    await slow.close()
    expect(told).toEqual([])
    await idle()
    expect(await read(id)).toMatchObject({ status: 'running' })
  })
})

it('a call of the driver ends before the lease does', async () => {
  await aMachineWith(1)
  const id = await rentGpu(0)
  await idle()
  await living().services.instances.update(actor, [id], { targetState: 'stopped' })
  let late = false
  const limits = vi.spyOn(AbortSignal, 'timeout')
  const slow = openGateway({
    url: testDatabase.url,
    now: clock.now,
    between: provider => ({
      ...provider,
      async observe(...args) {
        if (!late) clock.advance(25_000)
        late = true
        return await provider.observe(...args)
      },
    }),
  })
  const [lease] = (await slow.reconciliation.claim(100)).filter(({ instanceId }) => instanceId === id)
  if (!lease) throw new Error('It is not due.')
  limits.mockClear()
  await slow.look(lease)
  const told = limits.mock.calls.map(([ms]) => ms)
  limits.mockRestore()
  await slow.close()
  // A look takes 25 of its 30 seconds: the stop and the look after it have what is left.
  expect(told).toEqual([10_000, 5_000, 5_000])
  await idle()
  expect(await read(id)).toMatchObject({ status: 'stopped' })
})

describe('a gateway that', () => {
  it.each(Object.keys(deaths))(
    '%s is made good by another, whenever that was',
    async death => {
      await aMachineWith(1)
      let fatal = 0
      for (let lastCall = 1, reached = true; reached; lastCall += 1) {
        reached = false
        // One dies in each part of a life, at its n-th call.
        const both = async () => {
          const mortal = openMortal(testDatabase.url, clock.now, lastCall, death)
          await mortal.idle()
          clock.advance(26_000)
          await mortal.idle()
          await idle()
          await mortal.close()
          if (!mortal.reached()) return
          reached = true
          fatal += 1
        }
        const id = await rentGpu(0)
        await both()
        expect(await read(id)).toMatchObject({ status: 'running', leased_until: null })
        for (const kind of ['reboot', 'recycle'] as const) {
          await living().services.instances[kind](actor, id)
          await both()
          expect(await read(id)).toMatchObject({ status: 'running', restart: null, leased_until: null })
        }
        await living().services.instances.update(actor, [id], { targetState: 'stopped' })
        await both()
        expect(await read(id)).toMatchObject({ status: 'stopped' })
        expect(await freeGpus()).toEqual([0])
        await living().services.instances.destroy(actor, [id])
        await both()
        expect(await read(id)).toMatchObject({ removed_at: expect.any(Date), leased_until: null, due_at: null })
        expect(await freeGpus()).toEqual([0])
      }
      expect(fatal, 'how often one died').toBeGreaterThan(20)
      expect(
        await living().sql(
          'SELECT FROM simulated_containers c JOIN instances i ON i.id = c.instance_id WHERE removed_at IS NOT NULL',
        ),
      ).toEqual([])
    },
    60_000,
  )
})

describe('a command that died before the market followed it', () => {
  const wish = async (id: bigint, change: string) => {
    await living().sql(`UPDATE instances SET ${change}, generation = generation + 1, due_at = $2 WHERE id = $1`, [
      id,
      clock.now(),
    ])
  }

  it.each(["target_state = 'stopped'", 'destroyed_at = $2'])('(%s) lets go of its GPUs all the same', async change => {
    await aMachineWith(1)
    const first = await rentGpu(0)
    await living().services.instances.update(actor, [first], { targetState: 'stopped' })
    const second = await rentGpu(0)
    await idle()
    await living().services.instances.update(actor, [first], { targetState: 'running' })
    await idle()
    expect(await read(first)).toMatchObject({ status: 'scheduling', reason_code: 'WAITING_FOR_GPUS' })
    await wish(second, change)
    await idle()
    expect(await read(first)).toMatchObject({ status: 'running' })
  })

  it('gets its GPUs all the same when it was a start', async () => {
    await aMachineWith(1)
    const id = await rentGpu(0)
    await idle()
    await living().services.instances.update(actor, [id], { targetState: 'stopped' })
    await idle()
    await wish(id, "target_state = 'running', claimed_at = $2")
    await idle()
    expect(await read(id)).toMatchObject({ status: 'running' })
  })
})

it('keeps why an instance ended when it is looked at again', async () => {
  await aMachineWith(1)
  const id = await rentGpu(0)
  await idle()
  await living().sql('UPDATE simulated_containers SET exit_code = 9 WHERE instance_id = $1', [id])
  clock.advance(61_000)
  await living().idle()
  const ended = { status: 'exited', reason_code: 'EXITED', exit_code: 9 }
  expect(await read(id)).toMatchObject(ended)
  await living().services.instances.update(actor, [id], { targetState: 'stopped' })
  await living().idle()
  expect(await read(id)).toMatchObject(ended)
})
