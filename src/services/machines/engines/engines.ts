// The engines of machines, as providers need them.

import type { Logger } from 'pino'
import { Prisma } from '../../../database/generated/client.ts'
import { bytea, enumeration, int4, nullable, type RowOf, text, textArray } from '../../../database/row-types.ts'
import type { Engine, EngineTls, GpuAccess, MachineEngine } from '../../../domain/machines/engines.ts'
import type { DataDeps } from '../../deps.ts'
import { openJson, type Secrets } from '../../secrets.ts'

const { sql } = Prisma

const engineRow = {
  ...{ machineId: int4, url: nullable(text), tls: nullable(bytea), mark: text, gpuAccess: enumeration<GpuAccess>() },
  gpuUuids: textArray,
}

/** A machine changes its engine only while it is empty, so an engine that is this old harms no container. */
const maxAgeMs = 2_000

type EngineDeps = DataDeps & { secrets: Secrets; log: Logger }

/** The engines by machine. Machines without one are simulated. */
export function engineServices({ database, secrets, log }: EngineDeps) {
  let read: { at: number; engines: Promise<ReadonlyMap<number, MachineEngine>> } | undefined
  const undecryptable = new Set<number>()

  /** Null if the certificates cannot be decrypted. Nothing reaches an engine over TCP without them. */
  function openTls({ machineId, tls }: RowOf<typeof engineRow>): EngineTls | null {
    try {
      const opened = openJson<EngineTls>(secrets, tls)
      undecryptable.delete(machineId)
      return opened
    } catch (error) {
      // Logged once, not at every read.
      if (!undecryptable.has(machineId))
        log.error(
          { err: error, machineId },
          'The certificates of an engine cannot be decrypted, so that its machine is unreachable. Connect it again with "machine connect".',
        )
      undecryptable.add(machineId)
      return null
    }
  }

  async function readAll(): Promise<ReadonlyMap<number, MachineEngine>> {
    const rows = await database.query(
      sql`SELECT machine_id, url, tls, mark, gpu_access, gpu_uuids FROM engines`,
      engineRow,
    )
    return new Map(rows.map(({ machineId, ...row }) => [machineId, { ...row, tls: openTls({ machineId, ...row }) }]))
  }

  function recent(maxMs: number): Promise<ReadonlyMap<number, MachineEngine>> {
    const at = performance.now()
    if (read && at - read.at < maxMs) return read.engines
    const engines = readAll()
    read = { at, engines }
    // A failure is not remembered.
    engines.catch(() => {
      if (read?.engines === engines) read = undefined
    })
    return engines
  }

  return {
    all: async (): Promise<ReadonlyMap<number, MachineEngine>> => await recent(maxAgeMs),
    /** Throws if the machine has no engine with an address. */
    async of(machineId: number): Promise<Engine> {
      const engine = (await recent(maxAgeMs)).get(machineId) ?? (await recent(0)).get(machineId)
      if (!engine) throw new Error(`Machine ${machineId} has no engine.`)
      const { url } = engine
      if (url === null) throw new Error(`Only the agent of machine ${machineId} reaches its engine.`)
      return { ...engine, url }
    },
    /** The engine as it is now: a container is made only where the machine is connected. */
    current: async (machineId: number): Promise<MachineEngine | undefined> => (await recent(0)).get(machineId),
  }
}
