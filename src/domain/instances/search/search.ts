// Filters and orders of an instance search, for clients that name the columns of a row.

import { type Issue, invalidInput } from '../../errors.ts'
import { nanosOfNumber } from '../../money.ts'
import type { Direction } from '../../offers/order.ts'
import { parseBoolean, parseNumber, quoteValue } from '../../values.ts'
import type { Instance } from '../instances.ts'
import { type InstanceStatus, instanceStatuses } from '../states.ts'

/** How a field compares: a word ignores case, a text does not, and `usd` compares nano-dollars. */
const fieldTypes = {
  id: 'number',
  label: 'text',
  shownStatus: 'word',
  targetState: 'word',
  held: 'word',
  interruptible: 'boolean',
  image: 'text',
  templateId: 'number',
  templateHash: 'word',
  gpuName: 'word',
  numGpus: 'number',
  gpuRamMb: 'number',
  gpuTotalRamMb: 'number',
  cpuCores: 'number',
  cpuRamMb: 'number',
  diskGb: 'number',
  cudaVersion: 'number',
  downloadMbps: 'number',
  uploadMbps: 'number',
  machineId: 'number',
  hostId: 'number',
  country: 'word',
  verification: 'word',
  reliability: 'number',
  gpuPricePerHour: 'usd',
  pricePerHour: 'usd',
  storagePerHour: 'usd',
  createdAt: 'number',
  endsAt: 'number',
} as const
export type InstanceField = keyof typeof fieldTypes
export type InstanceFieldType = (typeof fieldTypes)[InstanceField]

export function fieldTypeOf(field: InstanceField): InstanceFieldType {
  return fieldTypes[field]
}

const instanceOperators = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'nin'] as const
type InstanceOperator = (typeof instanceOperators)[number]

type Value = number | bigint | string | boolean
/** Compares a field with one value or, for `in` and `nin`, with any number. A null value matches an empty field. */
export type InstanceCondition = { field: InstanceField; operator: InstanceOperator; values: (Value | null)[] }
export type InstanceOrderKey = { field: InstanceField; direction: Direction }
export type InstanceSearch = { conditions: InstanceCondition[]; order: InstanceOrderKey[] }

const maxInstanceOperands = 200
const maxConditions = 50
const maxOrderKeys = 4

/** A condition, or the problem with it. Old clients send numbers and booleans as strings. */
export function readInstanceCondition(
  field: InstanceField,
  operator: InstanceOperator,
  operand: unknown,
): InstanceCondition | string {
  const isList = operator === 'in' || operator === 'nin'
  const operands = isList && Array.isArray(operand) ? operand : [operand]
  if (operands.length > maxInstanceOperands) {
    return `takes at most ${maxInstanceOperands} values, not ${operands.length}`
  }
  const values: (Value | null)[] = []
  for (const raw of operands) {
    const value = raw === null ? null : operandReaders[fieldTypes[field]](raw)
    if (value === undefined) return `${quoteValue(raw)} is not ${typeNames[fieldTypes[field]]}`
    if (value === null && !['eq', 'neq', 'in', 'nin'].includes(operator)) return 'cannot be compared with null'
    values.push(value)
  }
  return { field, operator, values }
}

const typeNames: Record<InstanceFieldType, string> = {
  number: 'a number',
  usd: 'an amount',
  text: 'a string',
  word: 'a string',
  boolean: 'a boolean',
}

const readText = (raw: unknown) =>
  typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0') ? raw : undefined
const operandReaders: Record<InstanceFieldType, (raw: unknown) => Value | undefined> = {
  number: parseNumber,
  usd(raw) {
    const dollars = parseNumber(raw)
    return dollars === undefined ? undefined : nanosOfNumber(dollars)
  },
  text: readText,
  word: raw => readText(raw)?.toLowerCase(),
  boolean: parseBoolean,
}

/** Refuses a search with parse issues, or one that costs too much. */
export function checkInstanceSearch(search: InstanceSearch, parseIssues: Issue[]): InstanceSearch {
  const { conditions, order } = search
  const issues = [...parseIssues]
  const limit = (path: string, count: number, most: number) => {
    if (count > most) issues.push({ path, message: `has ${count} parts; at most ${most} are allowed.` })
  }
  limit('filter', conditions.length, maxConditions)
  limit('order', order.length, maxOrderKeys)
  if (issues.length > 0) throw invalidInput(issues)
  return search
}

/** The requested order with each field once, then by id, so that no two instances share a position. */
export function totalInstanceOrder(order: InstanceOrderKey[]): InstanceOrderKey[] {
  const distinctKeys = order.filter(({ field }, index) => order.findIndex(other => other.field === field) === index)
  return distinctKeys.some(({ field }) => field === 'id')
    ? distinctKeys
    : [...distinctKeys, { field: 'id', direction: 'asc' }]
}

/** The statuses that clients of rows know. The others are shown as one of these. */
export type ShownStatus = Exclude<InstanceStatus, 'scheduling' | 'stopping'>
export const shownStatuses = instanceStatuses.filter(status => status !== 'scheduling' && status !== 'stopping')

/**
 * An instance that waits for its GPUs keeps the status it had before. A stopping one is shown as running. A restarting one
 * is shown as loading: a client that waits for `running` must not mistake the old container for the new one.
 */
export function shownStatusOf(
  instance: Pick<Instance, 'status' | 'targetState' | 'startedAt' | 'restart'>,
): ShownStatus {
  const { status, targetState, startedAt, restart } = instance
  if (targetState === 'running' && (status === 'stopping' || (status === 'running' && restart))) return 'loading'
  if (status === 'scheduling') return startedAt ? 'stopped' : 'created'
  return status === 'stopping' ? 'running' : status
}
