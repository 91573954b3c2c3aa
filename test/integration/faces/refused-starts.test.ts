// What becomes of instances whose machine refuses a step, or does late or unseen what it was told.

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
  for (let left = ms; left > 0; left -= 10_000) {
    clock.advance(Math.min(left, 10_000))
    await idle()
  }
}

async function rent(image = 'ubuntu'): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { image } })).id
}

async function readInstance(id: bigint) {
  return (await gateway.sql('SELECT * FROM instances WHERE id = $1', [id]))[0] as Record<string, unknown>
}

const readGpu = async () =>
  (await gateway.sql('SELECT holder_id, occupant_id FROM gpus WHERE machine_id = $1', [machineId]))[0]
const containerState = async (id: bigint) => (await gateway.provider.observe(id, AbortSignal.timeout(10_000))).state
const update = (id: bigint, targetState: 'running' | 'stopped') =>
  gateway.services.instances.update(actor, [id], { targetState })

/** Another gateway, in whose driver some calls are others. */
const openGatewayWith = (calls: (provider: Provider) => Partial<Provider>) =>
  openGateway({
    ...{ url: testDatabase.url, now: clock.now },
    wrapProvider: provider => ({ ...provider, ...calls(provider) }),
  })
const failCall = async () => {
  throw new Error('It cannot be done.')
}

describe('the GPUs of what was told to start', () => {
  it('stay its own while that cannot be seen yet', async () => {
    const id = await rent('simulated/slow-pull:5')
    await advanceClock(0)
    let seen: Observed | undefined
    const lagging = openGatewayWith(({ observe }) => ({
      observe: async (...asked) => {
        if (asked[0] !== id) return await observe(...asked)
        seen ??= await observe(...asked)
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

  it('stay its own when its machine refused: it may have begun before it failed', async () => {
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

describe('a start that is refused', () => {
  /** Stopped, by the command or because its container ended by itself before it came. */
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

  it.each(['stopped', 'exited'] as const)('is tried again of what has %s, also after a silence', async end => {
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
    'of what is %s is given up in time, and its GPUs are free',
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

it('what a machine begins late, that has ended before, is stopped', async () => {
  const id = await rent('simulated/slow-pull:1860')
  await advanceClock(32 * minute)
  expect(await readInstance(id)).toMatchObject({ status: 'exited', reason_code: 'START_TIMEOUT' })
  expect(await containerState(id)).toBe('prepared')
  await gateway.provider.start(id, AbortSignal.timeout(10_000))
  await advanceClock(12 * minute)
  expect(await containerState(id)).toBe('stopped')
  expect(await readInstance(id)).toMatchObject({ status: 'exited', reason_code: 'START_TIMEOUT' })
})

it('what is seen of an instance is dated when its machine was asked, not when that was written', async () => {
  const id = await rent()
  await advanceClock(minute)
  await update(id, 'stopped')
  const slow = openGatewayWith(({ stop }) => ({
    async stop(...told) {
      clock.advance(5_000)
      await stop(...told)
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

it('a machine that stays away is asked ever more rarely for what has ended', async () => {
  const id = await rent()
  await advanceClock(minute)
  await gateway.operations.machines.unplug(machineId)
  await gateway.services.instances.destroy(actor, [id])
  const dueInMs = async () => ((await readInstance(id))['due_at'] as Date).getTime() - clock.now().getTime()
  const looks: number[] = []
  for (const hours of [0.1, 1, 2]) {
    clock.advance(hours * 60 * minute)
    // Until it has not answered so often that nothing but how long it is away counts.
    for (let look = 0; look < 7; look += 1) {
      await gateway.idle()
      looks.push(await dueInMs())
      clock.advance(looks.at(-1) ?? 0)
    }
  }
  expect(Math.max(...looks)).toBe(10 * minute)
  expect(looks[0]).toBeLessThanOrEqual(minute)
  await gateway.operations.machines.plug(machineId)
  await advanceClock(minute)
  expect(await readInstance(id)).toMatchObject({ removed_at: expect.any(Date), due_at: null })
})
