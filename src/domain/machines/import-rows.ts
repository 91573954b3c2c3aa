import type { Issue } from '../errors.ts'
import { findSharedPortsInFile, type PlacedAddress, type RowIssue } from './addresses.ts'
import {
  type ImportValues,
  importColumns,
  importMachineColumns,
  type MachineValues,
  requiredColumns,
} from './import-columns.ts'
import type { GpuModel, Machine } from './machines.ts'
import { compareVersions } from './versions.ts'

/** A row of an import file, or why it cannot be parsed. `place` names the row in messages: "line 2". */
export type ImportRow = { place: string } & (
  | { fields: Record<string, unknown> }
  | { fields?: undefined; problem: string }
)

export type NewGpuModel = Omit<GpuModel, 'id'>
/** A machine to list, with the name of its GPU model. */
type ImportedMachine = Omit<
  Machine,
  | 'id'
  | 'hostId'
  | 'gpuModelId'
  | 'freeDiskMb'
  | 'freePorts'
  | 'limitsDisk'
  | 'listedAt'
  | 'drainedAt'
  | 'unlistedAt'
  | 'unconfirmedAt'
> & { gpuModel: string }

export type ParsedImport = {
  machines: ImportedMachine[]
  /** GPU models of the file that the database lacks. */
  newModels: NewGpuModel[]
  /** Every address that could be parsed, even if the rest of its row could not. */
  addresses: PlacedAddress[]
  issues: RowIssue[]
}

type ModelsByName = ReadonlyMap<string, NewGpuModel>

/**
 * Parses the rows of an import. A row must not contradict the `known` GPU models. The catalog has facts of common
 * models: a row with a model that is new may omit these facts or replace them.
 */
export function parseMachines(
  rows: ImportRow[],
  known: ModelsByName,
  at: Date,
  catalog: ModelsByName = new Map(),
): ParsedImport {
  const models = new Map(known)
  const result: ParsedImport = { machines: [], newModels: [], addresses: [], issues: [] }
  for (const [row, given] of rows.entries()) {
    const { place, fields } = given
    if (!fields) {
      result.issues.push({ row, issue: { path: place, message: given.problem } })
      continue
    }
    const { values, issues } = parseValues(fields)
    const { model, issues: modelIssues } = resolveModel(values, models, catalog)
    if (model && !models.has(model.name)) {
      models.set(model.name, model)
      result.newModels.push(model)
    }
    const all = [...issues, ...modelIssues, ...findContradictions(values, at)]
    result.issues.push(...all.map(({ path, message }) => ({ row, issue: { path: `${place}: ${path}`, message } })))
    const { publicIp, firstPort, lastPort } = values
    if (publicIp !== undefined && firstPort !== undefined && lastPort !== undefined) {
      result.addresses.push({ row, place, publicIp, firstPort, lastPort })
    }
    if (all.length === 0 && model) result.machines.push(toMachine(values, model))
  }
  result.issues.push(...findSharedPortsInFile(result.addresses))
  return result
}

/** Sorts issues into the order of the file. */
export function sortIssues(issues: RowIssue[]): Issue[] {
  return issues.toSorted((a, b) => a.row - b.row).map(({ issue }) => issue)
}

/** The issues of a header line: unknown, repeated and missing columns. */
export function findColumnIssues(names: string[]): Issue[] {
  const unknown = names.filter(name => !Object.hasOwn(importColumns, name))
  const repeated = names.filter((name, index) => names.indexOf(name) < index)
  const missing = requiredColumns.filter(name => !names.includes(name))
  return [
    ...[...new Set(unknown)].map(name => ({ path: name, message: unknownColumnMessage })),
    ...[...new Set(repeated)].map(name => ({ path: name, message: 'appears more than once.' })),
    ...missing.map(name => ({ path: name, message: 'is missing.' })),
  ]
}

const unknownColumnMessage = 'is not the name of a column.'

function parseValues(fields: Record<string, unknown>): { values: ImportValues; issues: Issue[] } {
  const values: Record<string, unknown> = {}
  const issues = Object.keys(fields)
    .filter(name => !Object.hasOwn(importColumns, name))
    .map(path => ({ path: quote(path), message: unknownColumnMessage }))
  for (const [path, { type, defaultValue }] of Object.entries(importColumns)) {
    const given = fields[path]
    if (given === undefined || given === null || given === '') {
      if (defaultValue !== undefined) values[path] = defaultValue
      else if (requiredColumns.includes(path)) issues.push({ path, message: 'is missing.' })
      continue
    }
    const value = typeof given === 'object' ? undefined : type.parse(String(given).trim())
    if (value === undefined) issues.push({ path, message: `must be ${type.expected}, not ${quote(given)}.` })
    else values[path] = value
  }
  return { values, issues }
}

