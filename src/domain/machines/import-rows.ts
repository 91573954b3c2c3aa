import type { Issue } from '../errors.ts'
import { type PlacedAddress, type RowIssue, sharedInFile } from './addresses.ts'
import { type ImportValues, importColumns, type MachineValues, machineColumns, requiredColumns } from './import.ts'
import type { GpuModel, Machine } from './machines.ts'

/** What a file says of a machine, or why that cannot be read, and where in the file: "line 2". */
export type ImportRow = { place: string } & (
  | { fields: Record<string, unknown> }
  | { fields?: undefined; problem: string }
)

export type NewModel = Omit<GpuModel, 'id'>
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

export type Import = {
  machines: ImportedMachine[]
  /** The models that nobody knew. */
  newModels: NewModel[]
  /** Every address that could be read, also where the rest of the line could not. */
  addresses: PlacedAddress[]
  /** Everything that is wrong. */
  issues: RowIssue[]
}

/** GPU models by their names. */
type Models = ReadonlyMap<string, NewModel>

/**
 * Reads what a file says of machines, beside the GPU models that are known. The catalogue has facts of common models: a
 * file that names a new one need not repeat them, and may say otherwise.
 */
export function readMachines(rows: ImportRow[], known: Models, at: Date, catalogue: Models = new Map()): Import {
  const models = new Map(known)
  const result: Import = { machines: [], newModels: [], addresses: [], issues: [] }
  for (const [row, given] of rows.entries()) {
    const { place, fields } = given
    if (!fields) {
      result.issues.push({ row, issue: { path: place, message: given.problem } })
      continue
    }
    const { values, issues } = readValues(fields)
    const { model, issues: modelIssues } = readModel(values, models, catalogue)
    if (model && !models.has(model.name)) {
      models.set(model.name, model)
      result.newModels.push(model)
    }
    const all = [...issues, ...modelIssues, ...contradictions(values, at)]
    result.issues.push(...all.map(({ path, message }) => ({ row, issue: { path: `${place}: ${path}`, message } })))
    const { publicIp, firstPort, lastPort } = values
    if (publicIp !== undefined && firstPort !== undefined && lastPort !== undefined) {
      result.addresses.push({ row, place, publicIp, firstPort, lastPort })
    }
    if (all.length === 0 && model) result.machines.push(machineOf(values, model))
  }
  result.issues.push(...sharedInFile(result.addresses))
  return result
}

/** In the order of the file. */
export function inOrder(issues: RowIssue[]): Issue[] {
  return issues.toSorted((a, b) => a.row - b.row).map(({ issue }) => issue)
}

/** What is wrong with the names of the columns of a file that names them once. */
export function checkColumns(names: string[]): Issue[] {
  const unknown = names.filter(name => !Object.hasOwn(importColumns, name))
  const repeated = names.filter((name, index) => names.indexOf(name) < index)
  const missing = requiredColumns.filter(name => !names.includes(name))
  return [
    ...[...new Set(unknown)].map(name => ({ path: name, message: noColumn })),
    ...[...new Set(repeated)].map(name => ({ path: name, message: 'is there more than once.' })),
    ...missing.map(name => ({ path: name, message: 'is missing.' })),
  ]
}

const noColumn = 'is not the name of a column.'

function readValues(fields: Record<string, unknown>): { values: ImportValues; issues: Issue[] } {
  const values: Record<string, unknown> = {}
  const issues = Object.keys(fields)
    .filter(name => !Object.hasOwn(importColumns, name))
    .map(path => ({ path: quoted(path), message: noColumn }))
  for (const [path, { kind, fallback }] of Object.entries(importColumns)) {
    const given = fields[path]
    if (given === undefined || given === null || given === '') {
      if (fallback !== undefined) values[path] = fallback
      else if (requiredColumns.includes(path)) issues.push({ path, message: 'is missing.' })
      continue
    }
    const value = typeof given === 'object' ? undefined : kind.read(String(given).trim())
    if (value === undefined) issues.push({ path, message: `must be ${kind.must}, not ${quoted(given)}.` })
    else values[path] = value
  }
  return { values, issues }
}

/** The model of a line: a known one, which the line may not contradict, or a new one, of which everything must be known. */
function readModel(
  values: ImportValues,
  models: Models,
  catalogue: Models,
): { model: NewModel | undefined; issues: Issue[] } {
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
    const issues = missing.map(([fact]) => ({ path: columnOf(fact), message }))
    // `whole` has every fact of a model, each read by its column, and none is missing.
    return { model: missing.length > 0 ? undefined : ({ name, ...Object.fromEntries(whole) } as NewModel), issues }
  }
  const wrong = said.filter(([fact, value]) => value !== undefined && value !== model[fact])
  const message = `differs from what is known of the GPU model "${name}".`
  return { model, issues: wrong.map(([fact]) => ({ path: columnOf(fact), message })) }
}

function columnOf(fact: string): string {
  return `gpu${fact.charAt(0).toUpperCase()}${fact.slice(1)}`
}

/** What is wrong between values that are right each. */
function contradictions(values: ImportValues, at: Date): Issue[] {
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

function machineOf(values: ImportValues, model: NewModel): ImportedMachine {
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

function quoted(given: unknown): string {
  const text = JSON.stringify(given)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
