import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { Finding } from '../../../src/services/reconciliation/finding.ts'
import { manualClock } from '../../support/clock.ts'
import { crashModes, openCrashingGateway } from '../../support/crashes/crashing-gateways.ts'
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
  actor = await liveGateway().newActor()
})

afterAll(async () => {
  await gateway?.close()
  await other?.close()
  await testDatabase.drop()
})

/** The gateway that never crashes. */
function liveGateway(): Gateway {
  if (!gateway) throw new Error('There is no gateway yet.')
  return gateway
}

async function listMachineWithGpus(numGpus: number): Promise<void> {
  await listMachines(liveGateway().operations, [{ machine: { numGpus } }])
  machines += 1
}

async function rentGpu(index: number): Promise<bigint> {
  const [offer] = await liveGateway().sql(
    `SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND withdrawn_at IS NULL ORDER BY num_gpus LIMIT 1`,
    [machines, index],
  )
  const { id } = await liveGateway().rent(actor, BigInt(offer?.['id'] as string))
  return id
}

async function drainGateway(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await liveGateway().idle()
    clock.advance(31_000)
  }
  await liveGateway().idle()
}

async function readInstance(id: bigint) {
  const [row] = await liveGateway().sql(
    'SELECT * FROM instances i JOIN instance_looks l ON l.instance_id = i.id WHERE i.id = $1',
    [id],
  )
  return row as Record<string, unknown>
}

async function readFreeGpus(): Promise<unknown> {
  const text = 'SELECT index FROM gpus WHERE machine_id = $1 AND (holder_id, occupant_id) IS NULL ORDER BY index'
  return (await liveGateway().sql(text, [machines])).map(({ index }) => index)
}

const healthyFinding = { answered: true, seenAt: null, unconfirmed: false, needsRetry: false }
const runningFinding: Finding = {
  status: 'running',
  reason: undefined,
  ran: true,
  usesGpus: true,
  gone: false,
  dueAt: null,
  ...healthyFinding,
}

describe('a lease', () => {
  it('belongs to one gateway until it expires', async () => {
    await listMachineWithGpus(8)
    const ids = []
    for (let index = 0; index < 8; index += 1) ids.push(await rentGpu(index))
    const gateways = [liveGateway(), other as Gateway]
    const leased = await Promise.all([...gateways, ...gateways].map(({ reconciliation }) => reconciliation.leaseDue(3)))
    const taken = leased.flat()
    expect(new Set(taken.map(({ instanceId }) => instanceId)).size).toBe(taken.length)
    const rest = await liveGateway().reconciliation.leaseDue(100)
    expect([...taken, ...rest].map(({ instanceId }) => instanceId).sort()).toEqual(ids.sort())
    expect(await other?.reconciliation.leaseDue(100)).toEqual([])
    clock.advance(29_999)
    expect(await other?.reconciliation.leaseDue(100)).toEqual([])
    clock.advance(1)
    expect(await other?.reconciliation.leaseDue(100)).toHaveLength(8)
  })

  it('that another gateway has taken over allows no more writes', async () => {
    await listMachineWithGpus(1)
    const id = await rentGpu(0)
    const [old] = (await liveGateway().reconciliation.leaseDue(100)).filter(({ instanceId }) => instanceId === id)
    if (!old) throw new Error('The instance is not due.')
    clock.advance(30_000)
    const taken = (await other?.reconciliation.leaseDue(100))?.find(({ instanceId }) => instanceId === id)
    const before = await readInstance(id)
    await liveGateway().reconciliation.record(old, runningFinding)
    await liveGateway().reconciliation.postpone(old, clock.now())
    expect(await liveGateway().reconciliation.occupyGpus(old)).toBe(false)
    expect(await readInstance(id)).toEqual(before)
    expect(before['leased_until']).toEqual(taken?.leasedUntil)
  })

  it('that expires during a slow pass allows no further step', async () => {
    await listMachineWithGpus(1)
    const id = await rentGpu(0)
    await drainGateway()
    await liveGateway().services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    await drainGateway()
    await liveGateway().services.instances.update(actor, { ids: [id] }, { targetState: 'running' })
    const providerCalls: string[] = []
    const slow = openGateway({
      url: testDatabase.url,
      now: clock.now,
      wrapProvider: provider => ({
        ...provider,
        async observe(...args) {
          clock.advance(30_000)
          return await provider.observe(...args)
        },
        async start(...args) {
          providerCalls.push('start')
          await provider.start(...args)
        },
      }),
    })
    const [lease] = (await slow.reconciliation.leaseDue(100)).filter(({ instanceId }) => instanceId === id)
    if (!lease) throw new Error('It is not due.')
    await slow.reconcile(lease)
    await slow.close()
    expect(providerCalls).toEqual([])
    await drainGateway()
    expect(await readInstance(id)).toMatchObject({ status: 'running' })
  })
})

