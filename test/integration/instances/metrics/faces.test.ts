// What simulated instances use, on both faces.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'
import { subscribeSse } from '../../../support/streams.ts'

let app: TestApp
let rentals: Rentals
let key: string
let id: number

const point =
  'startsAt endsAt cpuCoresUsed memoryUsedMb diskUsedGb receivedMb sentMb gpus { index utilizationPercent memoryUsedMb }'

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
  id = await rentals.rentToStatus(key, 'running')
})

afterAll(() => app.close())

const ask = (fields: string, instance = id, own = key) =>
  app.graphql(own, `query ($id: ID!) { instance(id: $id) { ${fields} } }`, { id: instance })

async function read(fields: string, instance = id) {
  const { data, errors } = await ask(fields, instance)
  expect(errors).toBeUndefined()
  return data.instance
}

describe('a simulated instance', () => {
  it('shows the same on both faces and in its log', async () => {
    app.clock.advance(120_000 - (app.clock.now().getTime() % 60_000))
    const { currentMetrics, logs } = await read(`currentMetrics { ${point} } logs { text }`)
    const busy = currentMetrics.gpus[0].utilizationPercent
    expect(currentMetrics).toEqual({
      ...{
        startsAt: new Date(app.clock.now().getTime() - 15_000).toISOString(),
        endsAt: app.clock.now().toISOString(),
      },
      ...{ cpuCoresUsed: expect.any(Number), memoryUsedMb: expect.any(Number), diskUsedGb: expect.any(Number) },
      ...{ receivedMb: expect.any(Number), sentMb: expect.any(Number) },
      gpus: [expect.objectContaining({ index: 0, memoryUsedMb: expect.any(Number) })],
    })
    expect(busy).toBeGreaterThanOrEqual(40)
    const row = await rentals.read(key, id)
    expect(row).toMatchObject({
      ...{
        gpu_util: busy,
        mem_usage: expect.closeTo(currentMetrics.memoryUsedMb / 1000, 2),
        mem_limit: expect.any(Number),
      },
      ...{ disk_usage: currentMetrics.diskUsedGb, disk_util: 0.3, vmem_usage: expect.any(Number) },
    })
    expect(row.cpu_util).toBeGreaterThan(0)
    expect(row.cpu_util).toBeLessThanOrEqual(100)
    expect(row.mem_usage).toBeLessThan(row.mem_limit)
    const { body } = await app.rest(key, 'GET', '/api/v1/instances/')
    expect(body.instances[0]).toMatchObject({ gpu_util: busy })
    expect((await app.rest(key, 'GET', '/instances/')).body.instances[0]).toMatchObject({ gpu_util: busy })
    expect(logs.at(-1).text).toMatch(/^GPU 0: \d+ % busy$/)
  })

  it('shows the periods in which it ran', async () => {
    app.clock.advance(600_000 - (app.clock.now().getTime() % 300_000))
    const { metrics, fine } = await read(
      `metrics(lastSeconds: 300) { ${point} } fine: metrics(lastSeconds: 60, resolutionSeconds: 15) { startsAt }`,
    )
    expect(metrics).toHaveLength(6)
    expect(fine).toHaveLength(5)
    for (const { gpus } of metrics) expect(gpus[0].utilizationPercent).toBeGreaterThanOrEqual(40)
    expect(metrics[1].startsAt).toBe(metrics[0].endsAt)
    expect(metrics[5].receivedMb).toBeGreaterThan(metrics[0].receivedMb)
  })

  it('shows its first period at once', async () => {
    const begun = await rentals.rent(key)
    for (let turn = 0; turn < 60 && (await rentals.read(key, begun)).actual_status !== 'running'; turn += 1) {
      app.clock.advance(1_000)
      await app.runUntilIdle()
    }
    expect((await read('metrics { gpus { index } }', begun)).metrics).toHaveLength(1)
  })

  it('shows nothing of the time in which it was stopped', async () => {
    const stopped = await rentals.rentToStatus(key, 'running', { image: 'simulated/idle' })
    app.clock.advance(120_000)
    await app.rest(key, 'PUT', `/instances/${stopped}/`, { state: 'stopped' })
    await rentals.converge()
    app.clock.advance(600_000)
    const found = await read(
      `currentMetrics { endsAt } metrics(lastSeconds: 540) { endsAt } all: metrics { gpus { utilizationPercent } }`,
      stopped,
    )
    expect(found).toMatchObject({ currentMetrics: null, metrics: [] })
    expect(found.all.length).toBeGreaterThan(1)
    expect(found.all[0].gpus).toEqual([{ utilizationPercent: 0 }])
    expect(await rentals.read(key, stopped)).toMatchObject({
      ...{ gpu_util: null, cpu_util: 0, mem_usage: null, vmem_usage: null, disk_usage: -1, disk_util: -1 },
      mem_limit: expect.any(Number),
    })
  })

  it('is streamed until it is destroyed', async () => {
    const streamed = await rentals.rentToStatus(key, 'running')
    const stream = await subscribeSse(
      app.fetch,
      key,
      `subscription { instanceMetrics(id: "${streamed}") { endsAt gpus { utilizationPercent } } }`,
    )
    const now = app.clock.now().toISOString()
    expect((await stream.next())?.data.instanceMetrics).toMatchObject({ endsAt: now, gpus: [expect.anything()] })
    await app.rest(key, 'DELETE', `/instances/${streamed}/`)
    await app.runUntilIdle()
    expect(await stream.next()).toBeUndefined()
    await stream.close()
  })
})

