import { expect, it } from 'vitest'
import { runRollingRestarts } from '../support/processes/rolling-restart.ts'

it('loses no request behind a balancer over twelve rolling restarts', async () => {
  const { answered, failed } = await runRollingRestarts(12)
  expect(failed).toEqual([])
  expect(answered).toBeGreaterThan(1_000)
})
