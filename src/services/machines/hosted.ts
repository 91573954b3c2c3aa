import { Prisma } from '../../database/generated/client.ts'
import { readingOf } from '../../database/selection/reading.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { parseHostedMachineCursor, printHostedMachineCursor } from '../../domain/machines/page.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { machineSource, wholeMachine } from './source.ts'

const { sql } = Prisma
const hostFacts = {
  gpus: sql`u.gpus`,
  resident: sql`i.resident`,
  running: sql`i.running`,
  volumes: sql`(SELECT count(*)::int FROM volumes v WHERE v.machine_id = m.id AND v.deleted_at IS NULL)`,
}
const facts = { gpus: true, resident: true, running: true, volumes: true, asOf: true } as const
const hostedMachine = { ...wholeMachine, ...facts }

/** A machine as its host sees it. */
export type HostedMachine = Machine & { gpuModel: GpuModel } & HostFacts
type HostFacts = {
  /** How each GPU is rented, in the order of GPUs. */
  gpus: ('free' | 'onDemand' | 'interruptible')[]
  /** Number of instances on the machine, and how many of them are running. */
  resident: number
  running: number
  /** Number of volumes on the machine. */
  volumes: number
  asOf: Date
}

export function hostedMachineServices({ database }: DataDeps) {
  async function find(condition: Prisma.Sql, limit: number, order = sql`m.id`): Promise<HostedMachine[]> {
    const reading = readingOf(machineSource<HostFacts>({ ...hostFacts, asOf: database.nowSql }), hostedMachine)
    return await database.read(
      sql`
        SELECT ${reading.columns}
        FROM (SELECT m.* FROM machines m WHERE ${condition} ORDER BY ${order} LIMIT ${limit}) m
        JOIN gpu_models g ON g.id = m.gpu_model_id
        CROSS JOIN LATERAL (
          SELECT array_agg(CASE WHEN h.id IS NULL THEN 'free' WHEN h.interruptible THEN 'interruptible' ELSE 'onDemand' END
            ORDER BY gpu.index) AS gpus
          FROM gpus gpu LEFT JOIN instances h ON h.id = gpu.holder_id WHERE gpu.machine_id = m.id) u
        CROSS JOIN LATERAL (
          SELECT count(*)::int AS resident, count(*) FILTER (WHERE status = 'running')::int AS running
          FROM instances WHERE machine_id = m.id AND destroyed_at IS NULL) i
        ORDER BY ${order}`,
      reading,
    )
  }

  return {
    /** The account's machines, oldest first, including those that left the market. */
    async hosted(actor: Actor, limit: number): Promise<HostedMachine[]> {
      authorize(actor, 'machines.hosted')
      return await find(sql`m.host_id = ${actor.accountId}`, limit)
    },

    /** A page of the account's machines, oldest first, including those that left the market. */
    async hostedPage(actor: Actor, page: PageArguments): Promise<PageResult<HostedMachine>> {
      authorize(actor, 'machines.hosted')
      const { limit, backward, cursor } = parsePage(page)
      const position = cursor === undefined ? undefined : parseHostedMachineCursor(cursor)
      const beyond = backward ? sql`m.id < ${position}` : sql`m.id > ${position}`
      const own = sql`m.host_id = ${actor.accountId} AND ${position === undefined ? sql`true` : beyond}`
      const found = await find(own, limit + 1, backward ? sql`m.id DESC` : sql`m.id`)
      return pageOf(found, { limit, backward, cursor }, ({ id }) => printHostedMachineCursor(id))
    },

    async countHosted(actor: Actor): Promise<number> {
      authorize(actor, 'machines.hosted')
      return await database.prisma.machine.count({ where: { hostId: actor.accountId } })
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
