// Costs of each instance and volume in a period, for clients that read bills.

import { DomainError } from '../errors.ts'
import { parseCursor, printCursor } from '../pages.ts'
import type { ChargeKind } from './balance.ts'

export const chargedResources = ['instance', 'volume'] as const
type ChargedResource = (typeof chargedResources)[number]

/** Includes `startsAt` and excludes `endsAt`. */
export type Period = { startsAt: Date; endsAt: Date }

export type ChargesQuery = Period & {
  resources: readonly ChargedResource[]
  /** Whether to list the newest rental or volume first instead of the oldest. */
  latestFirst: boolean
  limit: number
  after?: string | undefined
}

/** The cost of a resource's GPUs or disk. `start` and `end` bound the time in the period in which it cost anything. */
export type ChargeItem = { kind: ChargeKind; start: Date; end: Date; costNanos: bigint }
export type ResourceCharges = { instanceId: bigint | null; volumeId: bigint | null; items: ChargeItem[] }
export type ChargesPage = {
  charges: ResourceCharges[]
  /** The cursor of the next page; null on the last page. */
  next: string | null
  /** The number of resources that cost anything in the period, on all pages. */
  total: number
}

export const maxChargedResources = 500
/** A little over two years. */
export const maxChargedDays = 744

const dayMs = 86_400_000

export function checkChargesPeriod({ startsAt, endsAt }: Period): void {
  const days = Math.ceil((endsAt.getTime() - startsAt.getTime()) / dayMs)
  if (days > maxChargedDays) {
    throw new DomainError(
      'INVALID_INPUT',
      `The period is ${days} days long, and at most ${maxChargedDays} days are allowed. Ask for a shorter period.`,
      { issues: [] },
    )
  }
}

/** Extends a period to whole UTC days. */
export function extendToWholeDays({ startsAt, endsAt }: Period): Period {
  const first = Math.floor(startsAt.getTime() / dayMs)
  const last = Math.ceil(endsAt.getTime() / dayMs)
  return { startsAt: new Date(first * dayMs), endsAt: new Date(last * dayMs) }
}

/** Adds up the costs of items. The result spans from their first start to their last end. */
export function summarizeCharges(items: readonly ChargeItem[]): Omit<ChargeItem, 'kind'> {
  const starts = items.map(({ start }) => start.getTime())
  const ends = items.map(({ end }) => end.getTime())
  return {
    start: new Date(Math.min(...starts)),
    end: new Date(Math.max(...ends)),
    costNanos: items.reduce((sum, { costNanos }) => sum + costNanos, 0n),
  }
}

const scopeOf = (latestFirst: boolean) => `charges by thing ${latestFirst ? 'desc' : 'asc'}`

/** Each resource has exactly one disk meter; the list is sorted by its id. */
export function printChargesCursor(meterId: bigint, latestFirst: boolean): string {
  return printCursor(scopeOf(latestFirst), [String(meterId)])
}

export function parseChargesCursor(cursor: string, latestFirst: boolean): bigint {
  const [id, ...rest] = parseCursor(cursor, scopeOf(latestFirst))
  if (typeof id === 'string' && /^\d{1,18}$/.test(id) && rest.length === 0) return BigInt(id)
  throw new DomainError('INVALID_CURSOR', 'This is not a token of this list.')
}
