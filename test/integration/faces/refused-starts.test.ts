// Instances whose machine fails a step, or carries out a step late or unseen.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
import type { Observed } from '../../../src/domain/instances/containers.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { manualClock } from '../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { listMachines } from '../../support/factories.ts'
import { type Gateway, openGateway } from '../../support/gateways.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let gateway: Gateway
let actor: Actor
let machineId = 0

beforeAll(async () => {
  testDatabase = await createDatabase()
  gateway = openGateway({ url: testDatabase.url, now: clock.now })
  actor = await gateway.newActor()
})

afterAll(async () => {
  await gateway.close()
  await testDatabase.drop()
})

beforeEach(async () => {
  machineId += 1
  await listMachines(gateway.operations, [{ machine: { publicIp: `203.0.113.${machineId}` } }])
})

const minute = 60_000

async function advanceClock(ms: number, { idle } = gateway): Promise<void> {
  await idle()
  for (let remaining = ms; remaining > 0; remaining -= 10_000) {
    clock.advance(Math.min(remaining, 10_000))
    await idle()
  }
}

async function rent(image = 'ubuntu'): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { image } })).id
}

async function readInstance(id: bigint) {
  return (
    await gateway.sql('SELECT * FROM instances i JOIN instance_looks l ON l.instance_id = i.id WHERE i.id = $1', [id])
  )[0] as Record<string, unknown>
}

const readGpu = async () =>
  (await gateway.sql('SELECT holder_id, occupant_id FROM gpus WHERE machine_id = $1', [machineId]))[0]
const containerState = async (id: bigint) =>
  (
    await gateway.provider.observe(
      { machineId, instanceId: id, accountId: actor.accountId },
      AbortSignal.timeout(10_000),
    )
  ).state
const update = (id: bigint, targetState: 'running' | 'stopped') =>
  gateway.services.instances.update(actor, { ids: [id] }, { targetState })

/** Another gateway whose provider has some calls replaced. */
const openGatewayWith = (calls: (provider: Provider) => Partial<Provider>) =>
  openGateway({
    ...{ url: testDatabase.url, now: clock.now },
    wrapProvider: provider => ({ ...provider, ...calls(provider) }),
  })
const failCall = async () => {
  throw new Error('It cannot be done.')
}

describe('the GPUs of a starting instance', () => {
  it('stay held while the provider does not see the start yet', async () => {
    const id = await rent('simulated/slow-pull:5')
    await advanceClock(0)
    let seen: Observed | undefined
    const lagging = openGatewayWith(({ observe }) => ({
      observe: async (...args) => {
        if (args[0].instanceId !== id) return await observe(...args)
        seen ??= await observe(...args)
        return seen
      },
    }))
    clock.advance(10_000)
    await lagging.idle()
    expect([seen?.state, await containerState(id)]).toEqual(['prepared', 'starting'])
    expect(await readGpu()).toEqual({ holder_id: String(id), occupant_id: String(id) })
    await lagging.close()
    await advanceClock(minute)
    expect(await readInstance(id)).toMatchObject({ status: 'running' })
  })

  it('stay held when the machine fails the start, which may have begun', async () => {
    const id = await rent()
    const refusing = openGatewayWith(() => ({ start: failCall }))
    await advanceClock(minute, refusing)
    expect(await readInstance(id)).toMatchObject({ status: 'loading', reason_code: 'MACHINE_ERROR' })
    expect(await readGpu()).toEqual({ holder_id: String(id), occupant_id: String(id) })
    await refusing.close()
    await advanceClock(2 * minute)
    expect(await readInstance(id)).toMatchObject({ status: 'running' })
  })
})

