import { Prisma } from '../../database/generated/client.ts'
import { columnsOf, recordsOf, selectList } from '../../database/rows.ts'
import { type Transaction, transaction } from '../../database/transaction.ts'
import { invalidInput } from '../../domain/errors.ts'
import { type PlacedAddress, type RowIssue, sharing } from '../../domain/machines/addresses.ts'
import { type Import, type ImportRow, inOrder, type NewModel, readMachines } from '../../domain/machines/import-rows.ts'
import { findAccount } from '../accounts/accounts.ts'
import type { DataDeps } from '../deps.ts'
import { findShared, lockAddresses } from './addresses.ts'
import { listMachines, saveGpuModels } from './machines.ts'

const { sql } = Prisma
const modelColumns = columnsOf(Prisma.GpuModelScalarFieldEnum)

/** How many machines are written in one statement. */
const batchSize = 500

type ImportOptions = {
  hostEmail: string
  rows: ImportRow[]
  /** Facts of common GPU models, for those that the database does not have. */
  catalogue?: NewModel[]
  dryRun?: boolean
}
type Imported = { host: string; machines: number; newGpuModels: string[] }

export function importOperations({ database }: DataDeps) {
  return {
    /** Puts what a file describes on the market: all of it, or nothing where anything is wrong with it. */
    async import({ hostEmail, rows, catalogue = [], dryRun = false }: ImportOptions): Promise<Imported> {
      return await transaction(database, async tx => {
        const { at } = tx
        const host = await findAccount(tx, hostEmail)
        await lockAddresses(tx)
        const file = readMachines(rows, await modelsIn(tx), at, byName(catalogue))
        const issues = [...file.issues, ...(await sharedWithMarket(tx, file))]
        // An operator corrects a whole file at once.
        if (issues.length > 0) throw invalidInput(inOrder(issues), issues.length)
        if (!dryRun) await list(tx, file, host.id, at)
        const newGpuModels = file.newModels.map(({ name }) => name)
        return { host: host.email, machines: file.machines.length, newGpuModels }
      })
    },
  }
}

async function modelsIn(tx: Transaction): Promise<Map<string, NewModel>> {
  const rows = await tx.rows(sql`SELECT ${selectList('g', modelColumns)} FROM gpu_models g`)
  const models = rows.map(row => recordsOf(row, modelColumns)[0] as NewModel)
  return byName(models)
}

function byName(models: NewModel[]): Map<string, NewModel> {
  return new Map(models.map(model => [model.name, model]))
}

async function sharedWithMarket(tx: Transaction, { addresses }: Import): Promise<RowIssue[]> {
  const shared = await findShared(tx, addresses)
  return shared.map(({ index, machineId }) => {
    return sharing(addresses[index] as PlacedAddress, `machine ${machineId}, which is on the market`)
  })
}

async function list(tx: Transaction, { machines, newModels }: Import, hostId: number, at: Date): Promise<void> {
  if (newModels.length > 0) await saveGpuModels(tx, newModels)
  const rows = await tx.rows(sql`SELECT name, id FROM gpu_models`)
  const ids = new Map(rows.map(([name, id]) => [name as string, id as number]))
  const listed = machines.map(({ gpuModel, ...machine }) => ({
    ...machine,
    hostId,
    gpuModelId: ids.get(gpuModel) as number,
  }))
  for (let first = 0; first < listed.length; first += batchSize) {
    await listMachines(tx, listed.slice(first, first + batchSize), at)
  }
}
