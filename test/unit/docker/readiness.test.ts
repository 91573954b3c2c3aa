// A fake engine shows how long a renter can keep a container from being ready, and so from being charged.

import pino from 'pino'
import { expect, it } from 'vitest'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

const gpu = 'GPU-00000000-0000-0000-0000-000000000000'
const ownEntrypoint = ['/.berth/bin/busybox', 'sh', '/.berth/entry.sh']

/** What is seen of a container that has run for a time. It never says that it is ready, and no program in it ever ends. */
async function observeAfter(ms: number, { Entrypoint, gpus }: { Entrypoint: string[] | null; gpus: string[] }) {
  const StartedAt = new Date(Date.now() - ms).toISOString()
  const State = {
    Status: 'running',
    Running: true,
    ExitCode: 0,
    Error: '',
    StartedAt,
    FinishedAt: '0001-01-01T00:00:00Z',
  }
  const HostConfig = { DeviceRequests: gpus.map(id => ({ Driver: 'nvidia', DeviceIDs: [id] })) }
  const container = { Id: 'one', Name: '/berth-fake-7', State, Config: { Entrypoint, Labels: {} }, HostConfig }
  const { url } = await startFakeEngine(({ path }) => {
    if (path === '/containers/json') return { json: [{ Id: 'one', Names: ['/berth-fake-7'], Labels: {} }] }
    if (path === '/containers/one/json') return { json: container }
    if (path === '/containers/one/archive') return { status: 404, json: { message: 'no file' } }
    return path === '/containers/one/exec' ? 'never' : undefined
  })
  const provider = createDockerProvider({
    engineOf: async () => ({ url, tls: null, mark: 'fake', gpuAccess: 'nvidia', gpuUuids: [gpu] }),
    readToolbox: async () => Buffer.alloc(1_024),
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  })
  return await provider.observe({ machineId: 1, instanceId: 7n, accountId: 1 }, AbortSignal.timeout(5_000))
}

it.each([
  ['whose entrypoint was replaced', { Entrypoint: ownEntrypoint, gpus: [] }],
  ['that keeps the check of its GPUs waiting', { Entrypoint: null, gpus: [gpu] }],
])('is ready soon in a container %s', async (_, options) => {
  expect(await observeAfter(5_000, options)).toMatchObject({ state: 'starting' })
  expect(await observeAfter(25_000, options)).toMatchObject({ state: 'running' })
})
