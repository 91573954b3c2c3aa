import { Prisma } from '../../database/generated/client.ts'
import { columnsOf } from '../../database/selection/columns.ts'
import { readingOf } from '../../database/selection/reading.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import type { DataDeps } from '../deps.ts'
import { machineSource } from './source.ts'
import { unreachableSql } from './unreachable.ts'

const { sql, empty } = Prisma

/** A machine as operators see it. */
export type MachineSummary = Machine & Summed
type Summed = {
  host: string
  gpuName: string
  /** Number of GPUs without a holder. */
  freeGpus: number
  /** Number of instances that are not destroyed. */
  instances: number
  /** Number of volumes that are not deleted. */
  volumes: number
  /** The address of its engine, or "agent"; null if it is simulated. */
  engine: string | null
  /** Since when it does not answer: see unreachable.ts. */
  unreachableSince: Date | null
}

const sums = { host: true, gpuName: true, freeGpus: true, instances: true, volumes: true, engine: true } as const
const summary = { ...columnsOf(Prisma.MachineScalarFieldEnum), ...sums, unreachableSince: true as const }

export function machineListOperations({ database }: DataDeps) {
  return {
    /** At most `limit` machines with ids above `after`, in the order of ids; of one host, or of all. */
    async page(after: number, limit: number, hostId?: number): Promise<MachineSummary[]> {
      const ofHost = hostId === undefined ? empty : sql`AND m.host_id = ${hostId}`
      return await read(sql`m.id > ${after} ${ofHost} ORDER BY m.id LIMIT ${limit}`)
    },

    async byId(id: number): Promise<MachineSummary> {
      const [machine] = await read(sql`m.id = ${id}`)
      if (machine) return machine
      throw new DomainError('NOT_FOUND', `There is no machine ${id}.`, { subject: null })
    },
  }

  async function read(which: Prisma.Sql): Promise<MachineSummary[]> {
    const reading = readingOf(machineSource<Summed>(summedSql(database.nowSql)), summary)
    return await database.read(
      sql`
        SELECT ${reading.columns} FROM machines m JOIN accounts a ON a.id = m.host_id
        JOIN gpu_models g ON g.id = m.gpu_model_id WHERE ${which}`,
      reading,
    )
  }
}

function summedSql(nowSql: Prisma.Sql) {
  return {
    host: sql`a.email`,
    gpuName: sql`g.name`,
    freeGpus: sql`(SELECT count(*)::int FROM gpus u WHERE u.machine_id = m.id AND u.holder_id IS NULL)`,
    instances: sql`(SELECT count(*)::int FROM instances i WHERE i.machine_id = m.id AND i.destroyed_at IS NULL)`,
    volumes: sql`(SELECT count(*)::int FROM volumes v WHERE v.machine_id = m.id AND v.deleted_at IS NULL)`,
    engine: sql`(SELECT coalesce(e.url, 'agent') FROM engines e WHERE e.machine_id = m.id)`,
    unreachableSince: sql`(SELECT min(u.since) FROM (${unreachableSql(nowSql)}) u WHERE u.machine_id = m.id)`,
  }
}
