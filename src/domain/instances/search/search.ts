// What a search of instances can filter and order by, for clients that name columns of a row.

import { type Issue, invalidInput } from '../../errors.ts'
import { nanosOfNumber } from '../../money.ts'
import { parseBoolean, parseNumber, quoteValue } from '../../offers/filter.ts'
import type { Direction } from '../../offers/order.ts'
import type { Instance } from '../instances.ts'
import { type InstanceStatus, instanceStatuses } from '../states.ts'

/** How a field compares. Words ignore case, texts do not; of amounts in dollars the nano-dollars are compared. */
const fieldKinds = {
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
  computePerHour: 'usd',
  pricePerHour: 'usd',
  storagePerHour: 'usd',
  createdAt: 'number',
  endsAt: 'number',
} as const
export type InstanceField = keyof typeof fieldKinds
export type InstanceFieldKind = (typeof fieldKinds)[InstanceField]

export function kindOf(field: InstanceField): InstanceFieldKind {
  return fieldKinds[field]
}

export const instanceOperators = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'nin'] as const
export type InstanceOperator = (typeof instanceOperators)[number]

type Value = number | bigint | string | boolean
/** A field compared with values, of which null stands for nothing: one, or for `in` and `nin` any number of them. */
export type InstanceCondition = { field: InstanceField; operator: InstanceOperator; values: (Value | null)[] }
export type InstanceOrderKey = { field: InstanceField; direction: Direction }
export type InstanceSearch = { conditions: InstanceCondition[]; order: InstanceOrderKey[] }

export const maxInstanceOperands = 200
const maxConditions = 50
const maxOrderKeys = 4

/** A condition, or what is wrong with it. Numbers and booleans may come as texts, as old clients send them. */
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
    const value = raw === null ? null : operandReaders[fieldKinds[field]](raw)
    if (value === undefined) return `${quoteValue(raw)} is not ${kindNames[fieldKinds[field]]}`
    if (value === null && !['eq', 'neq', 'in', 'nin'].includes(operator)) return 'cannot be compared with null'
    values.push(value)
  }
  return { field, operator, values }
}

const kindNames: Record<InstanceFieldKind, string> = {
  number: 'a number',
  usd: 'an amount',
  text: 'a text',
  word: 'a text',
  boolean: 'a boolean',
}

const readText = (raw: unknown) =>
  typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0') ? raw : undefined
const operandReaders: Record<InstanceFieldKind, (raw: unknown) => Value | undefined> = {
  number: parseNumber,
  usd(raw) {
    const dollars = parseNumber(raw)
    return dollars === undefined ? undefined : nanosOfNumber(dollars)
  },
  text: readText,
  word: raw => readText(raw)?.toLowerCase(),
  boolean: parseBoolean,
}

/** Refuses a search that its reader found fault with, or that would cost too much to answer. */
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

/** As asked for, each field once, then the oldest first: so that no two instances stand in one place. */
export function totalInstanceOrder(order: InstanceOrderKey[]): InstanceOrderKey[] {
  const distinctKeys = order.filter(({ field }, index) => order.findIndex(other => other.field === field) === index)
  return distinctKeys.some(({ field }) => field === 'id')
    ? distinctKeys
    : [...distinctKeys, { field: 'id', direction: 'asc' }]
}

/** The statuses that clients of rows know. */
export type ShownStatus = Exclude<InstanceStatus, 'scheduling' | 'stopping'>
export const shownStatuses = instanceStatuses.filter(status => status !== 'scheduling' && status !== 'stopping')

/**
 * In those: what waits for its GPUs is called as it was before, and what stops runs until it has. But who restarts it
 * waits for it to run, and is not told so of what goes down.
 */
export function shownStatusOf(
  instance: Pick<Instance, 'status' | 'targetState' | 'startedAt' | 'restart'>,
): ShownStatus {
  const { status, targetState, startedAt, restart } = instance
  if (targetState === 'running' && (status === 'stopping' || (status === 'running' && restart))) return 'loading'
  if (status === 'scheduling') return startedAt ? 'stopped' : 'created'
  return status === 'stopping' ? 'running' : status
}