/** The GPU model of a row. A row must not contradict a known model, and must give every fact of a new one. */
function resolveModel(
  values: ImportValues,
  models: ModelsByName,
  catalog: ModelsByName,
): { model: NewGpuModel | undefined; issues: Issue[] } {
  const { gpuModel: name, gpuVendor: vendor, gpuRamMb: ramMb, gpuTflops: tflops } = values
  const { gpuMemoryBandwidthGigabytesPerSecond: memoryBandwidthGigabytesPerSecond, gpuMaxPowerWatts: maxPowerWatts } =
    values
  const computeCapability = values.gpuComputeCapability
  const facts = { vendor, ramMb, memoryBandwidthGigabytesPerSecond, tflops, maxPowerWatts, computeCapability }
  if (name === undefined) return { model: undefined, issues: [] }
  const model = models.get(name)
  const given = Object.entries(facts) as [keyof typeof facts, string | number | null | undefined][]
  if (!model) {
    const common = catalog.get(name)
    const completed = given.map(([fact, value]) => [fact, value === undefined ? common?.[fact] : value] as const)
    const missing = completed.filter(([, value]) => value === undefined)
    const message = `is required, because Berth does not know the GPU model "${name}" yet.`
    const issues = missing.map(([fact]) => ({ path: modelColumnName(fact), message }))
    // No fact is missing, and the type of its column has parsed each.
    return {
      model: missing.length > 0 ? undefined : ({ name, ...Object.fromEntries(completed) } as NewGpuModel),
      issues,
    }
  }
  const wrong = given.filter(([fact, value]) => {
    if (fact !== 'computeCapability') return value !== undefined && value !== model[fact]
    return computeCapability !== undefined && compareVersions(computeCapability, model.computeCapability) !== 0
  })
  const message = `differs from the known value of the GPU model "${name}".`
  return { model, issues: wrong.map(([fact]) => ({ path: modelColumnName(fact), message })) }
}

function modelColumnName(fact: string): string {
  return `gpu${fact.charAt(0).toUpperCase()}${fact.slice(1)}`
}

/** Issues between values that are each valid. */
export function findContradictions(values: ImportValues, at: Date): Issue[] {
  const { firstPort, lastPort, pricePerGpuHour, minimumBidPerGpuHour, listedUntil } = values
  const issues: Issue[] = []
  if (firstPort !== undefined && lastPort !== undefined && lastPort < firstPort) {
    issues.push({ path: 'lastPort', message: `must be at least firstPort, ${firstPort}, not ${lastPort}.` })
  }
  if (pricePerGpuHour !== undefined && minimumBidPerGpuHour !== undefined && minimumBidPerGpuHour > pricePerGpuHour) {
    issues.push({ path: 'minimumBidPerGpuHour', message: 'must be at most pricePerGpuHour.' })
  }
  if (listedUntil !== undefined && listedUntil <= at) {
    issues.push({ path: 'listedUntil', message: `must be later than now, ${at.toISOString()}.` })
  }
  return issues
}

function toMachine(values: ImportValues, model: NewGpuModel): ImportedMachine {
  const own = Object.entries(values).filter(([name]) => Object.hasOwn(importMachineColumns, name))
  const {
    pricePerGpuHour,
    minimumBidPerGpuHour,
    storagePricePerGbMonth,
    downloadPricePerGb,
    uploadPricePerGb,
    ...facts
  } =
    // The type of its column has parsed each value. A row without a required value has issues and does not get here.
    Object.fromEntries(own) as Required<MachineValues>
  const { cpuRamGb, diskGb, hasAvx, dlperfPerGpu, ...rest } = facts
  return {
    ...rest,
    // The types of these columns have converted GB to MB.
    cpuRamMb: cpuRamGb,
    diskMb: diskGb,
    hasAvx: hasAvx ?? rest.cpuArch === 'amd64',
    dlperfPerGpu: dlperfPerGpu ?? model.tflops,
    gpuNanos: pricePerGpuHour,
    minBidGpuNanos: minimumBidPerGpuHour ?? (pricePerGpuHour + 1n) / 2n,
    diskPricePerGbMonthNanos: storagePricePerGbMonth,
    downloadPricePerGbNanos: downloadPricePerGb,
    uploadPricePerGbNanos: uploadPricePerGb,
  }
}

function quote(given: unknown): string {
  const text = JSON.stringify(given)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
