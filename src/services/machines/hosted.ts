import { Prisma } from '../../database/generated/client.ts'
import { readingOf } from '../../database/selection/reading.ts'
import type { Selected, SelectOf } from '../../database/selection/selected.ts'
import { nameIfRepeated } from '../../database/statement-names.ts'
import type { Actor } from '../../domain/actor.ts'
import { notFound } from '../../domain/errors.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { parseHostedMachineCursor, printHostedMachineCursor } from '../../domain/machines/page.ts'
import { type PageArguments, type PageResult, pageOf, parsePage } from '../../domain/pages.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { machineSource, wholeMachine } from './source.ts'

const { sql } = Prisma

/** What a read asks of a host's machines. */
type HostedMachineSelect = SelectOf<HostedMachine> & { readonly id: true }
type SelectedMachine<Select> = Selected<HostedMachine, Select> & { id: number }

/** A machine as its host sees it. */
export type HostedMachine = Machine & { gpuModel: GpuModel } & HostFacts
export type HostFacts = {
  /** How each GPU is rented, in the order of GPUs. */
  gpuUses: ('free' | 'onDemand' | 'interruptible')[]
  /** Instances that are not destroyed, and those of them that are running. */
  instanceCount: number
  runningInstanceCount: number
  /** Volumes that are not deleted. */
  volumeCount: number
  asOf: Date
}

const hostFacts = {
  gpuUses: sql`(
    SELECT array_agg(CASE WHEN i.id IS NULL THEN 'free' WHEN i.interruptible THEN 'interruptible' ELSE 'onDemand' END
      ORDER BY u.index)
    FROM gpus u LEFT JOIN instances i ON i.id = u.holder_id WHERE u.machine_id = m.id)`,
  instanceCount: sql`(SELECT count(*)::int FROM instances i WHERE i.machine_id = m.id AND i.destroyed_at IS NULL)`,
  runningInstanceCount: sql`(
    SELECT count(*)::int FROM instances i
    WHERE i.machine_id = m.id AND i.destroyed_at IS NULL AND i.status = 'running')`,
  volumeCount: sql`(SELECT count(*)::int FROM volumes v WHERE v.machine_id = m.id AND v.deleted_at IS NULL)`,
}
const ofHost = {
  gpuUses: true,
  instanceCount: true,
  runningInstanceCount: true,
  volumeCount: true,
  asOf: true,
} as const
const wholeHostedMachine = { ...wholeMachine, ...ofHost }

export function hostedMachineServices({ database }: DataDeps) {
  async function find<const Select extends HostedMachineSelect>(
    condition: Prisma.Sql,
    order: Prisma.Sql,
    limit: number,
    select: Select,
  ): Promise<SelectedMachine<Select>[]> {
    const reading = readingOf(machineSource<HostFacts>({ ...hostFacts, asOf: database.nowSql }), select)
    const statement = sql`
      SELECT ${reading.columns} FROM machines m JOIN gpu_models g ON g.id = m.gpu_model_id
      WHERE ${condition} ORDER BY ${order} LIMIT ${limit}`
    const found = await database.read(nameIfRepeated(statement), reading)
    // Safe: every selection of a machine has its `id`.
    return found as SelectedMachine<Select>[]
  }

  return {
    /** The account's machines, oldest first, including those that left the market. */
    async hosted(actor: Actor, limit: number): Promise<HostedMachine[]> {
      authorize(actor, 'machines.hosted')
      return await find(sql`m.host_id = ${actor.accountId}`, sql`m.id`, limit, wholeHostedMachine)
    },

    /** A page of the account's machines, oldest first, including those that left the market. */
    async hostedPage<const Select extends HostedMachineSelect>(
      actor: Actor,
      page: PageArguments,
      select: Select,
    ): Promise<PageResult<SelectedMachine<Select>>> {
      authorize(actor, 'machines.hosted')
      const { limit, backward, cursor } = parsePage(page)
      const position = cursor === undefined ? undefined : parseHostedMachineCursor(cursor)
      const beyond = backward ? sql`m.id < ${position}` : sql`m.id > ${position}`
      const own = sql`m.host_id = ${actor.accountId} AND ${position === undefined ? sql`true` : beyond}`
      const found = await find(own, backward ? sql`m.id DESC` : sql`m.id`, limit + 1, select)
      return pageOf(found, { limit, backward, cursor }, ({ id }) => printHostedMachineCursor(id))
    },

    async countHosted(actor: Actor): Promise<number> {
      authorize(actor, 'machines.hosted')
      return await database.prisma.machine.count({ where: { hostId: actor.accountId } })
    },

    /** One of the account's machines. A machine of another host is not found. */
    async hostedById(actor: Actor, id: bigint): Promise<HostedMachine> {
      authorize(actor, 'machines.hosted')
      const own = sql`m.id = ${String(id)}::bigint AND m.host_id = ${actor.accountId}`
      const [machine] = await find(own, sql`m.id`, 1, wholeHostedMachine)
      if (!machine) throw notFound('Machine', id)
      return machine
    },
  }
}
