import { onTestFinished } from 'vitest'
import type { ContainerSpec, Observed } from '../../../src/domain/instances/containers.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { containerSpec } from '../../contract/provider.ts'
import { runnableSpec, settle } from './driver.ts'
import type { TestEngine } from './engine.ts'

type Changes = Omit<Partial<ContainerSpec>, 'launch'> & { launch?: Partial<ContainerSpec['launch']> }
export type Rental = ReturnType<typeof createRental>

let lastId = 5_000n

/** A container of the driver, which is removed when the test ends. */
export function createRental(engine: TestEngine, provider: Provider, { launch, ...changes }: Changes = {}) {
  lastId += 1n
  const base = runnableSpec(engine, containerSpec(lastId))
  const spec = { ...base, ...changes, launch: { ...base.launch, ...launch } }
  const ref = { machineId: 1, instanceId: spec.instanceId, accountId: spec.accountId }
  const signal = () => AbortSignal.timeout(20_000)
  onTestFinished(() => provider.remove(ref, signal()))
  return {
    spec,
    ref,
    prepare: async (): Promise<Observed> => {
      await provider.ensure(spec, signal())
      return await settle(provider, ref)
    },
    start: async (): Promise<Observed> => {
      await provider.start(ref, signal())
      return await settle(provider, ref)
    },
    stop: async (): Promise<Observed> => {
      await provider.stop(ref, signal())
      return await settle(provider, ref)
    },
    remove: () => provider.remove(ref, signal()),
    observe: (gateway = provider) => gateway.observe(ref, signal()),
    settle: () => settle(provider, ref),
    /** The output of a command. */
    exec: async (command: string) => (await provider.exec(ref, command, signal())).output.trim(),
    open: (command: string | null, terminal = false) =>
      provider.open(ref, { command, terminal: terminal ? { type: 'xterm', columns: 80, rows: 24 } : null }, signal()),
    connect: (port: number) => provider.connect(ref, port, signal()),
    logTexts: async () => (await provider.logs(ref, {}, signal())).map(({ text }) => text),
  }
}

export async function startRental(engine: TestEngine, provider: Provider, changes: Changes = {}): Promise<Rental> {
  const rental = createRental(engine, provider, changes)
  await rental.prepare()
  const observed = await rental.start()
  if (observed.state !== 'running') throw new Error(`The container is ${JSON.stringify(observed)}.`)
  return rental
}
