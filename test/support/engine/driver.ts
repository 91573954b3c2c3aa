// The driver, and containers of the driver, for tests with an engine.

import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import pino from 'pino'
import type { ContainerRef, ContainerSpec, Observed } from '../../../src/domain/instances/containers.ts'
import type { Engine } from '../../../src/domain/machines/engines.ts'
import { connectEngine } from '../../../src/providers/docker/engine/client.ts'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { docker } from './docker.ts'
import type { TestEngine } from './engine.ts'

const changing = ['preparing', 'starting', 'stopping']

export function createDriver(engine: TestEngine, settings: Partial<Engine> = {}): Provider {
  const reached: Engine = { url: engine.url, tls: null, mark: 'test', gpuAccess: 'none', gpuUuids: [], ...settings }
  return createDockerProvider({
    engineOf: async () => reached,
    readToolbox: () => readFile(engine.toolbox),
    log: pino({ level: 'silent' }),
    now: () => new Date(),
  })
}

/** Each container of a test publishes another port of the machine. */
export function runnableSpec(engine: TestEngine, spec: ContainerSpec): ContainerSpec {
  const hostPort = 20_000 + Number(spec.instanceId % 10_000n)
  const ports = spec.ports.map(port => ({ ...port, hostPort }))
  return { ...spec, ports, launch: { ...spec.launch, image: engine.images.tiny } }
}

/** Observes a container until it is in a state that lasts. */
export async function settle(provider: Provider, ref: ContainerRef): Promise<Observed> {
  for (let tries = 0; tries < 400; tries += 1) {
    const observed = await provider.observe(ref, AbortSignal.timeout(10_000))
    if (!changing.includes(observed.state)) return observed
    await delay(25)
  }
  throw new Error(`Instance ${ref.instanceId} does not come to rest.`)
}

/** Removes all containers with a mark. */
export async function removeContainers({ url }: TestEngine, mark = 'test'): Promise<void> {
  const signal = AbortSignal.timeout(60_000)
  const client = await connectEngine({ url, tls: null }, signal)
  const query = { all: 1, filters: { label: [`berth.mark=${mark}`] } }
  const listed = await client.call<{ Id: string }[]>('GET', '/containers/json', { query, signal })
  const remove = ({ Id }: { Id: string }) =>
    client.call('DELETE', `/containers/${Id}`, { query: { force: 1, v: 1 }, signal })
  await Promise.all(listed.map(remove))
}

/** Removes all containers, volumes and networks with a mark. */
export async function removeAll(engine: TestEngine, mark = 'test'): Promise<void> {
  const { folder } = engine
  await removeContainers(engine, mark)
  for (const kind of ['volume', 'network']) {
    const names = await listMarked(folder, mark, kind, 'ls')
    if (names.length > 0) await docker(folder, [kind, 'rm', ...names])
  }
}

/** The ids, or the names, of what has a mark. */
export async function listMarked(folder: string, mark: string, ...words: string[]): Promise<string[]> {
  const listed = await docker(folder, [...words, '--quiet', '--filter', `label=berth.mark=${mark}`])
  return listed.split('\n').filter(Boolean)
}
