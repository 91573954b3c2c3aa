// What each instance and volume cost in a period, for clients that read bills.

import { DomainError } from '../errors.ts'
import { parseCursor, printCursor } from '../pages.ts'
import type { ChargeKind } from './balance.ts'

export const chargedResources = ['instance', 'volume'] as const
export type ChargedResource = (typeof chargedResources)[number]

/** Up to but not with its end. */
export type Period = { from: Date; to: Date }

export type ChargesQuery = Period & {
  resources: readonly ChargedResource[]
  /** Things in the order in which they were rented or made, or the other way round. */
  latestFirst: boolean
  limit: number
  after?: string | undefined
}

/** What its GPUs or its disk cost, between the first and the last instant of the period at which they did. */
export type ChargeItem = { kind: ChargeKind; start: Date; end: Date; costNanos: bigint }
export type ResourceCharges = { instanceId: bigint | null; volumeId: bigint | null; items: ChargeItem[] }
export type ChargesPage = {
  charges: ResourceCharges[]
  /** Where the next page begins; null behind the last one. */
  next: string | null
  /** How many things cost something in the period, on all pages. */
  total: number
}

export const maxChargedResources = 500
/** Two years and some. */
export const maxChargedDays = 744

const dayMs = 86_400_000

export function checkChargesPeriod({ from, to }: Period): void {
  const days = Math.ceil((to.getTime() - from.getTime()) / dayMs)
  if (days > maxChargedDays) {
    throw new DomainError(
      'INVALID_INPUT',
      `Charges are read for at most ${maxChargedDays} days at once, not ${days}.`,
      { issues: [] },
    )
  }
}

/** The days of UTC that a period has a part in, whole. */
export function extendToWholeDays({ from, to }: Period): Period {
  const first = Math.floor(from.getTime() / dayMs)
  const last = Math.ceil(to.getTime() / dayMs)
  return { from: new Date(first * dayMs), to: new Date(last * dayMs) }
}

/** Of everything together, or of a part of it: its costs and when they began and ended. */
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

/** Every thing has one meter for its disk: in their order things are given. */
export function printChargesCursor(meterId: bigint, latestFirst: boolean): string {
  return printCursor(scopeOf(latestFirst), [String(meterId)])
}

export function parseChargesCursor(cursor: string, latestFirst: boolean): bigint {
  const [id, ...rest] = parseCursor(cursor, scopeOf(latestFirst))
  if (typeof id === 'string' && /^\d{1,18}$/.test(id) && rest.length === 0) return BigInt(id)
  throw new DomainError('INVALID_CURSOR', 'This is not a token of this list.')
}
