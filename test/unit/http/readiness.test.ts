import { expect, it } from 'vitest'
import { createReadiness } from '../../../src/http/readiness.ts'

it('asks the database once for all who ask at once, and again for the next', async () => {
  let asked = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const findDatabaseProblem = async () => {
    asked += 1
    await promise
    return undefined
  }
  const findProblem = createReadiness({
    phase: () => 'ready',
    database: { findProblem: findDatabaseProblem },
    writes: { isFailing: async () => false },
    work: { isFailing: () => false },
  })
  const problems = Array.from({ length: 1_000 }, findProblem)
  expect(asked).toBe(1)
  resolve()
  expect(new Set(await Promise.all(problems))).toEqual(new Set([undefined]))
  await findProblem()
  expect(asked).toBe(2)
})
