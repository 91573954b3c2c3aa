// What operators change about a listed machine, in the columns of an import.

import type { Issue } from '../errors.ts'
import { suggestNames } from '../nearest.ts'
import type { ColumnType } from './import-column-types.ts'
import { importMachineColumns, type MachineValues } from './import-columns.ts'
import type { Machine } from './machines.ts'

/** Where a machine is, and what its rentals have parts of: a machine with another of these is another machine. */
const fixedColumns = [
  'gpuModel',
  'numGpus',
  'publicIp',
  'firstPort',
  'lastPort',
  'cpuCores',
  'cpuRamGb',
  'diskGb',
] as const
/** Lowered by failures, and raised when they are old. */
const measuredColumns = ['reliability'] as const

const unchangeable: ReadonlySet<string> = new Set([...fixedColumns, ...measuredColumns])
export const changeableColumns = Object.keys(importMachineColumns).filter(name => !unchangeable.has(name))

type FixedColumn = (typeof fixedColumns)[number] | (typeof measuredColumns)[number]
type ChangedValues = Partial<Omit<MachineValues, FixedColumn>>
export type MachineChanges = Partial<Machine>

/** Parses new values of columns. They must fit each other and what the machine keeps. */
export function parseMachineChanges(
  given: Readonly<Record<string, string>>,
  machine: Machine,
  at: Date,
): { changes: MachineChanges; issues: Issue[] } {
  const values: Record<string, unknown> = {}
  const issues: Issue[] = []
  for (const [path, text] of Object.entries(given)) {
    const type = typeOf(path)
    const value = type?.parse(text.trim())
    if (!type) issues.push({ path, message: unknownMessage(path) })
    else if (value === undefined) issues.push({ path, message: `must be ${type.expected}, not "${text}".` })
    else values[path] = value
  }
  const changes = toChanges(values as ChangedValues)
  return { changes, issues: [...issues, ...findConflicts({ ...machine, ...changes }, given, at)] }
}

function typeOf(name: string): ColumnType<unknown> | undefined {
  if (!changeableColumns.includes(name)) return undefined
  return importMachineColumns[name as keyof typeof importMachineColumns].type
}

function unknownMessage(name: string): string {
  if (unchangeable.has(name)) return 'cannot be changed. Unlist the machine, and import it anew.'
  return `is not the name of a column.${suggestNames(name, changeableColumns)}`
}

function toChanges(values: ChangedValues): MachineChanges {
  const { pricePerGpuHour, minimumBidPerGpuHour, storagePricePerGbMonth, ...others } = values
  const { downloadPricePerGb, uploadPricePerGb, ...facts } = others
  const prices = {
    gpuNanos: pricePerGpuHour,
    minBidGpuNanos: minimumBidPerGpuHour,
    diskPricePerGbMonthNanos: storagePricePerGbMonth,
    downloadPricePerGbNanos: downloadPricePerGb,
    uploadPricePerGbNanos: uploadPricePerGb,
  }
  const given = Object.entries(prices).filter(([, nanos]) => nanos !== undefined)
  return { ...facts, ...Object.fromEntries(given) }
}

function findConflicts(
  { gpuNanos, minBidGpuNanos, listedUntil }: Machine,
  given: Readonly<Record<string, string>>,
  at: Date,
): Issue[] {
  const issues: Issue[] = []
  if (minBidGpuNanos > gpuNanos) {
    const path = given['minimumBidPerGpuHour'] === undefined ? 'pricePerGpuHour' : 'minimumBidPerGpuHour'
    const other =
      path === 'pricePerGpuHour' ? 'must be at least minimumBidPerGpuHour.' : 'must be at most pricePerGpuHour.'
    issues.push({ path, message: other })
  }
  if (given['listedUntil'] !== undefined && listedUntil <= at)
    issues.push({ path: 'listedUntil', message: `must be later than now, ${at.toISOString()}.` })
  return issues
}
