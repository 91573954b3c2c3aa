// Hosts with agents, for tests: in the process of the test, over any provider.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import type { EngineFacts } from '../../../src/domain/machines/inspection.ts'
import { type AgentOptions, runAgent } from '../../../src/host/agent.ts'
import { type JoinOptions, joinHost } from '../../../src/host/join.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { createSimulatedProvider } from '../../../src/providers/simulated/provider.ts'
import { createSimulatedWorld, type RunStatement } from '../../../src/providers/simulated/world.ts'
import type { Operations } from '../../../src/services/operations.ts'

/** The facts of an engine that has what the machines of tests promise. */
export function engineFacts(identity: string, more: Partial<EngineFacts> = {}): EngineFacts {
  const size = { cpuCores: 64, cpuRamMb: 257_000, cpuArch: 'amd64' as const, limitsDisk: true }
  return { identity, version: '28.0.0', ...size, gpuAccesses: ['none', 'nvidia'], clockAheadMs: 0, ...more }
}

/** Opens no port, since most machines of tests have addresses that lead nowhere. */
export const openNothing: JoinOptions['openPorts'] = async () => ({
  listening: { ports: [], answer: 'A'.repeat(43) },
  close() {},
})

export const measureNothing: JoinOptions['measureSpeeds'] = async () => undefined

export type JoinAttempt = {
  token: string
  facts?: EngineFacts
  gpuUuids?: string[]
  gpuMemoryMb?: number
  openPorts?: JoinOptions['openPorts']
  /** Not measured unless given. */
  measureSpeeds?: JoinOptions['measureSpeeds']
}

/** Joins as `host join` does, with a folder of its own. Returns what the host keeps. */
export async function joinAsHost(
  gateway: string,
  { token, facts, gpuUuids = [], gpuMemoryMb = 24_564, ...measuring }: JoinAttempt,
) {
  const folder = await mkdtemp(join(tmpdir(), 'berth-host-'))
  try {
    const inspect = async () => facts ?? engineFacts(`engine of ${token}`)
    const readGpus = async () => gpuUuids.map(uuid => ({ uuid, memoryMb: gpuMemoryMb }))
    const own = { inspect, readGpus, openPorts: openNothing, measureSpeeds: measureNothing, ...measuring }
    return await joinHost({ gateway, token, engine: 'unix:///nowhere', folder, ...own })
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Invites a computer without GPUs, joins it, and returns its key. */
export async function newHostKey(operations: Operations, gateway: string, machineId: number): Promise<string> {
  const { token } = await operations.machines.invite(machineId, { gpuAccess: 'none', validMs: 60_000 })
  return (await joinAsHost(gateway, { token })).key
}

export type TestAgent = {
  /** How often it was connected. */
  connections(): number
  /** Why it gave up; undefined while it has not. */
  failure(): unknown
  /** What it logged. */
  lines: string[]
  stop(): Promise<void>
}

export type TestAgentOptions = Pick<AgentOptions, 'gateway' | 'key'> & {
  provider: Provider
  protocols?: readonly number[]
  version?: string
}

export function startAgent({ provider, version = '0.1.0', ...options }: TestAgentOptions): TestAgent {
  const stopping = new AbortController()
  const lines: string[] = []
  let connections = 0
  let failure: unknown
  const done = runAgent({
    ...options,
    version,
    createProvider: () => provider,
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) }),
    signal: stopping.signal,
    onConnected: () => {
      connections += 1
    },
  }).catch((error: unknown) => {
    failure = error
  })
  return {
    connections: () => connections,
    failure: () => failure,
    lines,
    async stop() {
      stopping.abort()
      await done
    },
  }
}

/** Simulated containers that are kept in a database, as those of a host outlive its agent. */
export function openSimulatedHost(url: string, { delayFactor = 0, now = () => new Date() } = {}) {
  const pool = new pg.Pool({ connectionString: url, max: 2, application_name: 'simulated host' })
  pool.on('error', () => {})
  const query: RunStatement = async (text, values) => (await pool.query({ text, values, rowMode: 'array' })).rows
  const provider = createSimulatedProvider({ world: createSimulatedWorld(query), now, delayFactor })
  return { provider, close: () => pool.end() }
}
