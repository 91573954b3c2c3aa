import { beforeEach, describe, expect, it } from 'vitest'
import {
  type ContainerSpec,
  type LogLine,
  type LogRange,
  maxLogLines,
  maxRead,
} from '../../src/domain/instances/containers.ts'
import { ContainerNotRunning, MachineUnreachable, type Provider } from '../../src/providers/provider.ts'

/** What a driver must be given to be tried. */
export type Bench = {
  /** The driver as a gateway has it that starts now. */
  open: () => Provider
  /** Waits so long that whatever was begun is done. */
  settle: () => Promise<void>
  /** Cuts the machine of `specOf` off, or lets it answer again. */
  setOut: (out: boolean) => Promise<void>
}

type Verb = 'ensure' | 'start' | 'stop' | 'remove'

/** What every driver promises, whatever it runs containers on. */
export function keepsThePort(name: string, benchOf: () => Bench): void {
  let lastId = 1_000n
  let instanceId: bigint
  let bench: Bench

  beforeEach(() => {
    lastId += 1n
    instanceId = lastId
    bench = benchOf()
  })

  const signal = () => AbortSignal.timeout(10_000)

  async function tell(verb: Verb, provider = bench.open()): Promise<void> {
    if (verb === 'ensure') await provider.ensure(specOf(instanceId), signal())
    else await provider[verb](instanceId, signal())
  }

  async function state(provider = bench.open()): Promise<string> {
    return (await provider.observe(instanceId, signal())).state
  }

  /** Everything that was begun is done before the next is told. */
  async function rest(...verbs: Verb[]): Promise<string> {
    for (const verb of verbs) {
      await tell(verb)
      await bench.settle()
    }
    return await state()
  }

  describe(`the ${name} driver`, () => {
    it('sees nothing where nothing was made', async () => {
      expect(await state()).toBe('absent')
    })

    it.each<[Verb]>([['start'], ['stop'], ['remove']])('makes nothing when told to %s what is absent', async verb => {
      await tell(verb)
      expect(await state()).toBe('absent')
      expect(await rest(verb)).toBe('absent')
    })

    it('prepares a container and starts it only when told to', async () => {
      await tell('ensure')
      expect(['preparing', 'prepared']).toContain(await state())
      await bench.settle()
      expect(await state()).toBe('prepared')
      await tell('start')
      expect(['starting', 'running']).toContain(await state())
      await bench.settle()
      expect(await state()).toBe('running')
    })

    it('stops what runs, and starts it again', async () => {
      await rest('ensure', 'start')
      await tell('stop')
      expect(['stopping', 'stopped']).toContain(await state())
      await bench.settle()
      expect(await state()).toBe('stopped')
      expect(await rest('start')).toBe('running')
      expect(await rest('stop')).toBe('stopped')
    })

    it.each<[string, Verb[]]>([
      ['prepared', ['ensure']],
      ['running', ['ensure', 'start']],
      ['stopped', ['ensure', 'start', 'stop']],
      ['absent', ['ensure', 'start', 'remove']],
    ])('comes to be %s the same way when every call is repeated', async (end, verbs) => {
      for (const verb of verbs) {
        await Promise.all([tell(verb), tell(verb)])
        await tell(verb)
        await bench.settle()
        await tell(verb)
      }
      expect(await state()).toBe(end)
      await bench.settle()
      expect(await state()).toBe(end)
    })

    it('leaves what runs alone when told to make it', async () => {
      expect(await rest('ensure', 'start', 'ensure')).toBe('running')
      expect(await rest('stop', 'ensure')).toBe('stopped')
    })

    it('leaves what was never started alone when told to stop it', async () => {
      await tell('ensure')
      await tell('stop')
      expect(['preparing', 'prepared']).toContain(await state())
      await bench.settle()
      expect(await state()).toBe('prepared')
      expect(await rest('stop')).toBe('prepared')
      expect(await rest('start')).toBe('running')
    })

    it('runs nothing whose image is not there yet', async () => {
      await tell('ensure')
      const before = await state()
      await tell('start')
      if (before === 'preparing') expect(await state()).toBe('preparing')
      await bench.settle()
      expect(await rest('start')).toBe('running')
    })

    it('stops what is starting', async () => {
      await rest('ensure')
      await tell('start')
      await tell('stop')
      expect(['stopping', 'stopped']).toContain(await state())
      await bench.settle()
      expect(await state()).toBe('stopped')
    })

    it('starts what is stopping, once it is told to after the stop', async () => {
      await rest('ensure', 'start')
      await tell('stop')
      await tell('start')
      await bench.settle()
      expect(await rest('start')).toBe('running')
    })

    it.each<[string, Verb[]]>([
      ['is being prepared', ['ensure']],
      ['is starting', ['ensure', 'start']],
      ['is stopping', ['ensure', 'start', 'stop']],
    ])('removes what %s', async (_, verbs) => {
      const last = verbs.at(-1) as Verb
      await rest(...verbs.slice(0, -1))
      await tell(last)
      await tell('remove')
      await bench.settle()
      expect(await state()).toBe('absent')
    })

    it('makes a removed container anew, as if there had been none', async () => {
      await rest('ensure', 'start', 'remove')
      expect(await rest('ensure')).toBe('prepared')
    })

    it('shows a gateway that starts what another began', async () => {
      const other = bench.open()
      await tell('ensure', other)
      await bench.settle()
      await tell('start', other)
      await bench.settle()
      const fresh = bench.open()
      expect(await state(fresh)).toBe('running')
      await tell('stop', fresh)
      await bench.settle()
      expect(await state(other)).toBe('stopped')
    })

    describe('told which keys log in', () => {
      async function keys(provider = bench.open()): Promise<string[]> {
        const truth = await provider.observe(instanceId, signal())
        return 'sshKeys' in truth ? truth.sshKeys.toSorted() : []
      }
      const authorise = (sshKeys: string[], provider = bench.open()) =>
        provider.authorise({ instanceId, sshKeys }, signal())
      const [first, second] = ['ssh-ed25519 AAAA', 'ssh-rsa BBBB']

      it.each<[string, Verb[]]>([
        ['is prepared', ['ensure']],
        ['runs', ['ensure', 'start']],
        ['is stopped', ['ensure', 'start', 'stop']],
      ])('shows those that it was made with, then those, while it %s', async (_, verbs) => {
        const before = await rest(...verbs)
        expect(await keys()).toEqual([first])
        for (const wished of [[first, second], [second], []]) {
          await authorise(wished)
          await Promise.all([authorise(wished), authorise(wished)])
          await bench.settle()
          expect(await keys()).toEqual(wished)
          expect(await state()).toBe(before)
        }
      })

      it('keeps them when it is stopped and started, and when it is told once more to be made', async () => {
        await rest('ensure', 'start')
        await authorise([second])
        expect([await rest('stop'), await keys()]).toEqual(['stopped', [second]])
        expect([await rest('start', 'ensure'), await keys()]).toEqual(['running', [second]])
      })

      it('makes nothing where there is nothing', async () => {
        await authorise([first])
        await bench.settle()
        expect(await state()).toBe('absent')
      })

      it('forgets them with the container', async () => {
        await rest('ensure')
        await authorise([first, second])
        expect(await rest('remove', 'ensure')).toBe('prepared')
        expect(await keys()).toEqual([first])
      })

      it('takes those of one container for no other', async () => {
        await rest('ensure')
        const one = instanceId
        lastId += 1n
        instanceId = lastId
        await rest('ensure')
        await authorise([second])
        instanceId = one
        expect(await keys()).toEqual([first])
      })
    })

    describe('asked for the log', () => {
      const logs = (range: LogRange = {}, provider = bench.open()) => provider.logs(instanceId, range, signal())
      const texts = (lines: LogLine[]) => lines.map(({ at, text, source }) => [at.getTime(), text, source])

      it('has none where there is nothing', async () => {
        expect(await logs()).toEqual([])
        expect(await logs({ after: '1.0' })).toEqual([])
      })

      it('tells in order what became of the container, and to every gateway the same', async () => {
        await rest('ensure', 'start')
        const lines = await logs()
        expect(lines.length).toBeGreaterThan(2)
        expect(lines.map(({ at }) => at)).toEqual(lines.map(({ at }) => at).toSorted((a, b) => Number(a) - Number(b)))
        expect(new Set(lines.map(({ cursor }) => cursor)).size).toBe(lines.length)
        expect(await logs({}, bench.open())).toEqual(lines)
      })

      it('goes on behind any cursor without loss or repetition, also over stops and starts', async () => {
        const followed: LogLine[] = []
        const follow = async () => {
          const more = await logs({ after: followed.at(-1)?.cursor, tail: followed.length === 0 ? 1_000 : 2 })
          followed.push(...more)
          if (more.length > 0) await follow()
        }
        for (const verb of ['ensure', 'start', 'stop', 'start', 'start', 'stop'] as const) {
          await tell(verb)
          await follow()
          await bench.settle()
          await follow()
        }
        const whole = await logs()
        expect(texts(followed)).toEqual(texts(whole))
        for (const [index, { cursor }] of whole.entries()) {
          expect(await logs({ after: cursor })).toEqual(whole.slice(index + 1))
        }
      })

      it('gives the last lines, and never more than a page', async () => {
        await rest('ensure', 'start')
        const lines = await logs()
        expect(await logs({ tail: 2 })).toEqual(lines.slice(-2))
        expect(await logs({ tail: 0 })).toEqual([])
        expect(await logs({ tail: 1_000_000 })).toEqual(lines)
        expect(lines.length).toBeLessThanOrEqual(maxLogLines)
      })
    })

    describe('told to run a command', () => {
      const exec = (command: string) => bench.open().exec(instanceId, command, signal())

      it('tells what it printed and how it ended', async () => {
        await rest('ensure', 'start')
        expect(await exec(`echo "a word"  'and another'`)).toEqual({ exitCode: 0, output: 'a word and another\n' })
        expect(await exec('whoami')).toEqual({ exitCode: 0, output: 'root\n' })
        const { exitCode, output } = await exec('no-such-command')
        expect(exitCode).toBe(127)
        expect(output).toContain('no-such-command')
      })

      it('tells of what it printed as much as is read, and no more', async () => {
        await rest('ensure', 'start')
        const { exitCode, output } = await exec(`echo ${'x'.repeat(100_000)}`)
        expect([exitCode, output]).toEqual([0, 'x'.repeat(maxRead)])
      })

      it.each<[string, Verb[]]>([
        ['is not there', []],
        ['was not started', ['ensure']],
        ['is stopped', ['ensure', 'start', 'stop']],
      ])('refuses where the container %s', async (_, verbs) => {
        await rest(...verbs)
        await expect(exec('echo')).rejects.toThrow(ContainerNotRunning)
      })
    })

    const calls: [string, (provider: Provider, signal: AbortSignal) => Promise<unknown>][] = [
      ['observe', (provider, signal) => provider.observe(instanceId, signal)],
      ['ensure', (provider, signal) => provider.ensure(specOf(instanceId), signal)],
      ['authorise', (provider, signal) => provider.authorise({ instanceId, sshKeys: [] }, signal)],
      ['start', (provider, signal) => provider.start(instanceId, signal)],
      ['stop', (provider, signal) => provider.stop(instanceId, signal)],
      ['remove', (provider, signal) => provider.remove(instanceId, signal)],
      ['logs', (provider, signal) => provider.logs(instanceId, {}, signal)],
      ['exec', (provider, signal) => provider.exec(instanceId, 'whoami', signal)],
    ]
    const whole = async () => [
      await bench.open().observe(instanceId, signal()),
      await bench.open().logs(instanceId, {}, signal()),
    ]

    it.each(calls)('says that the machine does not answer when told to %s, and changes nothing', async (_, call) => {
      for (const verbs of [['ensure', 'start'], ['stop']] as Verb[][]) {
        await rest(...verbs)
        const before = await whole()
        await bench.setOut(true)
        await expect(call(bench.open(), signal()))
          .rejects.toThrow(MachineUnreachable)
          .finally(() => bench.setOut(false))
        expect(await whole()).toEqual(before)
      }
    })

    it('makes nothing on a machine that does not answer', async () => {
      await bench.setOut(true)
      await expect(tell('ensure'))
        .rejects.toThrow(MachineUnreachable)
        .finally(() => bench.setOut(false))
      expect(await state()).toBe('absent')
    })

    it.each(calls)('begins nothing when told to %s by somebody who has given up', async (_, call) => {
      await rest('ensure', 'start')
      const before = await whole()
      await expect(call(bench.open(), AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up')
      expect(await whole()).toEqual(before)
    })

    it('keeps instances apart', async () => {
      await rest('ensure', 'start')
      const first = instanceId
      lastId += 1n
      instanceId = lastId
      await rest('ensure')
      await tell('remove')
      instanceId = first
      expect(await state()).toBe('running')
    })
  })
}

export function specOf(instanceId: bigint): ContainerSpec {
  const ports = [{ hostPort: 20_000, containerPort: 22, protocol: 'tcp' as const }]
  const launch = {
    image: 'ubuntu',
    mode: 'sshDirect' as const,
    lab: false,
    directory: null,
    args: [],
    env: [],
    ports: [],
    hostname: null,
    onStart: null,
    sources: {},
  }
  return {
    instanceId,
    machineId: 1,
    gpus: [0],
    diskMb: 8_000,
    launch,
    ports,
    volumes: [],
    registry: undefined,
    sshKeys: ['ssh-ed25519 AAAA'],
    apiKey: 'a key',
  }
}
