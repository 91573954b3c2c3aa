// Samples of instances on real machines, of which two gateways take turns.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Actor } from '../../../../src/domain/actor.ts'
import type { ContainerStats, InstanceMetrics, MetricsRange } from '../../../../src/domain/instances/metrics.ts'
import { MachineUnreachable } from '../../../../src/providers/provider.ts'
import { createSamplingLoop } from '../../../../src/reconciler/loops.ts'
import { sampleChores } from '../../../../src/services/instances/metrics/chores.ts'
import { measuredSelect } from '../../../../src/services/instances/metrics/measured.ts'
import { samplingServices } from '../../../../src/services/instances/metrics/sampling.ts'
import { manualClock } from '../../../support/clock.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { waitForLockWaiters, withSession } from '../../../support/database/sessions.ts'
import { listMachines } from '../../../support/factories.ts'
import { type Gateway, openGateway } from '../../../support/gateways.ts'

const clock = manualClock('2026-11-21T12:00:00.000Z')
const unknown = { cpuCores: null, memoryBytes: null, diskBytes: null, receivedBytes: null, sentBytes: null, gpus: [] }
let testDatabase: TestDatabase
let gateways: [Gateway, Gateway]
let gateway: Gateway
let actor: Actor
let machineId = 0
let instanceId: bigint
/** What the machine says of its containers. */
let said: Partial<ContainerStats>[] | Error
let asked: number[]

beforeAll(async () => {
  testDatabase = await createDatabase()
  const options = { url: testDatabase.url, now: clock.now, delayFactor: 0 }
  gateways = [openGateway(options), openGateway(options)]
  gateway = gateways[0]
  actor = await gateway.newActor()
  const addresses = Array.from({ length: 40 }, (_, index) => `203.0.113.${index + 1}`)
  await listMachines(
    gateway.operations,
    addresses.map(publicIp => ({ machine: { publicIp, numGpus: 2 } })),
  )
  await gateway.sql(`INSERT INTO engines (machine_id, url, mark, identity, gpu_access, gpu_uuids, connected_at)
    SELECT id, 'unix:///run/docker.sock', id, id, 'none', '{}', now() FROM machines`)
})

afterAll(async () => {
  for (const one of gateways) await one.close()
  await testDatabase.drop()
})

beforeEach(async () => {
  await gateway.sql('TRUNCATE samplings, samples, sample_minutes, idle_instances')
  machineId += 1
  asked = []
  instanceId = await rent()
  said = [{ instanceId, cpuCores: 1, gpus: [{ utilization: 50, memoryMb: 100 }] }]
})

async function rent(numGpus = 1): Promise<bigint> {
  const [offer] = await gateway.sql(
    'SELECT id FROM offers WHERE machine_id = $1 AND num_gpus = $2 AND withdrawn_at IS NULL AND rentable',
    [machineId, numGpus],
  )
  const { id } = await gateway.rent(actor, BigInt(offer?.['id'] as string))
  await gateway.idle()
  return id
}

afterEach(async () => {
  await gateway.services.instances.destroy(actor, { ids: [instanceId] })
  await gateway.idle()
})

const sampling = (one = gateway) => samplingServices({ database: one.database, simulation: undefined as never })
const chores = (one = gateway) => sampleChores({ database: one.database })
async function computeMinutes(one = gateway): Promise<void> {
  while ((await chores(one).computeSampleMinutes(1)) === 1);
}

async function sample(one = gateway): Promise<void> {
  const loop = createSamplingLoop({
    sampling: sampling(one),
    engines: { all: async () => new Map([[machineId, {} as never]]) },
    provider: {
      async stats(id) {
        asked.push(id)
        if (said instanceof Error) throw said
        return said.map(stats => ({ instanceId, ...unknown, ...stats }))
      },
    },
    now: clock.now,
    log: gateway.log,
  })
  await loop.idle()
}

/** Samples `times` times, 15 seconds apart. */
async function sampleFor(times: number, statsOf: (index: number) => Partial<ContainerStats> = () => ({})) {
  for (let index = 0; index < times; index += 1) {
    if (!(said instanceof Error)) said = said.map(stats => ({ ...stats, ...statsOf(index) }))
    await sample()
    clock.advance(15_000)
  }
}

async function read(range: Partial<MetricsRange> = {}): Promise<InstanceMetrics[]> {
  const [instance] = await gateway.services.instances.byIds(actor, [instanceId], measuredSelect)
  if (!instance) throw new Error('The instance is missing.')
  const query = { instance, range: { lastSeconds: 3_600, resolutionSeconds: 60, ...range } }
  return (await gateway.services.instances.metrics(actor, [query])).get(query) ?? []
}

