import pino from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDockerProvider } from '../../../src/providers/docker/provider.ts'
import { parseGpuStats } from '../../../src/providers/docker/stats/gpus.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { type FakeEngine, startFakeEngine } from '../../support/engine/fake-engine.ts'

const begin = Date.parse('2026-11-26T10:00:00Z')
const gpuUuids = ['GPU-aa', 'GPU-bb', 'GPU-cc']
let engine: FakeEngine
let driver: Provider
let time: number

const signal = () => AbortSignal.timeout(5_000)
const read = () => driver.stats(1, signal())

beforeEach(async () => {
  engine = await startFakeEngine()
  time = begin
  driver = createDockerProvider({
    engineOf: async () => ({ url: engine.url, tls: null, mark: 'm', gpuAccess: 'nvidia', gpuUuids }),
    readToolbox: () => Promise.reject(new Error('nothing is made')),
    log: pino({ level: 'silent' }),
    now: () => new Date(time),
  })
  engine.state.answers['/containers/json'] = (query: URLSearchParams) => [
    { ...container('a1', '7', '2,0'), ...(query.has('size') && { SizeRw: 5_000 }) },
    container('b2', '8', ''),
  ]
  engine.state.answers['/containers/a1/stats'] = stats(0, 1_000_000_000)
  engine.state.answers['/containers/b2/stats'] = { read: '0001-01-01T00:00:00Z' }
})

afterEach(() => engine.stop())

function container(id: string, instanceId: string, gpus: string, phase = '') {
  const labels = { 'berth.mark': 'm', 'berth.instance': instanceId, 'berth.gpus': gpus }
  return { Id: id, Names: [`/berth-m-${instanceId}${phase}`], Labels: labels }
}

function stats(afterMs: number, usedNs: number) {
  return {
    read: new Date(begin + afterMs).toISOString(),
    cpu_stats: { cpu_usage: { total_usage: usedNs } },
    memory_stats: { usage: 900, stats: { inactive_file: 100, cache: 300 } },
    networks: { eth0: { rx_bytes: 10, tx_bytes: 1 }, eth1: { rx_bytes: 20, tx_bytes: 2 } },
  }
}

describe('the Docker driver', () => {
  it('reads what the containers of a machine use', async () => {
    engine.state.output = 'GPU-aa, 31, 1024\nGPU-cc, 97, 20480\n'
    expect(await read()).toEqual([
      {
        ...{ instanceId: 7n, cpuCores: null, memoryBytes: 800, diskBytes: null, receivedBytes: 30, sentBytes: 3 },
        gpus: [
          { utilization: 97, memoryMb: 20_480 },
          { utilization: 31, memoryMb: 1_024 },
        ],
      },
      {
        ...{ instanceId: 8n, cpuCores: null, memoryBytes: null, diskBytes: null },
        ...{ receivedBytes: null, sentBytes: null, gpus: [] },
      },
    ])
    expect(engine.asked).toContain('/containers/a1/stats?stream=false&one-shot=true')
  })

  it('computes the CPU cores in use from the time before', async () => {
    const cores = async (afterMs: number, usedNs: number) => {
      engine.state.answers['/containers/a1/stats'] = stats(afterMs, usedNs)
      return (await read())[0]?.cpuCores
    }
    expect(await cores(0, 1_000_000_000)).toBe(null)
    expect(await cores(10_000, 16_000_000_000)).toBe(1.5)
    // It was started again.
    expect(await cores(20_000, 1_000_000)).toBe(null)
    expect(await cores(30_000, 1_000_000)).toBe(0)
    // The gateway was busy with something else for too long.
    expect(await cores(300_000, 2_000_000)).toBe(null)
  })

  it('measures disks in the background, every five minutes', async () => {
    const sizes = () => engine.asked.filter(one => one.includes('size=1')).length
    await read()
    await expect.poll(async () => (await read())[0]?.diskBytes).toBe(5_000)
    expect((await read())[1]?.diskBytes).toBe(0)
    expect(sizes()).toBe(1)
    time += 300_000
    await read()
    await expect.poll(sizes).toBe(2)
  })

  it('leaves out containers that are made, that stop, or that end meanwhile', async () => {
    engine.state.answers['/containers/json'] = [
      ...[container('a1', '7', '', '-making'), container('b2', '8', '', '-stopping'), container('c3', '9', '')],
    ]
    expect(await read()).toEqual([])
  })

  it('does not ask a container for its GPUs again at once that cannot say', async () => {
    const execs = () => engine.asked.filter(one => one.startsWith('/containers/a1/exec')).length
    engine.state.output = 'exec: nvidia-smi: not found'
    const unknown = [
      { utilization: null, memoryMb: null },
      { utilization: null, memoryMb: null },
    ]
    expect((await read())[0]?.gpus).toEqual(unknown)
    expect((await read())[0]?.gpus).toEqual(unknown)
    expect(execs()).toBe(1)
    time += 300_000
    await read()
    expect(execs()).toBe(2)
  })

  it('fails if the engine does not answer', async () => {
    await engine.stop()
    await expect(read()).rejects.toThrow('The engine of the machine cannot be reached.')
    engine = await startFakeEngine()
  })
})

it.each([
  ['GPU-AA, 5, 10', 5, 10],
  ['GPU-aa, [N/A], 10', null, 10],
  ['GPU-aa, 101, -1', null, null],
  ['GPU-aa, 1e1, 99999999999', null, null],
  ['GPU-aa', null, null],
  ['', null, null],
])('reads %j of a GPU as %s and %s', (output, utilization, memoryMb) => {
  expect(parseGpuStats(output, ['GPU-aa'])).toEqual([{ utilization, memoryMb }])
})
