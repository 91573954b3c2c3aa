import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createTurnScheduler } from '../../../src/events/turn-scheduler.ts'

function workFor(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

it('the turn scheduler leaves most of the event loop to requests, however busy the streams are', async () => {
  const pace = createTurnScheduler()
  let worked = 0
  let over = false
  const all = Array.from({ length: 32 }, async () => {
    while (!over) {
      await pace(1)
      workFor(2)
      worked += 2
    }
  })
  const start = performance.now()
  await sleep(1_000)
  over = true
  const share = worked / (performance.now() - start)
  await Promise.all(all)
  expect(share).toBeGreaterThan(0)
  expect(share).toBeLessThan(0.45)
})

it('the turn scheduler does not count the work of requests as work of streams', async () => {
  const pace = createTurnScheduler()
  let worked = 0
  let requested = 0
  let over = false
  const request = () => {
    workFor(5)
    requested += 5
    if (!over) setTimeout(request, 1)
  }
  request()
  const all = Array.from({ length: 8 }, async () => {
    while (!over) {
      await pace(1)
      workFor(1)
      worked += 1
    }
  })
  await sleep(1_000)
  over = true
  await Promise.all(all)
  // The share of the streams does not depend on the speed of the machine.
  const share = worked / (worked + requested)
  expect(share).toBeGreaterThan(0.1)
})

it('the turn scheduler serves owners in turn, so that an owner with many streams delays no other owner', async () => {
  const pace = createTurnScheduler()
  const served: number[] = []
  const turn = async (owner: number) => {
    await pace(owner)
    served.push(owner)
  }
  await Promise.all([...Array.from({ length: 10 }, () => turn(1)), turn(2), turn(3), turn(2)])
  expect(served.slice(0, 6)).toEqual([1, 1, 2, 3, 1, 2])
  expect(served).toHaveLength(13)
})

it('the turn scheduler grants a turn at once when no stream works', async () => {
  const pace = createTurnScheduler()
  const start = performance.now()
  await pace(1)
  expect(performance.now() - start).toBeLessThan(1_000)
})

it('the turn scheduler grants the next turn once all promise jobs of the last one are done', async () => {
  const pace = createTurnScheduler()
  const jobs: string[] = []
  const turn = async (owner: number) => {
    await pace(owner)
    for (const job of ['a', 'b', 'c', 'd', 'e']) {
      jobs.push(`${owner}${job}`)
      await Promise.resolve()
    }
  }
  await Promise.all([turn(1), turn(2)])
  expect(jobs).toEqual(['1a', '1b', '1c', '1d', '1e', '2a', '2b', '2c', '2d', '2e'])
})
