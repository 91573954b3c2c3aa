// The two sides of an agent's connection, without a network.

import { PassThrough } from 'node:stream'
import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { waitMs } from '../../../src/host/agent.ts'
import { createFence } from '../../../src/host/fence.ts'
import { parseGpus } from '../../../src/host/gpus.ts'
import { maxStreams } from '../../../src/host/processes.ts'
import { createSession, type SessionOptions } from '../../../src/host/session.ts'
import { createLink } from '../../../src/providers/agent/link.ts'
import {
  protocolName,
  protocolRefusal,
  protocols,
  sharedProtocol,
} from '../../../src/providers/agent/protocol/versions.ts'
import { MachineUnreachable, type Provider } from '../../../src/providers/provider.ts'
import { containerSpec } from '../../contract/provider.ts'

const signal = new AbortController().signal
const log = pino({ level: 'silent' })

/** An agent over a provider, and what it sends and how it closes. */
function openSession(provider: Partial<Provider>, fence = createFence(), more: Partial<SessionOptions> = {}) {
  const sent: Record<string, unknown>[] = []
  const closed: number[] = []
  const session = createSession({
    wire: {
      send: (data, onSent) => {
        if (typeof data === 'string') sent.push(JSON.parse(data))
        onSent?.()
      },
      close: code => void closed.push(code),
    },
    fence,
    streams: { open: 0 },
    log,
    role: { welcome: () => provider as Provider, openBranch: async () => {} },
    ...more,
  })
  const welcome = (generation: number) =>
    session.receive(
      JSON.stringify({ type: 'welcome', machineId: 7, generation, mark: 'm', gpuAccess: 'none', gpuUuids: [] }),
    )
  const call = (id: number, generation: number, method: string, args: unknown) =>
    session.receive(JSON.stringify({ type: 'call', id, generation, method, args }))
  return { session, fence, sent, closed, welcome, call }
}

const start = { instanceId: '5' }

describe('the agent', () => {
  it('refuses calls of a connection before the newest, and makes those of the newest', async () => {
    const started: unknown[] = []
    const fence = createFence()
    const provider = { start: async (ref: unknown) => void started.push(ref) }
    const old = openSession(provider, fence)
    old.welcome(4)
    const { sent, welcome, call } = openSession(provider, fence)
    welcome(5)
    old.call(1, 4, 'start', start)
    call(1, 4, 'start', start)
    call(2, 5, 'start', start)
    await expect
      .poll(() => sent)
      .toEqual([
        { type: 'failure', id: 1, kind: 'outdated', message: 'This host has a later connection.' },
        { type: 'result', id: 2, value: null },
      ])
    expect(old.sent).toMatchObject([{ kind: 'outdated' }])
    expect(started).toEqual([{ machineId: 7, instanceId: 5n }])
  })

  it('passes on whose container a gateway means', async () => {
    const started: unknown[] = []
    const session = openSession({ start: async (ref: unknown) => void started.push(ref) })
    session.welcome(1)
    session.call(1, 1, 'start', { ...start, accountId: 3 })
    await expect.poll(() => started).toEqual([{ machineId: 7, instanceId: 5n, accountId: 3 }])
  })

  it('does not serve a gateway that knows only an older connection', () => {
    const fence = createFence()
    openSession({}, fence).welcome(9)
    const { welcome, closed } = openSession({}, fence)
    welcome(8)
    expect(closed).toEqual([4400])
  })

  it('does nothing before it is welcome', async () => {
    const { call, closed } = openSession({ start: () => expect.unreachable() })
    call(1, 1, 'start', start)
    await expect.poll(() => closed).toEqual([4400])
  })

  it('tells nothing of what its machine says about a failure', async () => {
    const provider = {
      start: async () => {
        throw new Error('password of the registry: 1234')
      },
    }
    const { welcome, call, sent } = openSession(provider)
    welcome(1)
    call(1, 1, 'start', start)
    call(2, 1, 'ensure', { spec: { ...containerSpec(1n), instanceId: 'x' } })
    await expect.poll(() => sent).toHaveLength(2)
    for (const [place, method] of ['start', 'ensure'].entries()) {
      const message = `The host could not do this (${method}). Its log says why.`
      expect(sent).toContainEqual({ type: 'failure', id: place + 1, kind: 'other', message })
    }
  })

  it('aborts what it does when its connection ends', async () => {
    const aborted = Promise.withResolvers<void>()
    const provider = {
      observe: async (_: unknown, callSignal: AbortSignal) => {
        callSignal.addEventListener('abort', () => aborted.resolve())
        return await new Promise<never>(() => {})
      },
    }
    const { session, welcome, call } = openSession(provider)
    welcome(1)
    call(1, 1, 'observe', start)
    session.end()
    await aborted.promise
  })

  it('lets a branch carry streams of the same generation, and nothing else', async () => {
    const [first, started] = [openSession({}), [] as unknown[]]
    first.welcome(5)
    const provider = {
      start: async () => expect.unreachable(),
      connect: async (ref: unknown, port: number) => {
        started.push([ref, port])
        return new PassThrough()
      },
    }
    const connectTo80 = { ...start, port: 80 }
    const beside = { machineId: 7, generation: 5, provider: provider as unknown as Provider }
    const { sent, closed, call, welcome } = openSession({}, first.fence, { role: { beside } })
    call(1, 5, 'start', start)
    call(2, 5, 'branch', { gatewayId: crypto.randomUUID(), url: null })
    call(3, 5, 'connect', connectTo80)
    await expect.poll(() => sent).toHaveLength(3)
    expect(sent.slice(0, 2)).toMatchObject([{ kind: 'unsupported' }, { kind: 'unsupported' }])
    expect(sent[2]).toEqual({ type: 'result', id: 3, value: null })
    first.welcome(6)
    call(4, 5, 'connect', connectTo80)
    await expect.poll(() => sent[3]).toMatchObject({ id: 4, kind: 'outdated' })
    expect(started).toEqual([[{ machineId: 7, instanceId: 5n }, 80]])
    welcome(7)
    expect(closed).toEqual([4400])
  })

  it('counts the streams of all its connections together', async () => {
    const provider = { connect: async () => new PassThrough() } as unknown as Provider
    const streams = { open: maxStreams - 1 }
    const first = openSession(provider, createFence(), { streams })
    first.welcome(1)
    const beside = { machineId: 7, generation: 1, provider }
    const branch = openSession({}, first.fence, { streams, role: { beside } })
    branch.call(1, 1, 'connect', { ...start, port: 80 })
    await expect.poll(() => branch.sent).toEqual([{ type: 'result', id: 1, value: null }])
    first.call(1, 1, 'connect', { ...start, port: 80 })
    await expect.poll(() => first.sent).toMatchObject([{ kind: 'other', message: 'This host is busy. Try again.' }])
    branch.session.end()
    await expect.poll(() => streams.open).toBe(maxStreams - 1)
  })

  it('tries again within a second, then later and later, at most after ten', () => {
    const range = (failures: number) => [waitMs(failures, 0), waitMs(failures, 1)]
    expect([1, 2, 3, 4, 5, 20].map(range)).toEqual([
      [0, 1_000],
      [1_000, 2_000],
      [2_000, 4_000],
      [4_000, 8_000],
      [5_000, 10_000],
      [5_000, 10_000],
    ])
  })
})

