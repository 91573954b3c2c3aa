import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { printId } from '../domain/ids.ts'
import type { ContainerRef } from '../domain/instances/containers.ts'
import { notebookPort } from '../domain/instances/notebook.ts'
import { ContainerNotRunning, PortRefused, type Provider } from '../providers/provider.ts'
import type { Refusal } from './refusal.ts'

export type DialDeps = { provider: Pick<Provider, 'connect'>; machineMs: number; log: Logger }

/** Connects to the notebook in a container, until the client is `gone`. Answers with a refusal if it cannot. */
export async function dial(
  container: ContainerRef,
  { provider, machineMs, log }: DialDeps,
  gone: AbortSignal,
): Promise<Duplex | Refusal> {
  const name = printId('Instance', container.instanceId)
  const signal = AbortSignal.any([gone, AbortSignal.timeout(machineMs)])
  try {
    const remote = await provider.connect(container, notebookPort, signal)
    if (!signal.aborted) return remote
    remote.destroy()
    return silence(name)
  } catch (error) {
    if (error instanceof ContainerNotRunning) return unreachable(503, `${name} is not running. Try again in a moment.`)
    if (error instanceof PortRefused)
      return unreachable(502, `No notebook listens in ${name}${error.isSimulated ? onSimulated : mayStart}`)
    if (!gone.aborted)
      log.warn({ err: error, instanceId: String(container.instanceId) }, 'A notebook could not be reached.')
    return silence(name)
  }
}

const onSimulated = ': its machine is simulated, and its instances run nothing.'
const mayStart =
  '. It may still be starting: try again in a moment. If it never starts, the log of the instance says why.'

function silence(name: string): Refusal {
  return unreachable(504, `The machine of ${name} does not answer. Try again in a moment.`)
}

export function unreachable(status: number, message: string): Refusal {
  return { status, message, outcome: 'unreachable' }
}
