// Which instances of an account a list, a command or a stream is about.

import {
  type EqualityConditions,
  listConditionIssues,
  type TextConditions,
  textConditionIssues,
} from '../conditions.ts'
import { type Issue, invalidInput } from '../errors.ts'
import { type InstantFilter, instantFilterIssues } from '../instants.ts'
import { type Condition, type Operator, parseCondition } from '../offers/filter.ts'
import type { RentalKind } from '../offers/offers.ts'
import { textProblem } from '../texts.ts'
import type { InstanceStatus, TargetState } from './states.ts'

export const maxIdsPerFilter = 1_000

type OrderConditions<Value> = {
  gt?: Value | undefined
  gte?: Value | undefined
  lt?: Value | undefined
  lte?: Value | undefined
}
export type IdConditions = EqualityConditions<bigint>
export type NumberConditions = EqualityConditions<number> & OrderConditions<number>

/** An instance must match every given field. Destroyed instances match only if `ids` or `status` asks for them. */
export type InstanceFilter = {
  ids?: bigint[] | undefined
  label?: TextConditions | undefined
  status?: (InstanceStatus | 'destroyed')[] | undefined
  targetState?: TargetState | undefined
  rentalKind?: RentalKind | undefined
  gpuName?: TextConditions | undefined
  numGpus?: NumberConditions | undefined
  machineId?: IdConditions | undefined
  templateId?: bigint | undefined
  templateHashId?: string | undefined
  createdAt?: InstantFilter | undefined
  idempotencyKey?: string | undefined
}

/** Refuses a filter that costs too much, or that has a string that no row can contain. */
export function checkInstanceFilter(filter: InstanceFilter): void {
  const { ids = [], label = {}, gpuName = {}, templateHashId, idempotencyKey } = filter
  const issues = [
    ...(ids.length > maxIdsPerFilter
      ? [{ path: 'filter.ids', message: `takes at most ${maxIdsPerFilter} ids, not ${ids.length}.` }]
      : []),
    ...Object.entries({ label, gpuName }).flatMap(([name, texts]) => textConditionIssues(texts, `filter.${name}`)),
    ...Object.entries({ templateHashId, idempotencyKey }).flatMap(([name, text]) => textIssue(text, `filter.${name}`)),
    ...listConditionIssues(filter.machineId, 'filter.machineId'),
    ...listConditionIssues(filter.numGpus, 'filter.numGpus'),
    ...instantFilterIssues(filter.createdAt ?? {}, 'filter.createdAt'),
  ]
  if (issues.length > 0) throw invalidInput(issues)
}

/** The conditions on the name of the GPU model, as a search for offers has them. */
export function gpuNameConditions({ gpuName = {} }: InstanceFilter): Condition[] {
  return Object.entries(gpuName).flatMap(([operator, operand]) => {
    // Safe: the fields of text conditions are operators.
    const condition = operand === undefined ? '' : parseCondition('gpuName', operator as Operator, operand)
    return typeof condition === 'string' ? [] : [condition]
  })
}

function textIssue(text: string | undefined, path: string): Issue[] {
  const message = text === undefined ? undefined : textProblem(text)
  return message ? [{ path, message }] : []
}

/** Whether every living instance matches, because no field has a condition that an instance could fail. */
export function isEmptyFilter(filter: InstanceFilter): boolean {
  return Object.values(filter).every(value => {
    if (value === undefined) return true
    if (typeof value !== 'object' || Array.isArray(value)) return false
    return Object.entries(value).every(([operator, operand]) => {
      // Each text contains "", and each value is outside an empty list.
      if (operator === 'contains' || operator === 'startsWith') return operand === undefined || operand === ''
      return operand === undefined || (operator === 'nin' && (operand as unknown[]).length === 0)
    })
  })
}
