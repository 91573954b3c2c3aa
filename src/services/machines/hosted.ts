import { Prisma } from '../../database/generated/client.ts'
import { modelColumnsOf, recordsOf, selectListSql } from '../../database/rows.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'

const { sql } = Prisma
const machineColumns = modelColumnsOf(Prisma.MachineScalarFieldEnum)
const gpuModelColumns = modelColumnsOf(Prisma.GpuModelScalarFieldEnum)

/** A machine as its host sees it. */
export type HostedMachine = Machine & {
  gpuModel: GpuModel
  /** How each GPU is rented, in the order of GPUs. */
  gpus: ('free' | 'onDemand' | 'interruptible')[]
  /** Number of instances on the machine, and how many of them are running. */
  resident: number
  running: number
  asOf: Date
}

export function hostedMachineServices({ database }: DataDeps) {
  async function find(condition: Prisma.Sql, limit: number): Promise<HostedMachine[]> {
    const rows = await database.rows(sql`
      SELECT ${selectListSql('m', machineColumns)}, ${selectListSql('g', gpuModelColumns)}, u.gpus, i.resident, i.running, ${database.nowSql}
      FROM machines m JOIN gpu_models g ON g.id = m.gpu_model_id
      CROSS JOIN LATERAL (
        SELECT array_agg(CASE WHEN h.id IS NULL THEN 'free' WHEN h.interruptible THEN 'interruptible' ELSE 'onDemand' END
          ORDER BY gpu.index) AS gpus
        FROM gpus gpu LEFT JOIN instances h ON h.id = gpu.holder_id WHERE gpu.machine_id = m.id) u
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS resident, count(*) FILTER (WHERE status = 'running')::int AS running
        FROM instances WHERE machine_id = m.id AND destroyed_at IS NULL) i
      WHERE ${condition} ORDER BY m.id LIMIT ${limit}`)
    return rows.map(row => {
      const [machine, gpuModel] = recordsOf(row, machineColumns, gpuModelColumns)
      const [gpus, resident, running, asOf] = row.slice(-4)
      // `recordsOf` keys the values of a row by the columns of their models.
      return { ...machine, gpuModel, gpus, resident, running, asOf } as unknown as HostedMachine
    })
  }

  return {
    /** The account's machines, oldest first, including those that left the market. */
    async hosted(actor: Actor, limit: number): Promise<HostedMachine[]> {
      authorize(actor, 'machines.hosted')
      return await find(sql`m.host_id = ${actor.accountId}`, limit)
    },

    /** One of the account's machines. A machine of another host is not found. */
    async hostedById(actor: Actor, id: bigint): Promise<HostedMachine> {
      authorize(actor, 'machines.hosted')
      const [machine] = await find(sql`m.id = ${String(id)}::bigint AND m.host_id = ${actor.accountId}`, 1)
      if (!machine) throw notFound('Machine', id)
      return machine
    },
  }
}
