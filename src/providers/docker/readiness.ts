// Whether a running container is ready. The driver's entrypoint says so in the log, before any code of the renter runs:
// nobody else can keep a container from being ready, and so from being charged.

import type { Logger } from 'pino'
import { ContainerNotRunning } from '../provider.ts'
import { type Container, hasOwnEntrypoint } from './container.ts'
import { hasItsGpus } from './gpus.ts'
import type { Machine } from './machine.ts'
import { createSingleFlight } from './single-flight.ts'
import { readStartOfRun, startBytes } from './start-of-run.ts'
import type { Stops } from './stops.ts'

/**
 * Longer than an honest container takes. Whoever makes it take longer wants its GPUs free of charge: with a program that
 * keeps the check of the GPUs waiting, or with a volume over the toolbox, which another container changes.
 */
const patienceMs = 20_000
/** A container that has run longer was checked by a gateway that is gone. The renter can change what a check sees. */
const gpuCheckMs = 120_000
const maxRemembered = 10_000

export type Readiness = ReturnType<typeof createReadiness>

export function createReadiness({ log, now, stops }: { log: Logger; now: () => Date; stops: Stops }) {
  /** When the containers were started that are known to be ready. */
  const ready = new Map<string, string>()
  const gpuChecks = createSingleFlight()
  const checkedGpus = new Map<string, string>()

  function remember(known: Map<string, string>, { Id, State }: Container): void {
    known.delete(Id)
    known.set(Id, State.StartedAt)
    for (const oldest of known.keys()) {
      if (known.size <= maxRemembered) return
      known.delete(oldest)
    }
  }

  /** Checks the GPUs in the background. A container that does not have exactly its own is stopped for good. */
  async function checkGpus(machine: Machine, container: Container, instanceId: bigint): Promise<void> {
    const { Id, HostConfig } = container
    const signal = AbortSignal.timeout(60_000)
    try {
      if (await hasItsGpus(machine, Id, HostConfig.DeviceRequests ?? [], signal))
        return remember(checkedGpus, container)
      log.error({ container: Id }, 'A container does not have the GPUs that were requested for it.')
      await stops.begin(machine, { Id, instanceId, phase: container.phase }, 'refused', signal)
    } catch (error) {
      if (!(error instanceof ContainerNotRunning)) log.warn({ err: error, container: Id }, 'GPUs were not checked yet.')
    }
  }

  function hasCheckedGpus(machine: Machine, container: Container, instanceId: bigint): boolean {
    const { Id, State, HostConfig } = container
    if (!HostConfig.DeviceRequests?.length || checkedGpus.get(Id) === State.StartedAt) return true
    if (hasRunFor(container, gpuCheckMs)) return true
    // Goes on in a container that counts as ready, and stops it if need be.
    void gpuChecks.run(Id, () => checkGpus(machine, container, instanceId))
    return hasRunFor(container, patienceMs)
  }

  function hasRunFor({ State }: Container, ms: number): boolean {
    return now().getTime() - Date.parse(State.StartedAt) > ms
  }

  async function isPrepared(machine: Machine, container: Container, signal: AbortSignal): Promise<boolean> {
    if (!hasOwnEntrypoint(container) || hasRunFor(container, patienceMs)) return true
    return await saysReady(machine, container, signal)
  }

  return {
    async isReady(machine: Machine, container: Container, instanceId: bigint, signal: AbortSignal): Promise<boolean> {
      if (ready.get(container.Id) === container.State.StartedAt) return true
      if (!hasCheckedGpus(machine, container, instanceId)) return false
      if (!(await isPrepared(machine, container, signal))) return false
      remember(ready, container)
      return true
    },
  }
}

/** A log that is longer than its start has lines of the renter's programs, which run only in a ready container. */
async function saysReady(machine: Machine, container: Container, signal: AbortSignal): Promise<boolean> {
  const { bytes, lines } = await readStartOfRun(machine, container, signal)
  return bytes === startBytes || lines.some(({ source, text }) => source === 'stdout' && text === '[berth] ready')
}