describe('the gateway', () => {
  const open = (isHeld: boolean, protocol = 1) => {
    const sent: unknown[] = []
    const wire = { send: (data: string | Buffer) => void sent.push(data), close: () => {} }
    return { sent, link: createLink({ wire, machineId: 7, generation: 3, protocol, isHeld: () => isHeld }) }
  }

  it('asks a host nothing once it may no longer hold its connection', async () => {
    const { link, sent } = open(false)
    await expect(link.call('start', { instanceId: 5n }, signal)).rejects.toThrow(MachineUnreachable)
    expect(sent).toEqual([])
  })

  it('says which side is too old for a call', async () => {
    const { link, sent } = open(true, 0)
    await expect(link.call('start', { instanceId: 5n }, signal)).rejects.toThrow('Upgrade Berth on the host.')
    expect(sent).toEqual([])
  })

  it('fails all calls when the connection is closed', async () => {
    const { link } = open(true)
    const calls = [1n, 2n].map(instanceId => link.call('start', { instanceId }, signal))
    link.handleClosed()
    for (const call of calls) await expect(call).rejects.toThrow(MachineUnreachable)
    await expect(link.call('start', { instanceId: 3n }, signal)).rejects.toThrow(MachineUnreachable)
  })
})

describe('the protocol', () => {
  it.each<[string, number[], number[], number | undefined]>([
    ['the same', [1], [1], 1],
    ['an agent that is one behind', [3, 2], [2, 1], 2],
    ['a gateway that is one behind', [2, 1], [3, 2], 2],
    ['sides that share none', [4, 3], [2, 1], undefined],
  ])('is chosen for %s', (_, spoken, offered, shared) => {
    expect(sharedProtocol(spoken, offered.map(protocolName))).toBe(shared)
  })

  it('says what to upgrade', () => {
    expect(protocolRefusal([4, 3], ['berth.host.2'])).toContain(
      'speaks protocol 2, and the gateway 4, 3. Upgrade Berth on',
    )
    expect(protocolRefusal([1], ['berth.host.9'])).toContain('Upgrade the gateways first.')
    expect(protocolRefusal([1], ['chat'])).toContain('Upgrade Berth on this host.')
    expect(protocols.length).toBeLessThanOrEqual(2)
  })
})

it('reads the GPUs in the order of their numbers, with their memory', () => {
  const gpu = (id: string, minor: number, uuid: string, total: string) =>
    `<gpu id="${id}"><product_name>RTX</product_name><uuid>${uuid}</uuid><minor_number>${minor}</minor_number>
      <fb_memory_usage>\n<total>${total}</total><used>1 MiB</used></fb_memory_usage>
      <bar1_memory_usage><total>256 MiB</total></bar1_memory_usage></gpu>`
  const xml = `<nvidia_smi_log>${gpu('00000000:41:00.0', 1, 'GPU-bbbb-2', 'N/A')}${gpu('00000000:01:00.0', 0, 'GPU-aaaa-1', '24564 MiB')}</nvidia_smi_log>`
  expect(parseGpus(xml)).toEqual([
    { uuid: 'GPU-aaaa-1', memoryMb: 24_564 },
    { uuid: 'GPU-bbbb-2', memoryMb: undefined },
  ])
  expect(parseGpus('')).toEqual([])
})
