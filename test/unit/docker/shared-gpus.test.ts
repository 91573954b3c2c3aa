// After a fail-over, a machine may still run the container of a rental that the database has lost. No machine of the tests
// has a GPU, so that a fake engine shows when the driver starts a container.

import pino from 'pino'
import { expect, it } from 'vitest'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { GpusTaken } from '../../../src/providers/provider.ts'
import { startFakeEngine } from '../../support/engine/fake.ts'

const gpuUuids = [0, 1, 2].map(n => `GPU-00000000-0000-0000-0000-00000000000${n}`)
const signal = () => AbortSignal.timeout(5_000)
const ref = { machineId: 1, instanceId: 7n, accountId: 1 }

type Held = {
  id: string
  mark: string
  driver: 'nvidia' | 'cdi'
  gpus: number[]
  isRunning: boolean
  name: string
  isGone?: true
}

const isOf = ({ id, mark, gpus }: Held, filter: string): boolean =>
  [`berth.mark=${mark}`, `berth.instance=${id}`, 'berth.account=1', 'berth.gpus', `berth.gpus=${gpus}`].includes(filter)

function inspectionOf({ id, name, driver, gpus, isRunning }: Held) {
  const DeviceIDs = gpus.map(index => `${driver === 'cdi' ? 'nvidia.com/gpu=' : ''}${gpuUuids[index]}`)
  const never = '0001-01-01T00:00:00Z'
  const State = {
    ...{ Status: isRunning ? 'running' : 'created', Running: isRunning, ExitCode: 0, Error: '' },
    ...{ StartedAt: isRunning ? new Date().toISOString() : never, FinishedAt: never },
  }
  const HostConfig = { DeviceRequests: gpus.length > 0 ? [{ Driver: driver, DeviceIDs }] : null }
  return { Id: id, Name: name, State, Config: { Entrypoint: null, Labels: {} }, HostConfig }
}

/** As an engine does: without "all", those that run. */
function listed(held: Held[], query: URLSearchParams) {
  const { label } = JSON.parse(query.get('filters') ?? '{}') as { label: string[] }
  const matching = held.filter(one => label.every(filter => isOf(one, filter)))
  const shown = matching.filter(one => one.isRunning || query.has('all'))
  return shown.map(one => ({ Id: one.id, Names: [one.name], Labels: {} }))
}

/** The container of instance 7 has the GPUs 1 and 2, and was made and not started. Another one is on the engine, too. */
async function startWithOther(settings: Partial<Held>, beforeRunningAreListed = (_: Held) => {}) {
  const usual = { mark: 'fake', driver: 'nvidia' as const, gpus: [1, 2], isRunning: false }
  const own: Held = { ...usual, id: '7', name: '/berth-fake-7' }
  const other: Held = { ...usual, id: '5', name: '/berth-fake-5', isRunning: true, ...settings }
  const held = new Set([own, other])
  const find = (id: string | undefined) => [...held].find(one => one.id === id && !one.isGone)
  const list = (query: URLSearchParams) => {
    if (!query.has('all')) beforeRunningAreListed(own)
    return listed([...held], query)
  }
  const { url, requests } = await startFakeEngine(({ method, path, query }) => {
    if (path === '/containers/json') return { json: list(query) }
    const [, id, verb] = /^\/containers\/(\d+)\/(\w+)$/.exec(path) ?? []
    if (!verb) return undefined
    const found = find(id)
    if (!found || (verb === 'archive' && method === 'GET')) return { status: 404, json: { message: 'not found' } }
    if (verb === 'start') found.isRunning = true
    return verb === 'json' ? { json: inspectionOf(found) } : undefined
  })
  const provider = createDockerProvider({
    engineOf: async () => ({ url, tls: null, mark: 'fake', gpuAccess: 'nvidia', gpuUuids }),
    readToolbox: async () => Buffer.alloc(1_024),
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  })
  const changes = () => requests.filter(({ method }) => method !== 'GET').map(({ path }) => path)
  return { provider, own, other, held, changes }
}

it.each<[string, Partial<Held>]>([
  ['has both', {}],
  ['has one of them', { gpus: [0, 1] }],
  ['got it in another way', { driver: 'cdi', gpus: [2] }],
  ['belongs to another Berth', { mark: 'others', gpus: [1] }],
])('starts no container on GPUs while a running one %s, and starts it later', async (_, settings) => {
  const { provider, own, other, held, changes } = await startWithOther(settings)
  await expect(provider.start(ref, signal())).rejects.toThrow(GpusTaken)
  expect(await provider.observe(ref, signal())).toMatchObject({ state: 'prepared' })
  expect(changes()).toEqual([])
  held.delete(other)
  await provider.start(ref, signal())
  expect(own.isRunning).toBe(true)
})

it('keeps a stopped container as it is while its GPUs are taken', async () => {
  const { provider, own, changes } = await startWithOther({})
  own.name += '-stopping'
  await expect(provider.start(ref, signal())).rejects.toThrow(GpusTaken)
  expect(changes()).toEqual([])
})

it.each<[string, Partial<Held>]>([
  ['has other GPUs', { gpus: [0] }],
  ['has no GPU', { gpus: [] }],
  ['does not run', { isRunning: false }],
])('starts a container beside one that %s', async (_, settings) => {
  const { provider, own } = await startWithOther(settings)
  await provider.start(ref, signal())
  expect(own.isRunning).toBe(true)
})

it('starts a container if the other one is gone when it is inspected', async () => {
  const { provider, own } = await startWithOther({ isGone: true })
  await provider.start(ref, signal())
  expect(own.isRunning).toBe(true)
})

it('does not mind that another gateway starts the same container', async () => {
  const { provider } = await startWithOther({ isRunning: false }, own => {
    own.isRunning = true
  })
  await provider.start(ref, signal())
  expect(await provider.observe(ref, signal())).toMatchObject({ state: 'starting' })
})
