import { expect, it } from 'vitest'
import { askMachine } from '../../../src/services/container-console.ts'

it('reports a machine that does not answer in time as unavailable, and aborts the call', async () => {
  const signals: AbortSignal[] = []
  const hanging = (signal: AbortSignal) => {
    signals.push(signal)
    return new Promise<never>(() => {})
  }
  await expect(askMachine(1, hanging)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
})

it('reports an unreachable machine as unavailable, without the cause', async () => {
  const refused = askMachine(1_000, () => Promise.reject(new Error('connect 10.0.0.7')))
  await expect(refused).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.not.stringContaining('10.0.0.7') })
})
