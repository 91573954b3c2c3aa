import type { Logger } from 'pino'
import { PortTaken } from '../provider.ts'
import { type Container, renameContainer, wasStarted } from './container.ts'
import { EngineError } from './engine/error.ts'
import { kindOf } from './failures.ts'
import { uploadTar } from './files.ts'
import { checkGpusAreFree } from './gpus.ts'
import type { Machine } from './machine.ts'
import { labels } from './names.ts'
import type { Networks } from './networks.ts'

export type StartDeps = { readToolbox: () => Promise<Buffer>; networks: Networks; log: Logger }

/** Failures of the machine that pass: the step is refused, and tried again later. */
const passing = ['noNetwork', 'noAddresses', 'noSpace']

/** Starts a container that does not run. One that cannot be started is marked so. */
export async function startContainer(
  deps: StartDeps,
  machine: Machine,
  container: Container & { instanceId: bigint },
  signal: AbortSignal,
): Promise<void> {
  const { Id, phase } = container
  const { readToolbox, log } = deps
  if (phase === 'making' || phase === 'refused' || container.State.Running) return
  await checkGpusAreFree(machine, container, signal)
  // The renter may have changed the entrypoint, and with it when the container is ready.
  if (wasStarted(container)) await uploadTar(machine, Id, await readToolbox(), signal)
  signal.throwIfAborted()
  if (phase === 'stopping') await renameContainer(machine, container, 'complete', signal)
  try {
    await start(deps, machine, container, signal)
  } catch (error) {
    if (error instanceof EngineError && kindOf(error) === 'portTaken')
      throw new PortTaken(error.message, { cause: error })
    if (!(error instanceof EngineError) || passing.includes(kindOf(error))) throw error
    log.warn({ err: error, container: Id }, 'A container could not be started.')
    await renameContainer(machine, container, 'refused', signal)
  }
}

/** Another gateway may have removed the network, with the last container that it saw there. */
async function start(
  { networks }: StartDeps,
  machine: Machine,
  { Id, Config }: Container,
  signal: AbortSignal,
): Promise<void> {
  const send = () => machine.client.call('POST', `/containers/${Id}/start`, { signal, deadlineMs: 60_000 })
  await send().catch(async (error: unknown) => {
    if (kindOf(error) !== 'noNetwork') throw error
    await networks.use(machine, Config.Labels[labels.account] ?? '', signal, send)
  })
}
