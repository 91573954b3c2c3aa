import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSimulatedProvider } from '../../src/providers/simulated/provider.ts'
import { createSimulatedWorld, type RunStatement } from '../../src/providers/simulated/world.ts'
import { manualClock } from '../support/clock.ts'
import { createDatabase, type TestDatabase } from '../support/database/database.ts'
import { containerSpec, testProviderContract } from './provider.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  testDatabase = await createDatabase()
  pool = new pg.Pool({ connectionString: testDatabase.url, max: 2 })
})

afterAll(async () => {
  await pool.end()
  await testDatabase.drop()
})

const query: RunStatement = async (text, values) => (await pool.query({ text, values, rowMode: 'array' })).rows
const createProvider = (delayFactor = 1) =>
  createSimulatedProvider({ world: createSimulatedWorld(query), now: clock.now, delayFactor })

testProviderContract('simulated', () => ({
  createProvider,
  finishPending: async () => clock.advance(60_000),
  async setUnreachable(unreachable) {
    await pool.query('DELETE FROM simulated_outages')
    if (unreachable) await pool.query('INSERT INTO simulated_outages VALUES (1, now())')
  },
}))

const signal = AbortSignal.timeout(60_000)
const onMachine = (instanceId: bigint) => ({ machineId: 1, instanceId, accountId: 1 })
const keys = { sshKeys: containerSpec(0n).sshKeys }

it('announces when the next state comes, and reaches it then', async () => {
  const provider = createProvider()
  await provider.ensure(containerSpec(1n), signal)
  const observed = await provider.observe(onMachine(1n), signal)
  expect(observed).toMatchObject({ state: 'preparing', until: expect.any(Date) })
  const until = 'until' in observed && observed.until ? observed.until : clock.now()
  clock.advance(until.getTime() - clock.now().getTime() - 1)
  expect(await provider.observe(onMachine(1n), signal)).toMatchObject({ state: 'preparing' })
  clock.advance(1)
  expect(await provider.observe(onMachine(1n), signal)).toEqual({ state: 'prepared', ...keys })
})

it('reaches every state at once when its delay factor is 0', async () => {
  const provider = createProvider(0)
  await provider.ensure(containerSpec(2n), signal)
  await provider.start(onMachine(2n), signal)
  expect(await provider.observe(onMachine(2n), signal)).toEqual({ state: 'running', ...keys })
  await provider.stop(onMachine(2n), signal)
  expect(await provider.observe(onMachine(2n), signal)).toEqual({ state: 'stopped', ...keys })
})

it('shows the exit code of a container until it is started again', async () => {
  const provider = createProvider(0)
  await provider.ensure(containerSpec(3n), signal)
  await provider.start(onMachine(3n), signal)
  await pool.query('UPDATE simulated_containers SET exit_code = 137 WHERE instance_id = 3')
  expect(await provider.observe(onMachine(3n), signal)).toEqual({ state: 'exited', exitCode: 137, ...keys })
  await provider.stop(onMachine(3n), signal)
  expect(await provider.observe(onMachine(3n), signal)).toEqual({ state: 'exited', exitCode: 137, ...keys })
  await provider.start(onMachine(3n), signal)
  expect(await provider.observe(onMachine(3n), signal)).toEqual({ state: 'running', ...keys })
})