async function readNow(): Promise<InstanceMetrics | undefined> {
  const [instance] = await gateway.services.instances.byIds(actor, [instanceId], measuredSelect)
  return (await gateway.services.instances.currentMetrics(actor, instance ? [instance] : [])).get(instanceId)
}

const count = async (table: string) =>
  Number((await gateway.sql(`SELECT count(*)::int AS count FROM ${table}`))[0]?.['count'])

describe('sampling', () => {
  it('asks each machine every 15 seconds, by one of the gateways', async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      await Promise.all(gateways.map(sample))
      await Promise.all(gateways.map(sample))
      expect(asked).toEqual(Array.from({ length: turn + 1 }, () => machineId))
      clock.advance(15_000)
    }
    expect(await count('samples')).toBe(4)
  })

  it('goes on 15 seconds later when the gateway that claimed a machine dies', async () => {
    expect(await sampling().claimDue(10)).toEqual([machineId])
    clock.advance(14_999)
    expect(await sampling(gateways[1]).claimDue(10)).toEqual([])
    clock.advance(1)
    expect(await sampling(gateways[1]).claimDue(10)).toEqual([machineId])
  })

  it('gives each machine its turn when more are due than it can ask at once', async () => {
    const first = instanceId
    machineId += 1
    const second = await rent()
    for (let turn = 0; turn < 4; turn += 1) {
      expect(await sampling().claimDue(1)).toEqual([machineId - 1 + (turn % 2)])
      clock.advance(15_000)
    }
    await gateway.services.instances.destroy(actor, { ids: [first, second] })
    await gateway.idle()
  })

  it('asks no machine without running instances, and no simulated one', async () => {
    await gateway.services.instances.update(actor, { ids: [instanceId] }, { targetState: 'stopped' })
    await gateway.idle()
    await sample()
    expect(asked).toEqual([])
  })

  it('keeps nothing of a silent machine, and of containers that are no running instances there', async () => {
    said = new MachineUnreachable('It is silent.')
    await sample()
    clock.advance(15_000)
    said = [{ instanceId: instanceId + 1_000n }, { instanceId: instanceId - 1n }]
    await sample()
    expect(asked).toHaveLength(2)
    expect(await count('samples')).toBe(0)
  })

  it('says nothing of a machine that does not answer in time: where it is followed, that is said once', async () => {
    const before = gateway.lines.length
    said = new DOMException('The operation was aborted due to timeout', 'TimeoutError')
    await sample()
    expect(asked).toHaveLength(1)
    expect(gateway.lines.slice(before)).toEqual([])
  })

  it('keeps the values that the machine said, and null for the others', async () => {
    said = [
      {
        cpuCores: 1.5,
        memoryBytes: 2_000_000_000,
        diskBytes: 10_000_000,
        receivedBytes: 3_000_000,
        sentBytes: 500_000,
      },
    ]
    said[0] = {
      ...said[0],
      gpus: [
        { utilization: 97, memoryMb: 20_000 },
        { utilization: null, memoryMb: null },
      ],
    }
    await sample()
    const at = clock.now()
    expect(await readNow()).toEqual({
      ...{ startsAt: new Date(at.getTime() - 15_000), endsAt: at, cpuCores: 1.5, memoryMb: 2_000, diskMb: 10 },
      ...{ receivedMb: 3, sentMb: 0.5 },
      gpus: [
        { utilization: 97, memoryMb: 20_000 },
        { utilization: null, memoryMb: null },
      ],
    })
    said = [{}]
    clock.advance(15_000)
    await sample()
    expect(await readNow()).toMatchObject({ cpuCores: null, memoryMb: null, receivedMb: null, gpus: [] })
    clock.advance(60_001)
    expect(await readNow()).toBeUndefined()
  })
})

it('does not take what was used before a restart for what is used now', async () => {
  await sample()
  const setTarget = (targetState: 'running' | 'stopped') =>
    gateway.services.instances.update(actor, { ids: [instanceId] }, { targetState })
  for (const target of ['stopped', 'running'] as const) {
    clock.advance(5_000)
    await setTarget(target)
    await gateway.idle()
  }
  expect(await readNow()).toBeUndefined()
  clock.advance(5_000)
  await sample()
  expect(await readNow()).toMatchObject({ cpuCores: 1 })
})

