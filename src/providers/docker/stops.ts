import type { Logger } from 'pino'
import { type Container, renameContainer } from './container.ts'
import type { Machine } from './machine.ts'
import type { Phase } from './names.ts'
import { createSingleFlight } from './single-flight.ts'

/** A container that does not end by itself in this time is killed. */
const graceSeconds = 10
const deadlineMs = (graceSeconds + 30) * 1_000

export type Stops = ReturnType<typeof createStops>

/** Stops of this gateway. Another one sees by the container's name that it must stop, and sends a stop, too. */
export function createStops(log: Logger) {
  const renames = createSingleFlight()
  const stops = createSingleFlight()

  /** Sends a stop unless one is under way. It ends later. */
  function send({ client }: Machine, { Id }: Pick<Container, 'Id'>): void {
    const query = { t: graceSeconds }
    const { signal } = new AbortController()
    stops
      .run(Id, () => client.call('POST', `/containers/${Id}/stop`, { query, signal, deadlineMs }))
      .catch((error: unknown) => log.warn({ err: error, container: Id }, 'A container was not stopped yet.'))
  }

  return {
    send,
    /** Writes why the container stops into its name, where its renter cannot change it. Then sends the stop. */
    async begin(
      machine: Machine,
      container: { Id: string; instanceId: bigint; phase: Phase },
      phase: 'stopping' | 'refused',
      signal: AbortSignal,
    ): Promise<void> {
      const { Id } = container
      if (container.phase === 'complete') {
        await renames.run(Id, () => renameContainer(machine, container, phase, signal))
      }
      send(machine, container)
    },
  }
}
