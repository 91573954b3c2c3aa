// What operators change about a listed machine, in the columns of an import.

import type { Issue } from '../errors.ts'
import { suggestNames } from '../nearest.ts'
import type { ColumnType } from './import-column-types.ts'
import { importMachineColumns, type MachineValues, priceFields } from './import-columns.ts'
import { findContradictions } from './import-rows.ts'
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
  // The type of its column has parsed each value.
  const changed = values as ChangedValues
  const prices = { pricePerGpuHour: machine.gpuNanos, minimumBidPerGpuHour: machine.minBidGpuNanos }
  return { changes: toChanges(changed), issues: [...issues, ...findContradictions({ ...prices, ...changed }, at)] }
}

function typeOf(name: string): ColumnType<unknown> | undefined {
  if (!changeableColumns.includes(name)) return undefined
  return importMachineColumns[name as keyof typeof importMachineColumns].type
}

function unknownMessage(name: string): string {
  if (unchangeable.has(name)) return 'cannot be changed. Unlist the machine, and import it anew.'
  return `is not the name of a column.${suggestNames(name, changeableColumns)}`
}

/** Prices have other names in a machine than in a column. */
function toChanges(values: ChangedValues): MachineChanges {
  const names: Record<string, string> = priceFields
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [names[name] ?? name, value]))
}