describe('a host that says impossible numbers', () => {
  it('loses these, and nothing else', async () => {
    const other = { instanceId: await rent(), cpuCores: 2 }
    const gpus = [
      { utilization: 50.6, memoryMb: 100.4 },
      { utilization: 1e9, memoryMb: Number.MAX_SAFE_INTEGER },
    ]
    const most = Number.MAX_SAFE_INTEGER
    said = [
      { cpuCores: 1e-300, memoryBytes: most, diskBytes: 1.5e6, receivedBytes: 1e6 + 0.5, sentBytes: most, gpus },
      other,
    ]
    await sample()
    expect(await readNow()).toMatchObject({
      ...{ cpuCores: 0, memoryMb: null, diskMb: 2, receivedMb: 1.000001, sentMb: most / 1e6 },
      gpus: [
        { utilization: 51, memoryMb: 100 },
        { utilization: null, memoryMb: null },
      ],
    })
    expect(await count('samples')).toBe(2)
    await gateway.services.instances.destroy(actor, { ids: [other.instanceId] })
  })
})

describe('an instance that is to stop when it is idle', () => {
  const stopWhenIdle = { gpuPercent: 10, seconds: 120 }
  const isDue = async () =>
    (
      await gateway.sql('SELECT policy_due_at <= $2 AS due FROM instances WHERE id = $1', [instanceId, clock.now()])
    )[0]?.['due']
  const loaded = (...loads: (number | null)[]): Partial<ContainerStats> => ({
    gpus: loads.map(utilization => ({ utilization, memoryMb: null })),
  })
  const setPolicy = (policy: Parameters<typeof gateway.services.instances.updatePolicy>[2]) =>
    gateway.services.instances.updatePolicy(actor, instanceId, policy)

  beforeEach(() => setPolicy({ stopWhenIdle }))

  it('is due once all GPUs were idle in each sample for long enough', async () => {
    await sampleFor(8, () => loaded(9, 0))
    expect(await isDue()).toBe(false)
    const wakes = gateway.wakeCount()
    await sampleFor(1)
    expect(await isDue()).toBe(true)
    expect(gateway.wakeCount()).toBe(wakes + 1)
  })

  it.each([
    ['one GPU is busy', () => loaded(0, 10)],
    ['one GPU does not say', () => loaded(0, null)],
    ['no GPU says', () => loaded()],
  ])('begins anew after a sample in which %s', async (_, other) => {
    await sampleFor(8, () => loaded(0, 0))
    await sampleFor(1, other)
    await sampleFor(8, () => loaded(0, 0))
    expect(await isDue()).toBe(false)
    await sampleFor(1)
    expect(await isDue()).toBe(true)
  })

  it('is not due while the machine says nothing of one of its GPUs', async () => {
    await gateway.services.instances.destroy(actor, { ids: [instanceId] })
    machineId += 1
    instanceId = await rent(2)
    await setPolicy({ stopWhenIdle })
    said = [{ instanceId, ...loaded(0) }]
    await sampleFor(9)
    expect(await isDue()).toBe(false)
    said = [{ instanceId, ...loaded(0, 0) }]
    await sampleFor(9)
    expect(await isDue()).toBe(true)
  })

  it('begins anew after a gap, and when its limit changes', async () => {
    await sampleFor(8, () => loaded(0))
    clock.advance(60_000)
    await sampleFor(8)
    expect(await isDue()).toBe(false)
    await setPolicy({ stopWhenIdle: { ...stopWhenIdle, gpuPercent: 9 } })
    await sampleFor(8)
    expect(await isDue()).toBe(false)
    await sampleFor(1)
    expect(await isDue()).toBe(true)
  })

  it('is forgotten without the policy', async () => {
    await sampleFor(2, () => loaded(0))
    expect(await count('idle_instances')).toBe(1)
    await setPolicy({ stopWhenIdle: null })
    await sampleFor(9)
    expect([await isDue(), await count('idle_instances')]).toEqual([false, 0])
  })
})