describe('a failing start', () => {
  /** A stopped instance whose container obeyed the stop, or exited before the stop arrived. */
  async function stopped(end: 'stopped' | 'exited'): Promise<bigint> {
    const id = await rent()
    await advanceClock(minute)
    await update(id, 'stopped')
    if (end === 'exited') {
      await gateway.sql('UPDATE simulated_containers SET exit_code = 0 WHERE instance_id = $1', [id])
    }
    await advanceClock(minute)
    expect([(await readInstance(id))['status'], await containerState(id)]).toEqual(['stopped', end])
    return id
  }

  it.each(['stopped', 'exited'] as const)('is retried for a container that is %s, even after an outage', async end => {
    const id = await stopped(end)
    await update(id, 'running')
    const refusing = openGatewayWith(() => ({ start: failCall }))
    await refusing.idle()
    expect(await readInstance(id)).toMatchObject({ status: 'loading', reason_code: 'MACHINE_ERROR' })
    await refusing.close()
    await gateway.operations.machines.unplug(machineId)
    await advanceClock(minute)
    await gateway.operations.machines.plug(machineId)
    await advanceClock(2 * minute)
    expect(await readInstance(id)).toMatchObject({ status: 'running', reason_code: 'STARTED' })
  })

  it.each(['prepared', 'stopped', 'exited'] as const)(
    'times out for a container that is %s, and frees its GPUs',
    async end => {
      const id = end === 'prepared' ? await rent() : await stopped(end)
      if (end !== 'prepared') await update(id, 'running')
      const refusing = openGatewayWith(() => ({ start: failCall }))
      await advanceClock(29 * minute, refusing)
      expect(await readInstance(id)).toMatchObject({ status: 'loading', reason_code: 'MACHINE_ERROR' })
      await advanceClock(3 * minute, refusing)
      expect(await readInstance(id)).toMatchObject({ status: 'exited', reason_code: 'START_TIMEOUT' })
      expect(await readGpu()).toEqual({ holder_id: null, occupant_id: null })
      await refusing.close()
    },
  )
})

it('stops a container that its machine starts after the instance exited', async () => {
  const id = await rent('simulated/slow-pull:1860')
  await advanceClock(32 * minute)
  expect(await readInstance(id)).toMatchObject({ status: 'exited', reason_code: 'START_TIMEOUT' })
  expect(await containerState(id)).toBe('prepared')
  await gateway.provider.start({ machineId, instanceId: id, accountId: actor.accountId }, AbortSignal.timeout(10_000))
  await advanceClock(12 * minute)
  expect(await containerState(id)).toBe('stopped')
  expect(await readInstance(id)).toMatchObject({ status: 'exited', reason_code: 'START_TIMEOUT' })
})

it('dates an observation by the request to the machine, not by the write', async () => {
  const id = await rent()
  await advanceClock(minute)
  await update(id, 'stopped')
  const slow = openGatewayWith(({ stop }) => ({
    async stop(...args) {
      clock.advance(5_000)
      await stop(...args)
      throw new DOMException('It took too long.', 'TimeoutError')
    },
  }))
  const askedAt = clock.now()
  await slow.idle()
  await slow.close()
  expect(await readInstance(id)).toMatchObject({ seen_at: askedAt, reason_code: 'HOST_UNREACHABLE' })
  await advanceClock(2 * minute)
  expect(await readInstance(id)).toMatchObject({ status: 'stopped', unreachable_at: null })
})

it('polls an unreachable machine ever more rarely for a destroyed instance', async () => {
  const id = await rent()
  await advanceClock(minute)
  await gateway.operations.machines.unplug(machineId)
  await gateway.services.instances.destroy(actor, { ids: [id] })
  const dueInMs = async () => ((await readInstance(id))['due_at'] as Date).getTime() - clock.now().getTime()
  const delays: number[] = []
  for (const hours of [0.1, 1, 2]) {
    clock.advance(hours * 60 * minute)
    // After a few failures only the length of the outage decides the delay.
    for (let pass = 0; pass < 7; pass += 1) {
      await gateway.idle()
      delays.push(await dueInMs())
      clock.advance(delays.at(-1) ?? 0)
    }
  }
  expect(Math.max(...delays)).toBe(10 * minute)
  expect(delays[0]).toBeLessThanOrEqual(minute)
  await gateway.operations.machines.plug(machineId)
  await advanceClock(minute)
  expect(await readInstance(id)).toMatchObject({ removed_at: expect.any(Date), due_at: null })
})