it('ends a call of the provider before the lease expires', async () => {
  await listMachineWithGpus(1)
  const id = await rentGpu(0)
  await drainGateway()
  await liveGateway().services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
  let late = false
  const limits = vi.spyOn(AbortSignal, 'timeout')
  const slow = openGateway({
    url: testDatabase.url,
    now: clock.now,
    wrapProvider: provider => ({
      ...provider,
      async observe(...args) {
        if (!late) clock.advance(25_000)
        late = true
        return await provider.observe(...args)
      },
    }),
  })
  const [lease] = (await slow.reconciliation.leaseDue(100)).filter(({ instanceId }) => instanceId === id)
  if (!lease) throw new Error('It is not due.')
  limits.mockClear()
  await slow.reconcile(lease)
  const callTimeouts = limits.mock.calls.map(([ms]) => ms)
  limits.mockRestore()
  await slow.close()
  // The first observation takes 25 of the lease's 30 seconds. The stop and the next observation get the rest.
  expect(callTimeouts).toEqual([10_000, 5_000, 5_000])
  await drainGateway()
  expect(await readInstance(id)).toMatchObject({ status: 'stopped' })
})

describe('a gateway that, at any call of the provider,', () => {
  it.each(Object.keys(crashModes))(
    '%s has its work completed by another gateway',
    async crashMode => {
      await listMachineWithGpus(1)
      let crashes = 0
      for (let lastCall = 1, reached = true; reached; lastCall += 1) {
        reached = false
        // In each phase of the instance's life, a gateway crashes at its n-th call. The live gateway then continues.
        const both = async () => {
          const crashing = openCrashingGateway(testDatabase.url, clock.now, lastCall, crashMode)
          await crashing.idle()
          clock.advance(26_000)
          await crashing.idle()
          await drainGateway()
          await crashing.close()
          if (!crashing.hasReachedCall()) return
          reached = true
          crashes += 1
        }
        const id = await rentGpu(0)
        await both()
        expect(await readInstance(id)).toMatchObject({ status: 'running', leased_until: null })
        for (const kind of ['reboot', 'recycle'] as const) {
          await liveGateway().services.instances[kind](actor, id)
          await both()
          expect(await readInstance(id)).toMatchObject({ status: 'running', restart: null, leased_until: null })
        }
        await liveGateway().services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
        await both()
        expect(await readInstance(id)).toMatchObject({ status: 'stopped' })
        expect(await readFreeGpus()).toEqual([0])
        await liveGateway().services.instances.destroy(actor, { ids: [id] })
        await both()
        expect(await readInstance(id)).toMatchObject({ removed_at: expect.any(Date), leased_until: null, due_at: null })
        expect(await readFreeGpus()).toEqual([0])
      }
      expect(crashes, 'the number of crashes').toBeGreaterThan(20)
      expect(
        await liveGateway().sql(
          'SELECT FROM simulated_containers c JOIN instances i ON i.id = c.instance_id WHERE removed_at IS NOT NULL',
        ),
      ).toEqual([])
    },
    60_000,
  )
})

describe('a command whose gateway crashed before it updated the market', () => {
  const writeDesired = async (id: bigint, change: string) => {
    await liveGateway().sql(
      `WITH due AS (UPDATE instance_looks SET generation = generation + 1, due_at = $2 WHERE instance_id = $1)
       UPDATE instances SET ${change} WHERE id = $1`,
      [id, clock.now()],
    )
  }

  it.each(["target_state = 'stopped'", 'destroyed_at = $2'])(
    'still releases the GPUs of its instance: %s',
    async change => {
      await listMachineWithGpus(1)
      const first = await rentGpu(0)
      await liveGateway().services.instances.update(actor, { ids: [first] }, { targetState: 'stopped' })
      const second = await rentGpu(0)
      await drainGateway()
      await liveGateway().services.instances.update(actor, { ids: [first] }, { targetState: 'running' })
      await drainGateway()
      expect(await readInstance(first)).toMatchObject({ status: 'scheduling', reason_code: 'WAITING_FOR_GPUS' })
      await writeDesired(second, change)
      await drainGateway()
      expect(await readInstance(first)).toMatchObject({ status: 'running' })
    },
  )

  it('still gets the GPUs for its instance if the command was a start', async () => {
    await listMachineWithGpus(1)
    const id = await rentGpu(0)
    await drainGateway()
    await liveGateway().services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
    await drainGateway()
    await writeDesired(id, "target_state = 'running', claimed_at = $2")
    await drainGateway()
    expect(await readInstance(id)).toMatchObject({ status: 'running' })
  })
})

it('keeps in later passes the reason why an instance ended', async () => {
  await listMachineWithGpus(1)
  const id = await rentGpu(0)
  await drainGateway()
  await liveGateway().sql('UPDATE simulated_containers SET exit_code = 9 WHERE instance_id = $1', [id])
  clock.advance(61_000)
  await liveGateway().idle()
  const ended = { status: 'exited', reason_code: 'EXITED', exit_code: 9 }
  expect(await readInstance(id)).toMatchObject(ended)
  await liveGateway().services.instances.update(actor, { ids: [id] }, { targetState: 'stopped' })
  await liveGateway().idle()
  expect(await readInstance(id)).toMatchObject(ended)
})
