// What an engine that hangs keeps waiting.

import pino from 'pino'
import { expect, it } from 'vitest'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { containerSpec } from '../../contract/provider.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

it('gives up a removal in time while the engine hangs in a preparation', async () => {
  const { url, requests } = await startFakeEngine(({ path }) => (path === '/containers/create' ? 'never' : undefined))
  const engine = { url, tls: null, mark: 'fake', gpuAccess: 'none' as const, gpuUuids: [] }
  const provider = createDockerProvider({
    engineOf: async () => engine,
    readToolbox: async () => Buffer.alloc(1_024),
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  })
  await provider.ensure(containerSpec(7n), AbortSignal.timeout(5_000))
  await expect.poll(() => requests.some(({ path }) => path === '/containers/create')).toBe(true)
  const begun = performance.now()
  const ref = { machineId: 1, instanceId: 7n }
  await expect(provider.remove(ref, AbortSignal.timeout(100))).rejects.toThrow('timeout')
  expect(performance.now() - begun).toBeLessThan(2_000)
})
