import { type Transaction, transaction } from '../../database/transaction.ts'
import { invalidInput } from '../../domain/errors.ts'
import { type PlacedAddress, type RowIssue, sharedPortIssue } from '../../domain/machines/addresses.ts'
import {
  type ImportRow,
  type NewGpuModel,
  type ParsedImport,
  parseMachines,
  sortIssues,
} from '../../domain/machines/import-rows.ts'
import { type AccountName, findAccount } from '../accounts/accounts.ts'
import type { DataDeps } from '../deps.ts'
import { findSharedPorts, lockAddresses } from './addresses.ts'
import { listMachines, saveGpuModels } from './machines.ts'

/** An import lists at most this many machines per statement. */
const batchSize = 500

type ImportOptions = {
  host: AccountName
  rows: ImportRow[]
  /** Facts of common GPU models, for models that the database lacks. */
  catalog?: NewGpuModel[]
  dryRun?: boolean
}
type ImportSummary = { host: string; machines: number; newGpuModels: string[] }

export function importOperations({ database }: DataDeps) {
  return {
    /** Lists every machine of a file, or none if the file has an issue. */
    async import({ host: hostName, rows, catalog = [], dryRun = false }: ImportOptions): Promise<ImportSummary> {
      return await transaction(database, async tx => {
        const { at } = tx
        const host = await tx.prisma(prisma => findAccount(prisma, hostName))
        await lockAddresses(tx)
        const file = parseMachines(rows, await loadModels(tx), at, indexByName(catalog))
        const issues = [...file.issues, ...(await findIssuesWithMarket(tx, file))]
        // Reports all issues, so that an operator can correct the file at once.
        if (issues.length > 0) throw invalidInput(sortIssues(issues), issues.length)
        if (!dryRun) await listImported(tx, file, host.id, at)
        const newGpuModels = file.newModels.map(({ name }) => name)
        return { host: host.email, machines: file.machines.length, newGpuModels }
      })
    },
  }
}

async function loadModels(tx: Transaction): Promise<Map<string, NewGpuModel>> {
  const models = await tx.prisma(prisma => prisma.gpuModel.findMany())
  // Safe: only models whose vendor was checked are stored.
  return indexByName(models as NewGpuModel[])
}

function indexByName(models: NewGpuModel[]): Map<string, NewGpuModel> {
  return new Map(models.map(model => [model.name, model]))
}

async function findIssuesWithMarket(tx: Transaction, { addresses }: ParsedImport): Promise<RowIssue[]> {
  const shared = await findSharedPorts(tx, addresses)
  return shared.map(({ index, machineId }) => {
    return sharedPortIssue(addresses[index] as PlacedAddress, `machine ${machineId}, which is on the market`)
  })
}

async function listImported(
  tx: Transaction,
  { machines, newModels }: ParsedImport,
  hostId: number,
  at: Date,
): Promise<void> {
  if (newModels.length > 0) await saveGpuModels(tx, newModels)
  const models = await tx.prisma(prisma => prisma.gpuModel.findMany({ select: { name: true, id: true } }))
  const ids = new Map(models.map(({ name, id }) => [name, id]))
  const listed = machines.map(({ gpuModel, ...machine }) => ({
    ...machine,
    hostId,
    gpuModelId: ids.get(gpuModel) as number,
  }))
  for (let first = 0; first < listed.length; first += batchSize) {
    await listMachines(tx, listed.slice(first, first + batchSize), at)
  }
}
