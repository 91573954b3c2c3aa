import { invalidInput } from '../errors.ts'
import type { Direction } from '../offers/order.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'
import { textProblem } from '../texts.ts'
import type { Instance } from './instances.ts'
import type { InstanceStatus, TargetState } from './states.ts'

export const maxIdsPerFilter = 100

/** An instance must match every given field. */
export type InstanceFilter = {
  ids?: bigint[] | undefined
  label?: string | undefined
  status?: InstanceStatus[] | undefined
  targetState?: TargetState | undefined
  gpuName?: string | undefined
  idempotencyKey?: string | undefined
}

/** Refuses a filter that costs too much, or that has a string that no row can contain. */
export function checkInstanceFilter({ ids = [], label = '', gpuName = '', idempotencyKey = '' }: InstanceFilter): void {
  const issues = [
    ...(ids.length > maxIdsPerFilter
      ? [{ path: 'filter.ids', message: `takes at most ${maxIdsPerFilter} ids, not ${ids.length}.` }]
      : []),
    ...Object.entries({ label, gpuName, idempotencyKey }).flatMap(([name, text]) => {
      const message = textProblem(text)
      return message ? [{ path: `filter.${name}`, message }] : []
    }),
  ]
  if (issues.length > 0) throw invalidInput(issues)
}

export type InstanceOrder = { field: 'createdAt' | 'pricePerHour' | 'label'; direction: Direction }

/** The position of an instance in an order. The id makes it unique. */
export type InstancePosition = { value: string; id: bigint }

export function positionOf(instance: Instance, { field }: InstanceOrder): InstancePosition {
  const { id, gpuPriceNanos, diskNanos, label } = instance
  const values = {
    // Ids ascend in the order of creation.
    createdAt: () => String(id),
    pricePerHour: () => String(gpuPriceNanos + diskNanos),
    label: () => label ?? '',
  }
  return { value: values[field](), id }
}

const scopeOf = ({ field, direction }: InstanceOrder) => `instances by ${field} ${direction}`

export function printInstanceCursor({ value, id }: InstancePosition, order: InstanceOrder): string {
  return printCursor(scopeOf(order), [value, String(id)])
}

const formats: Record<InstanceOrder['field'], RegExp> = {
  createdAt: /^\d{1,18}$/,
  pricePerHour: /^\d{1,18}$/,
  label: /^[^\0]*$/,
}

export function parseInstanceCursor(cursor: string, order: InstanceOrder): InstancePosition {
  const [value, id, ...rest] = parseCursor(cursor, scopeOf(order))
  if (typeof value === 'string' && typeof id === 'string' && rest.length === 0) {
    if (formats[order.field].test(value) && value.isWellFormed() && /^\d{1,18}$/.test(id))
      return { value, id: BigInt(id) }
  }
  throw invalidCursor()
}
