// Instances whose machine does not answer, does not stop them, or does not start them.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.ts'
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

async function advanceTime(ms: number, { idle } = gateway): Promise<void> {
  await idle()
  for (let remaining = ms; remaining > 0; remaining -= 10_000) {
    clock.advance(Math.min(remaining, 10_000))
    await idle()
  }
}

async function rent(image = 'ubuntu', ports = 0): Promise<bigint> {
  const [offer] = await gateway.sql('SELECT id FROM offers WHERE machine_id = $1 AND withdrawn_at IS NULL', [machineId])
  const bindings = Array.from({ length: ports }, (_, index) => ({
    ...{ hostPort: 80 + index, containerPort: 80 + index, protocol: 'tcp' as const },
  }))
  const environment = { env: [], ports: bindings, hostname: undefined, volumes: [] }
  return (await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { image, environment } })).id
}

async function read(id: bigint) {
  return (
    await gateway.sql('SELECT * FROM instances i JOIN instance_looks l ON l.instance_id = i.id WHERE i.id = $1', [id])
  )[0] as Record<string, unknown>
}

async function machine() {
  const text = `SELECT free_disk_mb, free_ports, unconfirmed_at IS NOT NULL AS suspended, holder_id, occupant_id,
    EXISTS (SELECT FROM offers WHERE machine_id = m.id AND rentable) AS rentable
    FROM machines m JOIN gpus ON machine_id = m.id WHERE m.id = $1`
  return (await gateway.sql(text, [machineId]))[0]
}

async function container(id: bigint) {
  return (
    await gateway.provider.observe(
      { machineId, instanceId: id, accountId: actor.accountId },
      AbortSignal.timeout(10_000),
    )
  ).state
}

const update = (id: bigint, targetState: 'running' | 'stopped') =>
  gateway.services.instances.update(actor, { ids: [id] }, { targetState })
const destroy = (id: bigint) => gateway.services.instances.destroy(actor, { ids: [id] })
const unplug = () => gateway.operations.machines.unplug(machineId)
const plug = () => gateway.operations.machines.plug(machineId)