describe('a simulated image', () => {
  let lastId = 100n
  async function createContainer(image: string, launch: object = {}) {
    const provider = createProvider()
    lastId += 1n
    const instanceId = lastId
    const spec = containerSpec(instanceId)
    await provider.ensure({ ...spec, launch: { ...spec.launch, image, ...launch } }, signal)
    const after = async (seconds: number) => {
      clock.advance(seconds * 1_000)
      return await provider.observe(onMachine(instanceId), signal)
    }
    return {
      after,
      start: async () => await provider.start(onMachine(instanceId), signal),
      stop: async () => await provider.stop(onMachine(instanceId), signal),
      log: async () => (await provider.logs(onMachine(instanceId), {}, signal)).map(({ text }) => text),
      stats: async () => (await provider.stats(1, signal)).find(one => one.instanceId === instanceId),
      exec: async (command: string) => (await provider.exec(onMachine(instanceId), command, signal)).output,
      row: async () =>
        (await pool.query('SELECT * FROM simulated_containers WHERE instance_id = $1', [instanceId])).rows[0],
    }
  }

  it('fails to be pulled or started', async () => {
    const missing = await createContainer('simulated/not-found')
    expect(await missing.after(10)).toMatchObject({ state: 'failed', code: 'IMAGE_PULL_FAILED' })
    await missing.start()
    expect(await missing.after(10)).toMatchObject({ state: 'failed' })
    expect(await missing.log()).toEqual(['Pulling simulated/not-found.', 'There is no image simulated/not-found.'])
    const broken = await createContainer('simulated/no-start')
    await broken.after(60)
    await broken.start()
    expect(await broken.after(0)).toMatchObject({ state: 'starting' })
    expect(await broken.after(10)).toMatchObject({ state: 'failed', code: 'START_FAILED' })
  })

  it('can be slow to pull, to start or to stop', async () => {
    const slow = await createContainer('simulated/slow-pull:100')
    expect(await slow.after(99)).toMatchObject({ state: 'preparing' })
    expect(await slow.after(1)).toMatchObject({ state: 'prepared' })
    const stopping = await createContainer('simulated/slow-stop:100')
    await stopping.after(60)
    await stopping.start()
    await stopping.after(60)
    await stopping.stop()
    expect(await stopping.after(99)).toMatchObject({ state: 'stopping' })
    expect(await stopping.after(1)).toMatchObject({ state: 'stopped' })
    const starting = await createContainer('simulated/slow-start:100')
    await starting.after(60)
    await starting.start()
    expect(await starting.after(99)).toMatchObject({ state: 'starting' })
    expect(await starting.after(1)).toMatchObject({ state: 'running' })
  })

  it.each([
    ['simulated/crash:30', 33, 1],
    ['simulated/exit:7', 8, 7],
  ])('exits after each start (%s) unless it is stopped first', async (image, seconds, exitCode) => {
    const ending = await createContainer(image)
    await ending.after(60)
    for (let run = 1; run <= 2; run += 1) {
      await ending.start()
      expect(await ending.after(seconds - 1)).toMatchObject({ state: 'running' })
      expect(await ending.after(1)).toMatchObject({ state: 'exited', exitCode, endedAt: clock.now() })
      expect((await ending.log()).at(-1)).toBe(`The container exited with code ${exitCode}.`)
    }
    await ending.start()
    await ending.after(4)
    await ending.stop()
    expect(await ending.after(100)).toMatchObject({ state: 'stopped' })
    expect((await ending.log()).at(-1)).toBe('The container is down.')
  })

  it('prints the echo commands of onstart, and the GPU load each minute', async () => {
    const launch = { onStart: 'echo "hello $WHO $TOKEN"\npip install x\nhostname', hostname: 'box' }
    const env = [
      { name: 'WHO', value: 'world' },
      { name: 'TOKEN', value: 'a secret value', secret: true },
    ]
    const running = await createContainer('ubuntu', { ...launch, env })
    await running.after(60)
    await running.start()
    await running.after(183)
    const log = await running.log()
    expect(log.slice(log.indexOf('The container is up.'))).toEqual([
      ...['The container is up.', 'SSH listens on port 22', 'Running onstart', 'hello world ***', 'box'],
      ...Array.from({ length: 3 }, () => expect.stringMatching(/^GPU 0: \d\d % busy$/)),
    ])
    expect(await running.exec('env')).toBe('HOME=/root\nHOSTNAME=box\nWHO=world\nTOKEN=***\n')
    expect(await running.exec('cat /etc/hostname')).toBe('box\n')
    expect(await running.exec('ls')).toBe('onstart.sh\n')
    expect(await running.exec('nvidia-smi')).toContain('GPU 0')
    expect(await running.exec('du -sh .')).toMatch(/^\d+\t\.\n$/)
    expect(JSON.stringify(await running.row())).not.toContain('a secret value')
    expect(JSON.stringify(await running.row())).not.toContain('a key')
  })

  it.each(['ubuntu', 'simulated/idle'])('uses its GPUs as its log says (%s)', async image => {
    const running = await createContainer(image)
    await running.after(60)
    await running.start()
    await running.after(3)
    for (let minute = 0; minute < 5; minute += 1) {
      await running.after(60)
      const busy = (await running.stats())?.gpus[0]?.utilization
      expect((await running.log()).at(-1)).toBe(`GPU 0: ${busy} % busy`)
      if (image === 'simulated/idle') expect(busy).toBe(0)
    }
  })

  it('keeps a bounded log over long runs and many starts', async () => {
    const busy = await createContainer('ubuntu', { onStart: 'x\n'.repeat(2_000).replaceAll('x', 'echo x') })
    await busy.after(60)
    for (let run = 1; run <= 6; run += 1) {
      await busy.start()
      await busy.after(30 * 24 * 3_600)
      await busy.stop()
      await busy.after(60)
    }
    expect((await busy.row()).log.length).toBe(500)
    expect((await busy.log()).length).toBe(1_000)
  })
})

describe('a call that is aborted while it runs', () => {
  const verbs = ['ensure', 'setSshKeys', 'start', 'stop', 'remove'] as const

  it.each(verbs)('does nothing afterwards: %s', async verb => {
    const instanceId = 900n + BigInt(verbs.indexOf(verb))
    const controller = new AbortController()
    const world = createSimulatedWorld(query)
    const giveUp = () => controller.abort(new Error('given up'))
    const slow = createSimulatedProvider({
      world: {
        ...world,
        find: id => world.find(id).finally(giveUp),
        isMachineOut: id => world.isMachineOut(id).finally(giveUp),
      },
      now: clock.now,
      delayFactor: 0,
    })
    const provider = createProvider(0)
    if (verb !== 'ensure') await provider.ensure(containerSpec(instanceId), signal)
    if (verb === 'stop') await provider.start(onMachine(instanceId), signal)
    const before = await provider.observe(onMachine(instanceId), signal)
    const calls = {
      ensure: () => slow.ensure(containerSpec(instanceId), controller.signal),
      setSshKeys: () => slow.setSshKeys(onMachine(instanceId), [], controller.signal),
      start: () => slow.start(onMachine(instanceId), controller.signal),
      stop: () => slow.stop(onMachine(instanceId), controller.signal),
      remove: () => slow.remove(onMachine(instanceId), controller.signal),
    }
    await expect(calls[verb]()).rejects.toThrow('given up')
    expect(await provider.observe(onMachine(instanceId), signal)).toEqual(before)
  })
})
