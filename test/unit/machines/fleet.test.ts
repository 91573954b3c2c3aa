import { beforeEach, describe, expect, it } from 'vitest'
import type { MachineEngine } from '../../../src/domain/machines/engines.ts'
import { createFleet } from '../../../src/providers/fleet.ts'
import { MachineUnreachable, type Provider } from '../../../src/providers/provider.ts'
import { containerSpec } from '../../contract/provider.ts'

const engine: MachineEngine = { url: 'unix:///run/engine.sock', tls: null, mark: '1f', gpuAccess: 'none', gpuUuids: [] }
const signal = new AbortController().signal

let asked: string[]
let failure: Error | undefined
let time: number
/** The engines as they are, and as they were when the fleet last read all of them. */
let engines: Map<number, MachineEngine>
let recent: Map<number, MachineEngine>

function driver(name: string): Provider {
  return new Proxy({} as Provider, {
    get: (_, call) => {
      // What has `then` is taken for a promise.
      if (call === 'then') return undefined
      return async () => {
        asked.push(`${name} ${String(call)}`)
        if (failure) throw failure
        return { state: 'running' }
      }
    },
  })
}

const fleet = () =>
  createFleet({
    ...{ simulated: driver('simulated'), docker: driver('docker'), agent: driver('agent'), now: () => time },
    engines: { all: async () => recent, current: async id => engines.get(id) },
  })

beforeEach(() => {
  asked = []
  failure = undefined
  time = 0
  engines = new Map([[2, engine]])
  recent = new Map(engines)
})

it('asks the driver of the machine', async () => {
  const { observe, exec, inventory } = fleet()
  await observe({ machineId: 1, instanceId: 7n, accountId: 1 }, signal)
  await exec({ machineId: 2, instanceId: 8n, accountId: 1 }, 'ls', signal)
  await inventory(2, signal)
  expect(asked).toEqual(['simulated observe', 'docker exec', 'docker inventory'])
})

it('asks the agent of a host whose engine has no address', async () => {
  const connected = { ...engine, url: null }
  engines.set(3, connected)
  recent.set(3, connected)
  await fleet().observe({ machineId: 3, instanceId: 9n, accountId: 1 }, signal)
  await fleet().ensure({ ...containerSpec(9n), machineId: 3 }, signal)
  expect(asked).toEqual(['agent observe', 'agent ensure'])
})

it('makes a container where the machine is connected now', async () => {
  recent = new Map()
  await fleet().ensure({ ...containerSpec(7n), machineId: 2 }, signal)
  engines = new Map()
  recent = new Map([[2, engine]])
  await fleet().ensure({ ...containerSpec(7n), machineId: 2 }, signal)
  expect(asked).toEqual(['docker ensure', 'simulated ensure'])
})

describe('a machine that did not answer', () => {
  const container = { machineId: 2, instanceId: 7n, accountId: 1 }

  it.each([
    ['its engine is out of reach', () => new MachineUnreachable('It is off.'), signal],
    ['a call took too long', () => new Error('aborted'), AbortSignal.abort(new DOMException('', 'TimeoutError'))],
  ])('is not asked again for two seconds: %s', async (_, makeFailure, callSignal) => {
    const { observe, start } = fleet()
    failure = makeFailure()
    await expect(observe(container, callSignal)).rejects.toThrow(failure)
    failure = undefined
    time = 1_999
    await expect(start(container, signal)).rejects.toThrow(MachineUnreachable)
    expect(asked).toHaveLength(1)
    time = 2_000
    await start(container, signal)
    expect(asked).toHaveLength(2)
  })

  it('is asked again at once if its host was not connected', async () => {
    recent.set(2, { ...engine, url: null })
    const { observe } = fleet()
    failure = new MachineUnreachable('It is not connected.')
    await expect(observe(container, signal)).rejects.toThrow(failure)
    failure = undefined
    await observe(container, signal)
  })

  it.each([
    new MachineUnreachable('The engine lost the connection to a process.'),
    new DOMException('A process took too long.', 'TimeoutError'),
  ])('is no machine whose renter runs a program that fails: %s', async thrown => {
    const { exec, open, connect, observe } = fleet()
    failure = thrown
    const late = AbortSignal.abort(new DOMException('', 'TimeoutError'))
    await expect(exec(container, 'sleep 60', late)).rejects.toThrow(thrown)
    await expect(open(container, { command: null, terminal: null }, late)).rejects.toThrow(thrown)
    await expect(connect(container, 80, late)).rejects.toThrow(thrown)
    failure = undefined
    expect(await observe(container, signal)).toEqual({ state: 'running' })
  })

  it('delays no other machine, and a call that was refused silences none', async () => {
    const { observe, start } = fleet()
    failure = new MachineUnreachable('It is off.')
    await expect(observe(container, signal)).rejects.toThrow(failure)
    failure = new Error('No.')
    engines.set(3, engine)
    recent.set(3, engine)
    await expect(start({ ...container, machineId: 3 }, signal)).rejects.toThrow('No.')
    failure = undefined
    await observe({ ...container, machineId: 3 }, signal)
    await observe({ ...container, machineId: 1 }, signal)
  })
})