describe('a machine that does not answer', () => {
  it('keeps its instance if it is back within the grace period', async () => {
    const id = await rent()
    await advanceTime(minute)
    expect(await read(id)).toMatchObject({ status: 'running', reason_code: 'STARTED' })
    await unplug()
    await advanceTime(5 * minute)
    expect(await read(id)).toMatchObject({ status: 'running', reason_code: 'HOST_UNREACHABLE' })
    await plug()
    await advanceTime(minute)
    expect(await read(id)).toMatchObject({ status: 'running', reason_code: 'STARTED', unreachable_at: null })
    expect(await machine()).toMatchObject({ suspended: false, occupant_id: String(id) })
  })

  it('makes its instance OFFLINE after the grace period, and stops the container when it is back', async () => {
    const id = await rent()
    await advanceTime(minute)
    await unplug()
    const lastSeen = (await read(id))['seen_at'] as Date
    expect(clock.now().getTime() - lastSeen.getTime()).toBeLessThanOrEqual(minute)
    await advanceTime(6 * minute)
    const ended = await read(id)
    expect(ended).toMatchObject({ status: 'offline', reason_code: 'HOST_OFFLINE', seen_at: lastSeen })
    const changedAt = (ended['status_changed_at'] as Date).getTime()
    const unreachableAt = (ended['unreachable_at'] as Date).getTime()
    expect(changedAt - unreachableAt).toBeGreaterThanOrEqual(5 * minute)
    expect(changedAt - unreachableAt).toBeLessThan(5 * minute + 10_000)
    expect(await machine()).toMatchObject({
      holder_id: null,
      occupant_id: String(id),
      suspended: true,
      rentable: false,
    })
    await plug()
    await advanceTime(2 * minute)
    expect(await container(id)).toBe('stopped')
    expect(await machine()).toMatchObject({ occupant_id: null, suspended: false, rentable: true })
    expect(await read(id)).toMatchObject({ status: 'offline', reason_code: 'HOST_OFFLINE', unconfirmed_at: null })
  })

  it('starts the grace period at the first missed answer, not at the last pass', async () => {
    const id = await rent()
    await update(id, 'stopped')
    await advanceTime(0)
    clock.advance(24 * 60 * minute)
    await unplug()
    await update(id, 'running')
    await advanceTime(4 * minute)
    expect(await read(id)).toMatchObject({ status: 'created', reason_code: 'HOST_UNREACHABLE' })
    await plug()
    await advanceTime(2 * minute)
    expect(await read(id)).toMatchObject({ status: 'running' })
  })

  it('keeps the resources of a destroyed instance until it answers', async () => {
    const id = await rent('ubuntu', 2)
    await advanceTime(minute)
    await unplug()
    await destroy(id)
    await advanceTime(20 * minute)
    const kept = { holder_id: null, occupant_id: String(id), free_disk_mb: 892_000, free_ports: 97 }
    expect(await machine()).toMatchObject({ ...kept, suspended: true, rentable: false })
    expect(await read(id)).toMatchObject({ removed_at: null })
    await plug()
    await advanceTime(2 * minute)
    expect(await machine()).toMatchObject({ occupant_id: null, free_disk_mb: 900_000, free_ports: 100, rentable: true })
    expect(await read(id)).toMatchObject({ removed_at: expect.any(Date), unconfirmed_at: null, due_at: null })
  })

  it('is also one that takes too long to answer', async () => {
    const id = await rent()
    const slow = openGateway({
      ...{ url: testDatabase.url, now: clock.now },
      wrapProvider: provider => ({
        ...provider,
        async start() {
          throw new DOMException('It took too long.', 'TimeoutError')
        },
      }),
    })
    await advanceTime(minute, slow)
    expect(await read(id)).toMatchObject({ status: 'loading', reason_code: 'HOST_UNREACHABLE' })
    expect(await machine()).toMatchObject({ occupant_id: String(id) })
    await slow.close()
    await advanceTime(2 * minute)
    expect(await read(id)).toMatchObject({ status: 'running', reason_code: 'STARTED' })
  })

  it('is retried with backoff, and logged once', async () => {
    const id = await rent()
    await advanceTime(minute)
    await unplug()
    let attempts = 0
    const counting = openGateway({
      ...{ url: testDatabase.url, now: clock.now },
      wrapProvider: provider => ({
        ...provider,
        async observe(ref, signal) {
          attempts += Number(ref.instanceId === id)
          return await provider.observe(ref, signal)
        },
      }),
    })
    await advanceTime(30 * minute, counting)
    expect(attempts).toBeGreaterThan(25)
    expect(attempts).toBeLessThan(45)
    const about = counting.lines.filter(line => line['instanceId'] === String(id)).map(({ msg }) => msg)
    expect(about).toEqual([
      'A machine does not answer.',
      'A machine does not confirm that a container is down. It takes no new rentals until it does.',
    ])
    await counting.close()
    await plug()
    await advanceTime(2 * minute)
  })
})

describe('an unconfirmed stop', () => {
  it('suspends its machine after five minutes, until it is confirmed', async () => {
    const id = await rent('simulated/slow-stop:600')
    await advanceTime(minute)
    await update(id, 'stopped')
    await advanceTime(4 * minute)
    expect(await read(id)).toMatchObject({ status: 'stopping', reason_code: 'USER_REQUEST' })
    expect(await machine()).toMatchObject({ suspended: false, rentable: true, occupant_id: String(id) })
    await advanceTime(2 * minute)
    expect(await machine()).toMatchObject({ suspended: true, rentable: false, occupant_id: String(id) })
    await advanceTime(5 * minute)
    expect(await read(id)).toMatchObject({ status: 'stopped', unconfirmed_at: null })
    expect(await machine()).toMatchObject({ suspended: false, rentable: true, occupant_id: null })
  })

  it('keeps its machine suspended until every stop is confirmed', async () => {
    machineId += 1
    await listMachines(gateway.operations, [{ machine: { numGpus: 2, publicIp: `203.0.113.${machineId}` } }])
    const [first, second] = [await rentGpu(0, 'simulated/slow-stop:420'), await rentGpu(1, 'simulated/slow-stop:720')]
    await advanceTime(minute)
    for (const id of [first, second]) await update(id, 'stopped')
    const suspended = async () => (await machine())?.['suspended']
    await advanceTime(6 * minute)
    expect(await suspended()).toBe(true)
    await advanceTime(2 * minute)
    expect([(await read(first))['status'], await suspended()]).toEqual(['stopped', true])
    await advanceTime(5 * minute)
    expect([(await read(second))['status'], await suspended()]).toEqual(['stopped', false])
  })

  async function rentGpu(index: number, image: string): Promise<bigint> {
    const text = `SELECT id FROM offers WHERE machine_id = $1 AND first_gpu = $2 AND num_gpus = 1 AND withdrawn_at IS NULL`
    const [offer] = await gateway.sql(text, [machineId, index])
    return (await gateway.rent(actor, BigInt(offer?.['id'] as string), { launch: { image } })).id
  }
})

