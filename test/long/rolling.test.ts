import { expect, it } from 'vitest'
import { rollGateways } from '../support/processes/rolling.ts'

it('loses no request behind a balancer over twelve rolling restarts', async () => {
  const { answered, lost } = await rollGateways(12)
  expect(lost).toEqual([])
  expect(answered).toBeGreaterThan(1_000)
})
