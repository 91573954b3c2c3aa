import { expect, it } from 'vitest'
import { askMachine } from '../../../src/services/container-console.ts'

it('a machine that does not answer is unavailable in time, and is told that nobody waits', async () => {
  const signals: AbortSignal[] = []
  const hanging = (signal: AbortSignal) => {
    signals.push(signal)
    return new Promise<never>(() => {})
  }
  await expect(askMachine(1, hanging)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
})

it('a machine that cannot be reached is unavailable, without saying why', async () => {
  const refused = askMachine(1_000, () => Promise.reject(new Error('connect 10.0.0.7')))
  await expect(refused).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.not.stringContaining('10.0.0.7') })
})
