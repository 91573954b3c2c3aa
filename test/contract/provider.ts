import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  type ContainerRef,
  type ContainerSpec,
  type LogLine,
  type LogRange,
  maxLogLines,
  maxReadLength,
} from '../../src/domain/instances/containers.ts'
import {
  ContainerNotRunning,
  MachineUnreachable,
  PortRefused,
  type ProcessSpec,
  type Provider,
} from '../../src/providers/provider.ts'

/** What the contract needs to test a provider. */
export type ProviderHarness = {
  /** Creates the provider as a newly started gateway does. */
  createProvider: () => Provider
  /** Waits until every pending step is done. */
  finishPending: () => Promise<void>
  /** Makes the machine of `containerSpec` unreachable, or reachable again. */
  setUnreachable: (unreachable: boolean) => Promise<void>
  /** Makes `containerSpec` one that the provider can run. */
  adaptSpec?: (spec: ContainerSpec) => ContainerSpec
}

type ProviderCommand = 'ensure' | 'start' | 'stop' | 'remove'

/** The contract of every provider, independent of what it runs containers on. */
export function testProviderContract(name: string, createHarness: () => ProviderHarness): void {
  let lastId = 1_000n
  let instanceId: bigint
  let harness: ProviderHarness

  beforeEach(() => {
    lastId += 1n
    instanceId = lastId
    harness = createHarness()
  })

  const signal = () => AbortSignal.timeout(10_000)
  const spec = () => (harness.adaptSpec ?? (one => one))(containerSpec(instanceId))
  const container = (): ContainerRef => ({ machineId: 1, instanceId, accountId: 1 })

  async function sendCommand(verb: ProviderCommand, provider = harness.createProvider()): Promise<void> {
    if (verb === 'ensure') await provider.ensure(spec(), signal())
    else await provider[verb](container(), signal())
  }

  async function readState(provider = harness.createProvider()): Promise<string> {
    return (await provider.observe(container(), signal())).state
  }

  /** Sends the commands in order, each after the one before it is done. */
  async function sendAndFinish(...verbs: ProviderCommand[]): Promise<string> {
    for (const verb of verbs) {
      await sendCommand(verb)
      await harness.finishPending()
    }
    return await readState()
  }

  describe(`the ${name} provider`, () => {
    it('observes no container before one is created', async () => {
      expect(await readState()).toBe('absent')
    })

    it.each<[ProviderCommand]>([['start'], ['stop'], ['remove']])(
      'creates nothing when told to %s an absent container',
      async verb => {
        await sendCommand(verb)
        expect(await readState()).toBe('absent')
        expect(await sendAndFinish(verb)).toBe('absent')
      },
    )

    it('prepares a container and starts it only on command', async () => {
      await sendCommand('ensure')
      expect(['preparing', 'prepared']).toContain(await readState())
      await harness.finishPending()
      expect(await readState()).toBe('prepared')
      await sendCommand('start')
      expect(['starting', 'running']).toContain(await readState())
      await harness.finishPending()
      expect(await readState()).toBe('running')
    })

    it('stops a running container and starts it again', async () => {
      await sendAndFinish('ensure', 'start')
      await sendCommand('stop')
      expect(['stopping', 'stopped']).toContain(await readState())
      await harness.finishPending()
      expect(await readState()).toBe('stopped')
      expect(await sendAndFinish('start')).toBe('running')
      expect(await sendAndFinish('stop')).toBe('stopped')
    })

    it.each<[string, ProviderCommand[]]>([
      ['prepared', ['ensure']],
      ['running', ['ensure', 'start']],
      ['stopped', ['ensure', 'start', 'stop']],
      ['absent', ['ensure', 'start', 'remove']],
    ])('reaches the state %s when every call is repeated', async (end, verbs) => {
      for (const verb of verbs) {
        await Promise.all([sendCommand(verb), sendCommand(verb)])
        await sendCommand(verb)
        await harness.finishPending()
        await sendCommand(verb)
      }
      expect(await readState()).toBe(end)
      await harness.finishPending()
      expect(await readState()).toBe(end)
    })

    it('leaves a running or stopped container alone on ensure', async () => {
      expect(await sendAndFinish('ensure', 'start', 'ensure')).toBe('running')
      expect(await sendAndFinish('stop', 'ensure')).toBe('stopped')
    })

    it('leaves a container that was never started alone on stop', async () => {
      await sendCommand('ensure')
      await sendCommand('stop')
      expect(['preparing', 'prepared']).toContain(await readState())
      await harness.finishPending()
      expect(await readState()).toBe('prepared')
      expect(await sendAndFinish('stop')).toBe('prepared')
      expect(await sendAndFinish('start')).toBe('running')
    })

    it('starts no container while its image is being pulled', async () => {
      await sendCommand('ensure')
      const before = await readState()
      await sendCommand('start')
      if (before === 'preparing') expect(await readState()).toBe('preparing')
      await harness.finishPending()
      expect(await sendAndFinish('start')).toBe('running')
    })

    it('stops a starting container', async () => {
      await sendAndFinish('ensure')
      await sendCommand('start')
      await sendCommand('stop')
      expect(['stopping', 'stopped']).toContain(await readState())
      await harness.finishPending()
      expect(await readState()).toBe('stopped')
    })

    it('starts a stopping container when the start is repeated after the stop', async () => {
      await sendAndFinish('ensure', 'start')
      await sendCommand('stop')
      await sendCommand('start')
      await harness.finishPending()
      expect(await sendAndFinish('start')).toBe('running')
    })

    it.each<[string, ProviderCommand[]]>([
      ['is being prepared', ['ensure']],
      ['is starting', ['ensure', 'start']],
      ['is stopping', ['ensure', 'start', 'stop']],
    ])('removes a container that %s', async (_, verbs) => {
      const last = verbs.at(-1) as ProviderCommand
      await sendAndFinish(...verbs.slice(0, -1))
      await sendCommand(last)
      await sendCommand('remove')
      await harness.finishPending()
      expect(await readState()).toBe('absent')
    })

    it('creates a removed container again from scratch', async () => {
      await sendAndFinish('ensure', 'start', 'remove')
      expect(await sendAndFinish('ensure')).toBe('prepared')
    })

    it('shows a new gateway the container that another one started', async () => {
      const other = harness.createProvider()
      await sendCommand('ensure', other)
      await harness.finishPending()
      await sendCommand('start', other)
      await harness.finishPending()
      const fresh = harness.createProvider()
      expect(await readState(fresh)).toBe('running')
      await sendCommand('stop', fresh)
      await harness.finishPending()
      expect(await readState(other)).toBe('stopped')
    })

    describe('with SSH keys', () => {
      async function readKeys(provider = harness.createProvider()): Promise<string[]> {
        const observed = await provider.observe(container(), signal())
        return 'sshKeys' in observed ? observed.sshKeys.toSorted() : []
      }
      const setSshKeys = (sshKeys: string[], provider = harness.createProvider()) =>
        provider.setSshKeys(container(), sshKeys, signal())
      const [first, second] = ['ssh-ed25519 AAAA', 'ssh-rsa BBBB']

      it.each<[string, ProviderCommand[]]>([
        ['is prepared', ['ensure']],
        ['runs', ['ensure', 'start']],
        ['is stopped', ['ensure', 'start', 'stop']],
      ])('observes the initial keys and then the ones set, while the container %s', async (_, verbs) => {
        const before = await sendAndFinish(...verbs)
        expect(await readKeys()).toEqual([first])
        for (const desiredKeys of [[first, second], [second], []]) {
          await setSshKeys(desiredKeys)
          await Promise.all([setSshKeys(desiredKeys), setSshKeys(desiredKeys)])
          await harness.finishPending()
          expect(await readKeys()).toEqual(desiredKeys)
          expect(await readState()).toBe(before)
        }
      })

      it('keeps the keys over stop, start and a repeated ensure', async () => {
        await sendAndFinish('ensure', 'start')
        await setSshKeys([second])
        expect([await sendAndFinish('stop'), await readKeys()]).toEqual(['stopped', [second]])
        expect([await sendAndFinish('start', 'ensure'), await readKeys()]).toEqual(['running', [second]])
      })

      it('creates no container to set keys', async () => {
        await setSshKeys([first])
        await harness.finishPending()
        expect(await readState()).toBe('absent')
      })

      it('forgets the set keys when the container is removed', async () => {
        await sendAndFinish('ensure')
        await setSshKeys([first, second])
        expect(await sendAndFinish('remove', 'ensure')).toBe('prepared')
        expect(await readKeys()).toEqual([first])
      })

      it('sets keys for one container only', async () => {
        await sendAndFinish('ensure')
        const one = instanceId
        lastId += 1n
        instanceId = lastId
        await sendAndFinish('ensure')
        await setSshKeys([second])
        instanceId = one
        expect(await readKeys()).toEqual([first])
      })
    })

    describe('reading the log', () => {
      const logs = (range: LogRange = {}, provider = harness.createProvider()) =>
        provider.logs(container(), range, signal())
      const texts = (lines: LogLine[]) =>
        lines.map(({ printedAt, text, source }) => [printedAt.getTime(), text, source])

      it('returns no lines without a container', async () => {
        expect(await logs()).toEqual([])
        expect(await logs({ after: '1.0' })).toEqual([])
      })

      it('returns the lines in order, the same to every gateway', async () => {
        await sendAndFinish('ensure', 'start')
        const lines = await logs()
        expect(lines.length).toBeGreaterThan(2)
        expect(lines.map(({ printedAt }) => printedAt)).toEqual(
          lines.map(({ printedAt }) => printedAt).toSorted((a, b) => Number(a) - Number(b)),
        )
        expect(new Set(lines.map(({ cursor }) => cursor)).size).toBe(lines.length)
        expect(await logs({}, harness.createProvider())).toEqual(lines)
      })

      it('continues after any cursor without loss or repetition, even over stops and starts', async () => {
        const followed: LogLine[] = []
        const follow = async () => {
          const more = await logs({ after: followed.at(-1)?.cursor, tail: followed.length === 0 ? 1_000 : 2 })
          followed.push(...more)
          if (more.length > 0) await follow()
        }
        for (const verb of ['ensure', 'start', 'stop', 'start', 'start', 'stop'] as const) {
          await sendCommand(verb)
          await follow()
          await harness.finishPending()
          await follow()
        }
        const readEverything = await logs()
        expect(texts(followed)).toEqual(texts(readEverything))
        for (const [index, { cursor }] of readEverything.entries()) {
          expect(await logs({ after: cursor })).toEqual(readEverything.slice(index + 1))
        }
      })

      it('returns the last lines, at most a page', async () => {
        await sendAndFinish('ensure', 'start')
        const lines = await logs()
        expect(await logs({ tail: 2 })).toEqual(lines.slice(-2))
        expect(await logs({ tail: 0 })).toEqual([])
        expect(await logs({ tail: 1_000_000 })).toEqual(lines)
        expect(lines.length).toBeLessThanOrEqual(maxLogLines)
      })
    })

    describe('running a command', () => {
      const exec = (command: string) => harness.createProvider().exec(container(), command, signal())

      it('returns its output and exit code', async () => {
        await sendAndFinish('ensure', 'start')
        expect(await exec(`echo "a word"  'and another'`)).toEqual({ exitCode: 0, output: 'a word and another\n' })
        expect(await exec('whoami')).toEqual({ exitCode: 0, output: 'root\n' })
        const { exitCode, output } = await exec('no-such-command')
        expect(exitCode).toBe(127)
        expect(output).toContain('no-such-command')
      })

      it('truncates its output at the read limit', async () => {
        await sendAndFinish('ensure', 'start')
        const { exitCode, output } = await exec(`echo ${'x'.repeat(100_000)}`)
        expect([exitCode, output]).toEqual([0, 'x'.repeat(maxReadLength)])
      })

      it.each<[string, ProviderCommand[]]>([
        ['is absent', []],
        ['was not started', ['ensure']],
        ['is stopped', ['ensure', 'start', 'stop']],
      ])('fails when the container %s', async (_, verbs) => {
        await sendAndFinish(...verbs)
        await expect(exec('echo')).rejects.toThrow(ContainerNotRunning)
      })
    })

    describe('beginning a process', () => {
      const begin = (process: ProcessSpec) => harness.createProvider().open(container(), process, signal())

      it('streams its output apart from its errors, and tells its exit code', async () => {
        await sendAndFinish('ensure', 'start')
        const { stdin, stdout, exitCode } = await begin({ command: 'echo hello', terminal: null })
        stdin.end()
        expect(await text(stdout)).toBe('hello\n')
        expect(await exitCode).toBe(0)
        const failed = await begin({ command: 'no-such-command', terminal: null })
        failed.stdin.end()
        expect(await Promise.all([text(failed.stdout), text(failed.stderr)])).toEqual([
          '',
          expect.stringContaining('no-such-command'),
        ])
        expect(await failed.exitCode).toBe(127)
      })

      it('ends lines for a terminal', async () => {
        await sendAndFinish('ensure', 'start')
        const terminal = { type: 'xterm', columns: 80, rows: 24 }
        const { stdout, resize, exitCode } = await begin({ command: 'echo hello', terminal })
        await resize({ columns: 100, rows: 40 })
        expect(await text(stdout)).toBe('hello\r\n')
        expect(await exitCode).toBe(0)
      })

      it('is refused when the container is stopped', async () => {
        await sendAndFinish('ensure', 'start', 'stop')
        await expect(begin({ command: null, terminal: null })).rejects.toThrow(ContainerNotRunning)
        await expect(harness.createProvider().connect(container(), 22, signal())).rejects.toThrow(ContainerNotRunning)
      })

      it('does not connect to a port on which nothing listens', async () => {
        await sendAndFinish('ensure', 'start')
        await expect(harness.createProvider().connect(container(), 9, signal())).rejects.toThrow(PortRefused)
      })
    })

    it('lists the containers of a machine', async () => {
      const listed = async () => (await harness.createProvider().inventory(1, signal())).instanceIds
      await sendAndFinish('ensure', 'start')
      expect(await listed()).toContain(instanceId)
      await sendAndFinish('stop')
      expect(await listed()).toContain(instanceId)
      await sendAndFinish('remove')
      expect(await listed()).not.toContain(instanceId)
    })

    it('says what the running containers of a machine use', async () => {
      const used = async () => {
        const stats = await harness.createProvider().stats(1, signal())
        return stats.filter(one => one.instanceId === instanceId)
      }
      expect(await used()).toEqual([])
      await sendAndFinish('ensure')
      expect(await used()).toEqual([])
      await sendAndFinish('start')
      expect(await used()).toEqual([expect.objectContaining({ instanceId, sentBytes: expect.any(Number) })])
      await sendAndFinish('stop')
      expect(await used()).toEqual([])
    })

    it('watches a machine until it is told to stop', async () => {
      const watching = new AbortController()
      const watched = harness.createProvider().watch(1, () => {}, watching.signal)
      await sendAndFinish('ensure', 'start')
      watching.abort()
      await watched
    })

    const calls: [string, (provider: Provider, signal: AbortSignal) => Promise<unknown>][] = [
      ['observe', (provider, signal) => provider.observe(container(), signal)],
      ['ensure', (provider, signal) => provider.ensure(spec(), signal)],
      ['setSshKeys', (provider, signal) => provider.setSshKeys(container(), [], signal)],
      ['start', (provider, signal) => provider.start(container(), signal)],
      ['stop', (provider, signal) => provider.stop(container(), signal)],
      ['remove', (provider, signal) => provider.remove(container(), signal)],
      ['logs', (provider, signal) => provider.logs(container(), {}, signal)],
      ['exec', (provider, signal) => provider.exec(container(), 'whoami', signal)],
      ['open', (provider, signal) => provider.open(container(), { command: 'whoami', terminal: null }, signal)],
      ['connect', (provider, signal) => provider.connect(container(), 22, signal)],
      ['stats', (provider, signal) => provider.stats(1, signal)],
      ['inventory', (provider, signal) => provider.inventory(1, signal)],
      ['removeVolume', (provider, signal) => provider.removeVolume(1, 1n, signal)],
      ['watch', (provider, signal) => provider.watch(1, () => {}, signal)],
    ]
    const readAll = async () => [
      await harness.createProvider().observe(container(), signal()),
      await harness.createProvider().logs(container(), {}, signal()),
    ]

    it('reports an unreachable machine on every call, and changes nothing', async () => {
      for (const verbs of [['ensure', 'start'], ['stop']] as ProviderCommand[][]) {
        await sendAndFinish(...verbs)
        const before = await readAll()
        for (const [name, call] of calls) {
          await harness.setUnreachable(true)
          await expect(call(harness.createProvider(), signal()), name)
            .rejects.toThrow(MachineUnreachable)
            .finally(() => harness.setUnreachable(false))
          expect(await readAll(), name).toEqual(before)
        }
      }
    })

    it('creates nothing on an unreachable machine', async () => {
      await harness.setUnreachable(true)
      await expect(sendCommand('ensure'))
        .rejects.toThrow(MachineUnreachable)
        .finally(() => harness.setUnreachable(false))
      expect(await readState()).toBe('absent')
    })

    it('does nothing on any call when the signal is already aborted', async () => {
      await sendAndFinish('ensure', 'start')
      const before = await readAll()
      for (const [name, call] of calls) {
        const aborted = AbortSignal.abort(new Error('given up'))
        await expect(call(harness.createProvider(), aborted), name).rejects.toThrow('given up')
        expect(await readAll(), name).toEqual(before)
      }
    })

    it('keeps the containers of two instances apart', async () => {
      await sendAndFinish('ensure', 'start')
      const first = instanceId
      lastId += 1n
      instanceId = lastId
      await sendAndFinish('ensure')
      await sendCommand('remove')
      instanceId = first
      expect(await readState()).toBe('running')
    })
  })
}

export function containerSpec(instanceId: bigint): ContainerSpec {
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
    accountId: 1,
    vm: false,
    machineId: 1,
    gpus: [0],
    diskMb: 8_000,
    share: null,
    launch,
    ports,
    volumes: [],
    registry: undefined,
    sshKeys: ['ssh-ed25519 AAAA'],
    apiKey: 'a key',
  }
}
