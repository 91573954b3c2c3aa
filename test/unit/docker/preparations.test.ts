// Preparations of containers on an engine that hangs, or of an image that is a trap.

import pino from 'pino'
import { expect, it } from 'vitest'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { containerSpec } from '../../contract/provider.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

function providerOf(url: string) {
  const engine = { url, tls: null, mark: 'fake', gpuAccess: 'none' as const, gpuUuids: [] }
  return createDockerProvider({
    engineOf: async () => engine,
    readToolbox: async () => Buffer.alloc(1_024),
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  })
}

it('gives up a removal in time while the engine hangs in a preparation', async () => {
  const { url, requests } = await startFakeEngine(({ path }) => (path === '/containers/create' ? 'never' : undefined))
  const provider = providerOf(url)
  await provider.ensure(containerSpec(7n), AbortSignal.timeout(5_000))
  await expect.poll(() => requests.some(({ path }) => path === '/containers/create')).toBe(true)
  const begun = performance.now()
  const ref = { machineId: 1, instanceId: 7n, accountId: 1 }
  await expect(provider.remove(ref, AbortSignal.timeout(100))).rejects.toThrow('timeout')
  expect(performance.now() - begun).toBeLessThan(2_000)
})

it.each([
  [404, 'could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network'],
  [400, 'all predefined address pools have been fully subnetted'],
])('fails at once on an engine without a free range of addresses: %i %s', async (status, message) => {
  const { url } = await startFakeEngine(({ path }) =>
    path === '/networks/create' ? { status, json: { message } } : undefined,
  )
  const provider = providerOf(url)
  await provider.ensure(containerSpec(7n), AbortSignal.timeout(5_000))
  const observe = () => provider.observe({ machineId: 1, instanceId: 7n, accountId: 1 }, AbortSignal.timeout(5_000))
  const sentence = 'The machine has no free network for another account.'
  const failure = { code: 'START_FAILED', message: sentence, fault: 'machine' }
  await expect.poll(observe).toEqual({ state: 'failed', ...failure })
})

it('refuses a virtual machine', async () => {
  const { url, requests } = await startFakeEngine(() => undefined)
  const provider = providerOf(url)
  await provider.ensure({ ...containerSpec(7n), vm: true }, AbortSignal.timeout(5_000))
  const ref = { machineId: 1, instanceId: 7n, accountId: 1 }
  const failure = { code: 'START_FAILED', message: 'The machine runs no virtual machines.', fault: 'machine' }
  await expect.poll(() => provider.observe(ref, AbortSignal.timeout(5_000))).toEqual({ state: 'failed', ...failure })
  expect(requests.some(({ path }) => path === '/images/create')).toBe(false)
})

it('makes no container of an image whose labels would fill the answers of its engine', async () => {
  const image = { Id: 'sha256:image', Config: { Labels: { large: 'x'.repeat(300_000) } } }
  const { url, requests } = await startFakeEngine(({ method, path }) =>
    path.startsWith('/images/') && method === 'GET' ? { json: image } : undefined,
  )
  const provider = providerOf(url)
  await provider.ensure(containerSpec(7n), AbortSignal.timeout(5_000))
  const message = 'The image has too many labels and variables.'
  const observe = () => provider.observe({ machineId: 1, instanceId: 7n, accountId: 1 }, AbortSignal.timeout(5_000))
  await expect.poll(observe).toEqual({ state: 'failed', code: 'IMAGE_PULL_FAILED', message })
  expect(requests.some(({ path }) => path === '/containers/create')).toBe(false)
})