describe('metrics', () => {
  /** Until the next whole hour, so that periods begin with the test. */
  beforeEach(() => clock.advance(3_600_000 - (clock.now().getTime() % 3_600_000)))

  it('are means of samples in the last hour', async () => {
    await sampleFor(8, index => ({ cpuCores: index, receivedBytes: index * 1_000_000 }))
    const points = await read()
    expect(points.map(({ cpuCores, receivedMb }) => [cpuCores, receivedMb])).toEqual([
      [1.5, 3],
      [5.5, 7],
    ])
    expect(points[0]).toMatchObject({ memoryMb: null, gpus: [{ utilization: 50, memoryMb: 100 }] })
    const periodOf = ({ startsAt, endsAt }: InstanceMetrics) => endsAt.getTime() - startsAt.getTime()
    expect(points.map(periodOf)).toEqual([60_000, 60_000])
    expect((await read({ resolutionSeconds: 15 })).map(periodOf)).toEqual(Array(8).fill(15_000))
    expect(await read({ resolutionSeconds: 3_600 })).toMatchObject([{ cpuCores: 3.5 }])
  })

  it('have each GPU that any sample of the period has', async () => {
    const gpus = [
      { utilization: null, memoryMb: null },
      { utilization: 30, memoryMb: 7 },
    ]
    await sampleFor(4, index => ({ gpus: index === 2 ? gpus : [] }))
    await sampleFor(4, () => ({ gpus: [] }))
    expect((await read()).map(point => point.gpus)).toEqual([gpus, []])
  })

  it('are the same before and after minutes are computed, on any gateway and once', async () => {
    await sampleFor(13, index => ({
      cpuCores: index,
      gpus: [
        { utilization: index * 7, memoryMb: 10 * index },
        { utilization: index % 2 ? null : 40, memoryMb: null },
      ],
    }))
    const before = await read()
    expect(before).toHaveLength(4)
    await Promise.all(gateways.map(one => computeMinutes(one)))
    expect(await count('sample_minutes')).toBe(2)
    clock.advance(30_000)
    await computeMinutes()
    await computeMinutes()
    expect(await count('sample_minutes')).toBe(3)
    expect(await read()).toEqual(before)
  })

  it('are kept for a week, and samples for an hour', async () => {
    await sampleFor(4)
    clock.advance(60_000)
    await computeMinutes()
    const purgeAfter = async (ms: number) => {
      clock.advance(ms)
      await chores().purgeSamples()
      return [await count('samples'), await count('sample_minutes')]
    }
    expect(await purgeAfter(3_600_000)).toEqual([4, 1])
    expect(await purgeAfter(3_600_000)).toEqual([0, 1])
    expect(await read({ lastSeconds: 10_800, resolutionSeconds: 60 })).toMatchObject([{ cpuCores: 1 }])
    for (let day = 1; day <= 6; day += 1) expect(await purgeAfter(86_400_000)).toEqual([0, 1])
    expect(await read({ lastSeconds: 604_800, resolutionSeconds: 3_600 })).toMatchObject([{ cpuCores: 1 }])
    expect((await purgeAfter(2 * 86_400_000))[1]).toBe(0)
  })

  it('stay while a long statement reads them, and delay other readers only briefly', async () => {
    await sample()
    clock.advance(2 * 3_600_000)
    await withSession(testDatabase.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT FROM samples')
      let isDone = false
      const purging = chores()
        .purgeSamples()
        .finally(() => {
          isDone = true
        })
      await waitForLockWaiters(session, () => isDone)
      await withSession(testDatabase.url, async reader => {
        // Less than a statement of the gateway waits for a lock.
        await reader.query("SET lock_timeout = '1500ms'")
        expect((await reader.query('SELECT FROM samples')).rowCount).toBe(1)
      })
      await purging
    })
    await chores().purgeSamples()
    expect(await count('samples')).toBe(0)
  })

  it('keep the sample of the last half second of an hour', async () => {
    clock.advance(3_600_000 - 400)
    await sample()
    await chores().purgeSamples()
    expect(await count('samples')).toBe(1)
  })

  it('are there after the instance is destroyed', async () => {
    await sampleFor(4)
    await gateway.services.instances.destroy(actor, { ids: [instanceId] })
    await gateway.idle()
    expect(await read()).toHaveLength(1)
    expect(await readNow()).toBeUndefined()
  })
})

describe('a stream of metrics', () => {
  it('has each sample once, whatever else happens to the instance', async () => {
    await sample()
    const stream = await gateway.services.instances.watchMetrics(actor, instanceId)
    const first = await stream.next()
    expect(first.value).toMatchObject({ endsAt: clock.now(), cpuCores: 1 })
    const second = stream.next()
    const rename = (label: string) => gateway.services.instances.update(actor, { ids: [instanceId] }, { label })
    await rename('another')
    // The event of the new label has arrived once a later follower has.
    ;(await gateway.feed.subscribe(actor, {})).close()
    clock.advance(15_000)
    said = [{ instanceId, cpuCores: 2 }]
    await sample()
    // Otherwise, the stream looks for the next sample only after 15 seconds.
    await rename('yet another')
    expect((await second).value).toMatchObject({ endsAt: clock.now(), cpuCores: 2 })
    await stream.return?.()
    expect(gateway.feed.streamCount()).toBe(0)
  })

  it('ends at once for an instance that is not found', async () => {
    const opening = gateway.services.instances.watchMetrics(actor, 987_654_321n)
    await expect(opening).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(gateway.feed.streamCount()).toBe(0)
  })
})
