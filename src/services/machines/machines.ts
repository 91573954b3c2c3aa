import { Prisma } from '../../database/generated/client.ts'
import { int4, text } from '../../database/row-types.ts'
import { insertSql, modelColumnsOf, setFromExcludedSql } from '../../database/rows.ts'
import type { Statements } from '../../database/statements.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import type { Actor } from '../../domain/actor.ts'
import type { NewGpuModel } from '../../domain/machines/import-rows.ts'
import type { GpuModel, Machine } from '../../domain/machines/machines.ts'
import { planOffers } from '../../domain/machines/market.ts'
import { authorize } from '../authorize.ts'
import type { DataDeps } from '../deps.ts'
import { asSelected, type ColumnSelect, type SelectedColumns } from '../selected.ts'
import type { GpuModelSelect } from './gpu-models.ts'
import { offerRowsOf } from './market-writes.ts'

type MachineSelect = ColumnSelect<'Machine', 'id', { readonly gpuModel?: { readonly select: GpuModelSelect } }>
type SelectedMachine<Select> = SelectedColumns<'Machine', 'id', Select, { gpuModel: GpuModel }>

/** A machine to list, as its host describes it. */
export type NewMachine = Omit<
  Machine,
  'id' | 'freeDiskMb' | 'freePorts' | 'limitsDisk' | 'listedAt' | 'drainedAt' | 'unlistedAt' | 'unconfirmedAt'
>

const { id: _, ...gpuModelFields } = Prisma.GpuModelScalarFieldEnum
const columns = {
  gpuModel: modelColumnsOf(gpuModelFields),
  machine: modelColumnsOf(Prisma.MachineScalarFieldEnum),
  gpu: modelColumnsOf(Prisma.GpuScalarFieldEnum),
  kind: modelColumnsOf(Prisma.OfferKindScalarFieldEnum),
  offer: modelColumnsOf(Prisma.OfferScalarFieldEnum),
}

export function machineServices({ database }: DataDeps) {
  return {
    async byIds<const Select extends MachineSelect>(
      actor: Actor,
      ids: readonly number[],
      select: Select,
    ): Promise<SelectedMachine<Select>[]> {
      authorize(actor, 'machines.get')
      return asSelected(await database.prisma.machine.findMany({ where: { id: { in: [...ids] } }, select }))
    },

    /** Those of the accounts that host machines. Other accounts are not found, so nobody learns that they exist. */
    async hostsByIds(actor: Actor, ids: readonly number[]): Promise<{ id: number }[]> {
      authorize(actor, 'machines.get')
      const where = { id: { in: [...ids] }, machines: { some: {} } }
      return await database.prisma.account.findMany({ where, select: { id: true } })
    },
  }
}

export function machineOperations({ database }: DataDeps) {
  return {
    async hasAny(): Promise<boolean> {
      return (await database.prisma.machine.findFirst({ select: { id: true } })) !== null
    },

    /** Number of machines of the hosts whose email addresses end with `emailEnd`. */
    async countOfHosts(emailEnd: string): Promise<number> {
      return await database.prisma.machine.count({ where: { host: { email: { endsWith: emailEnd } } } })
    },

    /** Upserts GPU models, and returns their ids by name. */
    async saveGpuModels(models: NewGpuModel[]): Promise<Map<string, number>> {
      return await saveGpuModels(database, models)
    },

    /** Lists all of the machines or none, with an offer for every block of their GPUs. */
    async list(machines: NewMachine[]): Promise<void> {
      await transaction(database, tx => listMachines(tx, machines, tx.at))
    },
  }
}

export async function saveGpuModels(
  tx: Pick<Statements, 'query'>,
  models: NewGpuModel[],
): Promise<Map<string, number>> {
  const statement = Prisma.sql`
    ${insertSql('gpu_models', columns.gpuModel, models)}
    ON CONFLICT (name) DO UPDATE SET ${setFromExcludedSql(columns.gpuModel)} RETURNING name, id`
  const rows = await tx.query(statement, { name: text, id: int4 })
  return new Map(rows.map(({ name, id }) => [name, id]))
}

export async function listMachines(tx: Transaction, machines: NewMachine[], listedAt: Date): Promise<void> {
  const ids = await tx.query(
    Prisma.sql`SELECT nextval('machines_id_seq')::int AS id FROM generate_series(1, ${machines.length})`,
    { id: int4 },
  )
  const listed = ids.flatMap(({ id }, index): Machine[] => {
    const machine = machines[index]
    if (!machine) return []
    const freePorts = machine.lastPort - machine.firstPort + 1
    const fresh = {
      freeDiskMb: machine.diskMb,
      freePorts,
      limitsDisk: true,
      listedAt,
      drainedAt: null,
      unlistedAt: null,
      unconfirmedAt: null,
    }
    return [{ ...machine, ...fresh, id }]
  })
  await tx.execute(insertSql('machines', columns.machine, listed))
  await tx.execute(insertSql('gpus', columns.gpu, listed.flatMap(gpuRowsOf)))
  const offers = listed.flatMap(machine => offerRowsOf(machine, planOffers(machine, [], []).added, listedAt))
  await tx.execute(Prisma.sql`${insertSql('offer_kinds', columns.kind, offerKindsOf(offers))} ON CONFLICT DO NOTHING`)
  await tx.execute(insertSql('offers', columns.offer, offers))
}

function gpuRowsOf({ id, numGpus }: Machine) {
  return Array.from({ length: numGpus }, (_, index) => ({ machineId: id, index }))
}

function offerKindsOf(offers: { gpuModelId: number; numGpus: number }[]) {
  const kinds = offers.map(({ gpuModelId, numGpus }) => ({ gpuModelId, numGpus }))
  // Sorted, so that two listings that add the same kinds do not deadlock.
  kinds.sort((a, b) => a.gpuModelId - b.gpuModelId || a.numGpus - b.numGpus)
  return [...new Map(kinds.map(kind => [`${kind.gpuModelId} ${kind.numGpus}`, kind])).values()]
}
