import { expect, it } from 'vitest'
import { addFailure, backoffError, backoffUntil } from '../../../src/domain/instances/start-backoff.ts'

const lastAt = new Date('2026-11-21T12:00:00.000Z')
const after = (minutes: number) => new Date(lastAt.getTime() + minutes * 60_000)

it.each([
  [0, null],
  [5, null],
  [6, 1],
  [7, 2],
  [11, 32],
  [12, 60],
  [30, 60],
])('after %i failures in a row an account waits %s minutes', (count, minutes) => {
  expect(backoffUntil({ count, lastAt })).toEqual(minutes === null ? null : after(minutes))
})

it('nobody waits who never failed', () => {
  expect(backoffUntil({ count: 0, lastAt: null })).toBeNull()
})

it('a failure counts before and after a wait, and not while it lasts', () => {
  const failures = { count: 6, lastAt }
  expect(addFailure(failures, new Date(after(1).getTime() - 1))).toEqual(failures)
  expect(addFailure(failures, after(1))).toEqual({ count: 7, lastAt: after(1) })
  expect(addFailure({ count: 30, lastAt }, after(60)).count).toBe(30)
})

it('a start is refused until the wait is over', () => {
  const failures = { count: 6, lastAt }
  expect(backoffError(failures, lastAt)?.details).toEqual({ retryAfter: after(1) })
  expect(backoffError(failures, after(1))).toBeUndefined()
})
