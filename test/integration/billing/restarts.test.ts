// The cost of a restart: GPUs are charged until their container is down and from when it runs again; the disk is
// charged throughout.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

type Entry = { amount_nanos: string; rate_nanos: string; period_start: Date; period_end: Date }

async function entriesOf(id: number, kind: 'gpu' | 'disk'): Promise<Entry[]> {
  const rows = await app.sql(`SELECT l.amount_nanos, l.rate_nanos, l.period_start, l.period_end FROM ledger_entries l
    JOIN meters m ON m.id = l.meter_id WHERE m.instance_id = ${id} AND m.kind = '${kind}' ORDER BY l.id`)
  return rows as Entry[]
}

/** The first time after an instant at which the gateway saw an instance in a status. */
async function instantOf(id: number, status: string, after = new Date(0)): Promise<Date> {
  const [row] = await app.sql(`SELECT min(created_at) AS created_at FROM events
    WHERE instance_id = ${id} AND kind = 'INSTANCE_STATUS_CHANGED' AND after->>'status' = '${status}'
    AND created_at >= '${after.toISOString()}'`)
  return (row as { created_at: Date }).created_at
}

async function advanceTime(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await app.runUntilIdle()
    app.clock.advance(1_000)
  }
  await app.runUntilIdle()
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
const ms = ({ period_start, period_end }: Entry) => period_end.getTime() - period_start.getTime()

it.each([
  ['reboot', 'simulated/slow-stop:40', 40, 0],
  ['reboot', 'simulated/slow-start:40', 0, 40],
  ['recycle', 'simulated/slow-pull:40', 0, 40],
])(
  'charges the GPUs until the container is down and again once it is up: %s of %s',
  async (verb, image, stoppingSeconds, downSeconds) => {
    const id = await rentals.rent(key, { image })
    await advanceTime(120)
    const up = await instantOf(id, 'running')
    await advanceTime(10)
    expect(await app.rest(key, 'PUT', `/instances/${verb}/${id}/`, {})).toMatchObject({ body: { success: true } })
    await advanceTime(90)
    const stopping = await instantOf(id, 'stopping', up)
    const down = await instantOf(id, 'loading', stopping)
    const upAgain = await instantOf(id, 'running', down)
    expect(down.getTime() - stopping.getTime()).toBeGreaterThanOrEqual(stoppingSeconds * 1_000)
    expect(upAgain.getTime() - down.getTime()).toBeGreaterThanOrEqual(downSeconds * 1_000)
    const [container] = await app.sql(`SELECT up_at FROM simulated_containers WHERE instance_id = ${id}`)
    expect(upAgain.getTime()).toBeGreaterThanOrEqual((container as { up_at: Date }).up_at.getTime())
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    const end = app.clock.now()
    const gpu = await entriesOf(id, 'gpu')
    expect(gpu.map(({ period_start, period_end }) => [period_start, period_end])).toEqual([
      [up, down],
      [upAgain, end],
    ])
    const [rate] = gpu.map(({ rate_nanos }) => Number(rate_nanos))
    expect(rate).toBeGreaterThan(0)
    // The second charge includes the remainder of the first.
    const [charged, time] = [sum(gpu.map(({ amount_nanos }) => Number(amount_nanos))), sum(gpu.map(ms))]
    expect(charged).toBe(-Math.floor(((rate as number) * time) / 3_600_000))
    const [disk, ...others] = await entriesOf(id, 'disk')
    expect([others, disk?.period_end]).toEqual([[], end])
  },
)

it('charges a container that is down within the pass that recycles it until then', async () => {
  const fast = await startApp({ sharedApp: app, simulatedDelay: 0 })
  const id = await rentals.rent(key)
  await fast.runUntilIdle()
  const up = await instantOf(id, 'running')
  // Nobody has looked since.
  app.clock.advance(20_000)
  await app.rest(key, 'PUT', `/instances/recycle/${id}/`, {})
  const recycled = app.clock.now()
  await fast.runUntilIdle()
  expect(await instantOf(id, 'running', recycled)).toEqual(recycled)
  expect((await entriesOf(id, 'gpu')).map(({ period_start, period_end }) => [period_start, period_end])).toEqual([
    [up, recycled],
  ])
  await fast.close()
})

it.each(['recycle', 'reboot'])(
  'charges a container that ended by itself up to its end, if a %s follows before a pass has seen the end',
  async verb => {
    const fast = await startApp({ sharedApp: app, simulatedDelay: 0 })
    const id = await rentals.rent(key)
    await fast.runUntilIdle()
    const up = await instantOf(id, 'running')
    app.clock.advance(5_000)
    const ended = app.clock.now()
    await app.sql('UPDATE simulated_containers SET exit_code = 1, ends_at = $1 WHERE instance_id = $2', [ended, id])
    app.clock.advance(15_000)
    await app.rest(key, 'PUT', `/instances/${verb}/${id}/`, {})
    const restarted = app.clock.now()
    await fast.runUntilIdle()
    expect(await instantOf(id, 'running', restarted)).toEqual(restarted)
    app.clock.advance(5_000)
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    expect((await entriesOf(id, 'gpu')).map(({ period_start, period_end }) => [period_start, period_end])).toEqual([
      [up, ended],
      [restarted, app.clock.now()],
    ])
    await fast.close()
  },
)
