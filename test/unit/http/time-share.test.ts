import { expect, it } from 'vitest'
import { createTimeShare } from '../../../src/http/limits/time-share.ts'

/** A connection whose work takes as long as the test says. */
function aConnection() {
  let atMs = 0
  const workInShare = createTimeShare(() => atMs)
  return {
    wait(ms: number): void {
      atMs += ms
    },
    work: (ms: number, beforeMs = 0) =>
      workInShare(beforeMs, () => {
        atMs += ms
      }),
  }
}

it('lets a connection work for half a second at once', () => {
  const { work, wait } = aConnection()
  expect([work(200), work(300)]).toEqual([0, 0])
  expect(work(5, 5)).toBe(40)
  wait(60_000)
  expect([work(500), work(1)]).toEqual([0, 4])
})

it('keeps a connection that sends without end to a fifth of the time', () => {
  const { work, wait } = aConnection()
  let worked = 0
  let passed = 0
  for (let turn = 0; turn < 10_000; turn += 1) {
    const restMs = work(20)
    wait(restMs)
    worked += 20
    passed += 20 + restMs
  }
  expect(worked / passed).toBeCloseTo(0.2)
})

it('lets no connection rest for more than two seconds, however long its work took', () => {
  const { work, wait } = aConnection()
  expect(work(60_000)).toBe(2_000)
  wait(2_000)
  expect(work(0)).toBe(0)
})
