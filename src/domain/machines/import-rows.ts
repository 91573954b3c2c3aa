import type { Issue } from '../errors.ts'
import { findSharedPortsInFile, type PlacedAddress, type RowIssue } from './addresses.ts'
import {
  type ImportValues,
  importColumns,
  type MachineValues,
  machineColumns,
  requiredColumns,
} from './import-columns.ts'
import type { GpuModel, Machine } from './machines.ts'

/** What a file says of a machine, or why that cannot be read, and where in the file: "line 2". */
export type ImportRow = { place: string } & (
  | { fields: Record<string, unknown> }
  | { fields?: undefined; problem: string }
)

export type NewGpuModel = Omit<GpuModel, 'id'>
/** A machine that is to be listed, with the name of its GPU model. */
type ImportedMachine = Omit<
  Machine,
  | 'id'
  | 'hostId'
  | 'gpuModelId'
  | 'freeDiskMb'
  | 'freePorts'
  | 'listedAt'
  | 'drainedAt'
  | 'unlistedAt'
  | 'unconfirmedAt'
> & { gpuModel: string }

export type ParsedImport = {
  machines: ImportedMachine[]
  /** The models that nobody knew. */
  newModels: NewGpuModel[]
  /** Every address that could be read, also where the rest of the line could not. */
  addresses: PlacedAddress[]
  /** Everything that is wrong. */
  issues: RowIssue[]
}

/** GPU models by their names. */
type ModelsByName = ReadonlyMap<string, NewGpuModel>

/**
 * Reads what a file says of machines, beside the GPU models that are known. The catalogue has facts of common models: a
 * file that names a new one need not repeat them, and may say otherwise.
 */
export function parseMachines(
  rows: ImportRow[],
  known: ModelsByName,
  at: Date,
  catalogue: ModelsByName = new Map(),
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
    const { model, issues: modelIssues } = resolveModel(values, models, catalogue)
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

/** In the order of the file. */
export function sortIssues(issues: RowIssue[]): Issue[] {
  return issues.toSorted((a, b) => a.row - b.row).map(({ issue }) => issue)
}

/** What is wrong with the names of the columns of a file that names them once. */
export function findColumnIssues(names: string[]): Issue[] {
  const unknown = names.filter(name => !Object.hasOwn(importColumns, name))
  const repeated = names.filter((name, index) => names.indexOf(name) < index)
  const missing = requiredColumns.filter(name => !names.includes(name))
  return [
    ...[...new Set(unknown)].map(name => ({ path: name, message: unknownColumnMessage })),
    ...[...new Set(repeated)].map(name => ({ path: name, message: 'is there more than once.' })),
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

/** The model of a line: a known one, which the line may not contradict, or a new one, of which everything must be known. */
function resolveModel(
  values: ImportValues,
  models: ModelsByName,
  catalogue: ModelsByName,
): { model: NewGpuModel | undefined; issues: Issue[] } {
  const { gpuModel: name, gpuArchitecture: architecture, gpuRamMb: ramMb, gpuTflops: tflops } = values
  const { gpuMemoryBandwidthGbps: memoryBandwidthGbps, gpuMaxPowerWatts: maxPowerWatts } = values
  const computeCapability = values.gpuComputeCapability
  const facts = { architecture, ramMb, memoryBandwidthGbps, tflops, maxPowerWatts, computeCapability }
  if (name === undefined) return { model: undefined, issues: [] }
  const model = models.get(name)
  const said = Object.entries(facts) as [keyof typeof facts, string | number | undefined][]
  if (!model) {
    const common = catalogue.get(name)
    const whole = said.map(([fact, value]) => [fact, value ?? common?.[fact]] as const)
    const missing = whole.filter(([, value]) => value === undefined)
    const message = `is missing, since the GPU model "${name}" is not known yet.`
    const issues = missing.map(([fact]) => ({ path: modelColumnName(fact), message }))
    // `whole` has every fact of a model, each read by its column, and none is missing.
    return { model: missing.length > 0 ? undefined : ({ name, ...Object.fromEntries(whole) } as NewGpuModel), issues }
  }
  const wrong = said.filter(([fact, value]) => value !== undefined && value !== model[fact])
  const message = `differs from what is known of the GPU model "${name}".`
  return { model, issues: wrong.map(([fact]) => ({ path: modelColumnName(fact), message })) }
}

function modelColumnName(fact: string): string {
  return `gpu${fact.charAt(0).toUpperCase()}${fact.slice(1)}`
}

/** What is wrong between values that are right each. */
function findContradictions(values: ImportValues, at: Date): Issue[] {
  const { firstPort, lastPort, gpuPricePerHour, minBidPerHour, listedUntil } = values
  const issues: Issue[] = []
  if (firstPort !== undefined && lastPort !== undefined && lastPort < firstPort) {
    issues.push({ path: 'lastPort', message: `must be at least firstPort, ${firstPort}, not ${lastPort}.` })
  }
  if (gpuPricePerHour !== undefined && minBidPerHour !== undefined && minBidPerHour > gpuPricePerHour) {
    issues.push({ path: 'minBidPerHour', message: 'must be at most gpuPricePerHour.' })
  }
  if (listedUntil !== undefined && listedUntil <= at) {
    issues.push({ path: 'listedUntil', message: `must be after now, ${at.toISOString()}.` })
  }
  return issues
}

function toMachine(values: ImportValues, model: NewGpuModel): ImportedMachine {
  const own = Object.entries(values).filter(([name]) => Object.hasOwn(machineColumns, name))
  const { gpuPricePerHour, minBidPerHour, storagePricePerGbMonth, downloadPricePerGb, uploadPricePerGb, ...facts } =
    // Each value was read by its column, and a row that lacks a required one has issues and does not get here.
    Object.fromEntries(own) as Required<MachineValues>
  const { cpuRamGb, diskGb, hasAvx, dlperfPerGpu, ...rest } = facts
  return {
    ...rest,
    cpuRamMb: cpuRamGb,
    diskMb: diskGb,
    hasAvx: hasAvx ?? rest.cpuArch === 'amd64',
    dlperfPerGpu: dlperfPerGpu ?? model.tflops,
    gpuNanos: gpuPricePerHour,
    minBidGpuNanos: minBidPerHour ?? (gpuPricePerHour + 1n) / 2n,
    storageNanos: storagePricePerGbMonth,
    downloadNanos: downloadPricePerGb,
    uploadNanos: uploadPricePerGb,
  }
}

function quote(given: unknown): string {
  const text = JSON.stringify(given)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
