// No machine of the tests has a GPU, so that a fake engine shows what the driver requests.

import pino from 'pino'
import { expect, it } from 'vitest'
import type { Engine } from '../../../src/domain/machines/engines.ts'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { containerSpec } from '../../contract/provider.ts'
import { type FakeRequest, startFakeEngine } from '../../support/engine/fake.ts'

const gpuUuids = [0, 1, 2].map(n => `GPU-00000000-0000-0000-0000-00000000000${n}`)
const signal = () => AbortSignal.timeout(5_000)
const ref = { machineId: 1, instanceId: 7n, accountId: 1 }

function providerOf(url: string, gpuAccess: Engine['gpuAccess']) {
  const engine = { url, tls: null, mark: 'fake', gpuAccess, gpuUuids }
  return createDockerProvider({
    engineOf: async () => engine,
    readToolbox: async () => Buffer.alloc(1_024),
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  })
}

/** The body with which a container with the GPUs 1 and 2 is created. */
async function createdBody(gpuAccess: Engine['gpuAccess']) {
  const { url, requests } = await startFakeEngine(() => undefined)
  const spec = containerSpec(7n)
  const env = [{ name: 'NVIDIA_VISIBLE_DEVICES', value: 'all' }]
  await providerOf(url, gpuAccess).ensure({ ...spec, gpus: [1, 2], launch: { ...spec.launch, env } }, signal())
  const isCreation = ({ path }: FakeRequest) => path === '/containers/create'
  await expect.poll(() => requests.some(isCreation)).toBe(true)
  return requests.find(isCreation)?.body as { Env: string[]; HostConfig: { DeviceRequests?: unknown } }
}

it('requests GPUs by UUID from the NVIDIA runtime', async () => {
  const { Env, HostConfig } = await createdBody('nvidia')
  const DeviceIDs = gpuUuids.slice(1)
  expect(HostConfig.DeviceRequests).toEqual([
    { Driver: 'nvidia', DeviceIDs, Capabilities: [['gpu', 'compute', 'utility']] },
  ])
  expect(Env.filter(one => one.startsWith('NVIDIA_'))).toEqual([`NVIDIA_VISIBLE_DEVICES=${DeviceIDs.join()}`])
})

it('requests GPUs by UUID through the Container Device Interface', async () => {
  const { Env, HostConfig } = await createdBody('cdi')
  const DeviceIDs = gpuUuids.slice(1).map(uuid => `nvidia.com/gpu=${uuid}`)
  expect(HostConfig.DeviceRequests).toEqual([{ Driver: 'cdi', DeviceIDs }])
  expect(Env).toContain('NVIDIA_VISIBLE_DEVICES=void')
})

it('requests none for a machine without GPUs', async () => {
  const { Env, HostConfig } = await createdBody('none')
  expect(HostConfig).not.toHaveProperty('DeviceRequests')
  expect(Env.filter(one => one.startsWith('NVIDIA_'))).toEqual(['NVIDIA_VISIBLE_DEVICES=void'])
})

/** An engine with one running container, which says that it is ready. */
async function startWithContainer(listed: () => string) {
  let name = '/berth-fake-7'
  const State = {
    ...{ Status: 'running', Running: true, ExitCode: 0, Error: '' },
    ...{ StartedAt: new Date().toISOString(), FinishedAt: '0001-01-01T00:00:00Z' },
  }
  const inspected = () => ({
    ...{ Id: 'one', Name: name, State, Config: { Entrypoint: null, Labels: {} } },
    HostConfig: { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: gpuUuids.slice(1) }] },
  })
  const { url, requests } = await startFakeEngine(({ path, query }) => {
    if (path === '/containers/json') return { json: [{ Id: 'one', Names: [name], Labels: {} }] }
    if (path === '/containers/one/json') return { json: inspected() }
    if (path === '/containers/one/archive') return { status: 404, json: { message: 'no file' } }
    if (path === '/containers/one/rename') name = `/${query.get('name')}`
    if (path === '/containers/one/stop') Object.assign(State, { Status: 'exited', Running: false })
    return undefined
  }, listed)
  return { provider: providerOf(url, 'nvidia'), requests }
}

it('is ready when a container has exactly its GPUs', async () => {
  const { provider } = await startWithContainer(() =>
    gpuUuids
      .slice(1)
      .map((uuid, index) => `GPU ${index}: NVIDIA H100 (UUID: ${uuid})\n`)
      .join(''),
  )
  expect(await provider.observe(ref, signal())).toMatchObject({ state: 'starting' })
  await expect.poll(() => provider.observe(ref, signal())).toMatchObject({ state: 'running' })
})

it.each([
  ['no GPU', () => 'No devices found.'],
  ['one GPU less', () => `GPU 0: (UUID: ${gpuUuids[1]})`],
  ['the GPU of another', () => gpuUuids.join('\n')],
])('stops a container that has %s', async (_, listed) => {
  const { provider, requests } = await startWithContainer(listed)
  await expect
    .poll(() => provider.observe(ref, signal()))
    .toEqual({
      state: 'failed',
      code: 'START_FAILED',
      message: 'The machine did not give the container its GPUs.',
      fault: 'machine',
    })
  expect(requests.filter(({ path }) => path === '/containers/one/stop')).toHaveLength(1)
})
