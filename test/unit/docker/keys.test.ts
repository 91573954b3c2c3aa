import pino from 'pino'
import { expect, it } from 'vitest'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

it('does not wait for a renter whose changed program never lets the keys log in', async () => {
  const { url, requests } = await startFakeEngine(
    ({ path }) => {
      if (path === '/containers/json') return { json: [{ Id: 'one', Names: ['/berth-fake-7'], Labels: {} }] }
      if (path === '/containers/one/json')
        return { json: { Id: 'one', Name: '/berth-fake-7', State: { Running: true } } }
      return undefined
    },
    () => 'never',
  )
  const provider = createDockerProvider({
    engineOf: async () => ({ url, tls: null, mark: 'fake', gpuAccess: 'none', gpuUuids: [] }),
    readToolbox: async () => Buffer.alloc(1_024),
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  })
  await provider.setSshKeys(
    { machineId: 1, instanceId: 7n, accountId: 1 },
    ['ssh-ed25519 AAAA'],
    AbortSignal.timeout(10_000),
  )
  expect(requests.some(({ method, path }) => method === 'PUT' && path === '/containers/one/archive')).toBe(true)
})