describe('a request', () => {
  it.each([
    [{ lastSeconds: 604_801 }, 'lastSeconds', 'must be from 15 to 604800 (7 days), not 604801.'],
    [{ lastSeconds: 0 }, 'lastSeconds', 'must be from 15 to 604800 (7 days), not 0.'],
    [{ resolutionSeconds: -60 }, 'resolutionSeconds', 'must be from 15 to 604800, not -60.'],
    [{ resolutionSeconds: 20 }, 'resolutionSeconds', 'must be a multiple of 15, not 20.'],
    [{ resolutionSeconds: 75 }, 'resolutionSeconds', 'must be 15, 30, 45 or whole minutes, not 75.'],
    [
      { lastSeconds: 3_615, resolutionSeconds: 15 },
      'resolutionSeconds',
      'must be at least 60 if lastSeconds is more than 3600: older samples are means of minutes.',
    ],
    [
      { lastSeconds: 604_800, resolutionSeconds: 360 },
      'resolutionSeconds',
      'must be at least 420: an answer has at most 1440 points.',
    ],
  ])('for %j is refused', async (range, path, message) => {
    const args = Object.entries(range)
      .map(([name, value]) => `${name}: ${value}`)
      .join(', ')
    const { data, errors } = await ask(`id metrics(${args}) { endsAt }`)
    expect(data.instance).toEqual({ id: `ins_${id}`, metrics: null })
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', issues: [{ path, message }] } }])
  })

  it('for the weeks of many instances costs too much', async () => {
    const { errors } = await app.graphql(
      key,
      '{ instances(first: 100) { nodes { metrics(lastSeconds: 604800, resolutionSeconds: 604800) { endsAt } } } }',
    )
    expect(errors).toMatchObject([{ extensions: { code: 'COST_LIMIT_EXCEEDED' } }])
  })

  it('for a few weeks is answered, and for more in one operation costs too much', async () => {
    const weeks = (count: number) =>
      Array.from(
        { length: count },
        (_, index) =>
          `week${index}: metrics(lastSeconds: 604800, resolutionSeconds: ${60 * (10_080 - index)}) { endsAt }`,
      ).join(' ')
    expect((await ask(weeks(4))).errors).toBeUndefined()
    expect((await ask(weeks(5))).errors).toMatchObject([{ extensions: { code: 'COST_LIMIT_EXCEEDED' } }])
  })

  it('of a key without the permission sees none, on both faces', async () => {
    const scoped = await app.newScopedKey(key, {
      api: {
        instance_read: {
          'instances.get': {},
          'instances.list': {},
          'instances.metrics': { constraints: { id: { eq: 0 } } },
        },
      },
    })
    const { data, errors } = await ask('currentMetrics { endsAt } metrics { endsAt }', id, scoped)
    expect(data.instance).toEqual({ currentMetrics: null, metrics: null })
    expect(errors?.map(({ extensions }) => extensions['code'])).toEqual(['FORBIDDEN', 'FORBIDDEN'])
    expect(await rentals.read(scoped, id)).toMatchObject({ gpu_util: null, cpu_util: 0 })
    expect(await rentals.read(key, id)).toMatchObject({ gpu_util: expect.any(Number) })
  })
})