describe('an instance that does not come up', () => {
  it.each([
    ['simulated/slow-pull', 'preparing'],
    ['simulated/slow-start', 'stopped'],
  ])('in time (%s) becomes EXITED, and releases its GPUs', async (image, end) => {
    const id = await rent(image)
    await advanceTime(29 * minute)
    expect(await read(id)).toMatchObject({ status: 'loading' })
    await advanceTime(2 * minute)
    const reason = { reason_code: 'START_TIMEOUT', reason_message: 'The instance did not come up within 30 minutes.' }
    expect(await read(id)).toMatchObject({ status: 'exited', ...reason })
    expect(await machine()).toMatchObject({ holder_id: null, occupant_id: null })
    expect(await container(id)).toBe(end)
    await advanceTime(60 * minute)
    expect(await read(id)).toMatchObject({ status: 'exited', started_at: null })
  })

  it.each([
    ['simulated/not-found', 'IMAGE_PULL_FAILED', null],
    ['simulated/no-start', 'START_FAILED', null],
    ['simulated/crash:30', 'EXITED', 1],
    ['simulated/exit:7', 'EXITED', 7],
  ])('or does not stay up (%s) has the reason %s', async (image, code, exitCode) => {
    const id = await rent(image)
    await advanceTime(2 * minute)
    expect(await read(id)).toMatchObject({ status: 'exited', reason_code: code, exit_code: exitCode })
    expect(await machine()).toMatchObject({ holder_id: null, occupant_id: null, rentable: true })
  })

  it('because its machine refuses is retried with backoff, with the reason MACHINE_ERROR', async () => {
    let refusals = 0
    const refusing = openGateway({
      ...{ url: testDatabase.url, now: clock.now },
      wrapProvider: provider => ({
        ...provider,
        async ensure() {
          refusals += 1
          throw new Error('no space left on device')
        },
      }),
    })
    const id = await rent()
    await advanceTime(5 * minute, refusing)
    expect(await read(id)).toMatchObject({ status: 'loading', reason_code: 'MACHINE_ERROR' })
    expect(refusals).toBeGreaterThan(5)
    expect(refusals).toBeLessThan(15)
    expect(
      JSON.stringify(await read(id), (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain('no space')
    await refusing.close()
    await advanceTime(2 * minute)
    expect(await read(id)).toMatchObject({ status: 'running', attempts: 0 })
  })
})

it('calls remove once in a pass, and waits for a slow removal', async () => {
  const removals: string[] = []
  const slow = openGateway({
    ...{ url: testDatabase.url, now: clock.now },
    wrapProvider: provider => ({
      ...provider,
      async remove(id, signal) {
        const { state } = await provider.observe(id, signal)
        removals.push(state)
        if (state === 'running') await provider.stop(id, signal)
        else if (state !== 'stopping') await provider.remove(id, signal)
      },
    }),
  })
  const id = await rent()
  await advanceTime(minute)
  await destroy(id)
  await advanceTime(minute, slow)
  expect(removals).toEqual(['running', 'stopped'])
  expect(await read(id)).toMatchObject({ removed_at: expect.any(Date), attempts: 0 })
  await slow.close()
})

it('stops a container that its machine starts late, after the instance was stopped', async () => {
  const id = await rent()
  await advanceTime(minute)
  await update(id, 'stopped')
  await advanceTime(minute)
  expect(await container(id)).toBe('stopped')
  await gateway.provider.start({ machineId, instanceId: id, accountId: actor.accountId }, AbortSignal.timeout(10_000))
  await advanceTime(12 * minute)
  expect(await container(id)).toBe('stopped')
  expect(await read(id)).toMatchObject({ status: 'stopped' })
})
