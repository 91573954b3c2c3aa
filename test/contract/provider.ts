import { beforeEach, describe, expect, it } from 'vitest'
import type { ContainerSpec } from '../../src/domain/containers.ts'
import type { Provider } from '../../src/providers/provider.ts'

/** What a driver must be given to be tried. */
export type Bench = {
  /** The driver as a gateway has it that starts now. */
  open: () => Provider
  /** Waits so long that whatever was begun is done. */
  settle: () => Promise<void>
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
