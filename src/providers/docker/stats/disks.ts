// The size of what containers have written. The engine walks their files for it, so it is asked rarely, in the background.

import type { Logger } from 'pino'
import type { Machine } from '../machine.ts'
import { labelFilter } from '../names.ts'
import { createSingleFlight } from '../single-flight.ts'

type Sized = { Id: string; SizeRw?: number }

const intervalMs = 300_000
const deadlineMs = 120_000

export type DiskSizes = ReturnType<typeof createDiskSizes>

export function createDiskSizes({ log, now }: { log: Logger; now: () => Date }) {
  const known = new Map<number, { askedAt: number; bytes: Map<string, number> }>()
  const walks = createSingleFlight()

  async function ask(machineId: number, { client, engine }: Machine): Promise<void> {
    const query = { size: 1, filters: { ...labelFilter(engine), status: ['running'] } }
    const { signal } = new AbortController()
    const askedAt = now().getTime()
    known.set(machineId, { askedAt, bytes: known.get(machineId)?.bytes ?? new Map() })
    const listed = await client.call<Sized[]>('GET', '/containers/json', { query, signal, deadlineMs })
    // A container that wrote nothing has no size.
    known.set(machineId, { askedAt, bytes: new Map(listed.map(({ Id, SizeRw = 0 }) => [Id, SizeRw])) })
  }

  /** The last known sizes by container, in bytes. */
  return (machineId: number, machine: Machine): ReadonlyMap<string, number> => {
    const last = known.get(machineId)
    // Absolute, since the clock may have been set back.
    if (!last || Math.abs(now().getTime() - last.askedAt) >= intervalMs) {
      void walks
        .run(String(machineId), () => ask(machineId, machine))
        .catch((error: unknown) => log.warn({ err: error, machineId }, 'The disks of containers were not measured.'))
    }
    return last?.bytes ?? new Map()
  }
}
