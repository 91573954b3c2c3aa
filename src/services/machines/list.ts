import { Prisma } from '../../database/generated/client.ts'
import { modelColumnsOf, recordsOf, selectListSql } from '../../database/rows.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Machine } from '../../domain/machines/machines.ts'
import type { DataDeps } from '../deps.ts'

const { sql, empty } = Prisma

/** A machine as operators see it. */
export type MachineSummary = Machine & {
  host: string
  gpuModel: string
  /** Number of GPUs without a holder. */
  freeGpus: number
  /** Number of instances that are not destroyed. */
  instances: number
  /** Number of volumes that are not deleted. */
  volumes: number
}

const machineColumns = modelColumnsOf(Prisma.MachineScalarFieldEnum)

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
    const rows = await database.rows(sql`
      SELECT ${selectListSql('m', machineColumns)}, a.email, g.name,
        (SELECT count(*)::int FROM gpus u WHERE u.machine_id = m.id AND u.holder_id IS NULL),
        (SELECT count(*)::int FROM instances i WHERE i.machine_id = m.id AND i.destroyed_at IS NULL),
        (SELECT count(*)::int FROM volumes v WHERE v.machine_id = m.id AND v.deleted_at IS NULL)
      FROM machines m JOIN accounts a ON a.id = m.host_id JOIN gpu_models g ON g.id = m.gpu_model_id WHERE ${which}`)
    return rows.map(row => {
      const [machine] = recordsOf(row, machineColumns)
      const [host, gpuModel, freeGpus, instances, volumes] = row.slice(machineColumns.names.length)
      return { ...machine, host, gpuModel, freeGpus, instances, volumes } as MachineSummary
    })
  }
}
