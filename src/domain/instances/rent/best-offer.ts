// Renting the best offer of a search: which offers are tried, and which failures move on to the next offer.

import { type Attempt, DomainError, type Issue, invalidInput } from '../../errors.ts'
import type { Port } from '../../launch/env.ts'
import type { Launch, LaunchInput } from '../../launch/launch.ts'
import type { Condition, OfferFilter } from '../../offers/filter.ts'
import type { RentalKind } from '../../offers/offers.ts'
import type { OrderKey } from '../../offers/order.ts'
import { newVolumesMb } from '../../volumes/mount.ts'
import type { VolumeFacts } from '../../volumes/volumes.ts'
import {
  type ReplaceInput,
  type Replacement,
  readSearch,
  replaceIssues,
  replacementFrom,
} from '../policy/replacement.ts'
import type { RentalTerms, RentInput } from './decide.ts'

export type RentBestOfferInput = {
  filter: OfferFilter
  order: OrderKey[]
  terms: RentalTerms
  launch: LaunchInput
  template?: RentInput['template']
  policy?: RentInput['policy']
  maxAttempts: number
  /** Replace the instance if it does not run in time. */
  replace?: ReplaceInput | undefined
  /** The rental kind of the search, if it names one. */
  type?: RentalKind | undefined
}

export const maxAttempts = 50

/** Throws all problems of the input that do not depend on the offers found. */
export function checkRentBestOfferInput(input: RentBestOfferInput): void {
  const { maxAttempts: attempts, type, terms, filter, replace, launch } = input
  const issues: Issue[] = replace ? replaceIssues(replace, launch) : []
  if (attempts < 1 || attempts > maxAttempts) {
    issues.push({ path: 'maxAttempts', message: `must be from 1 to ${maxAttempts}, not ${attempts}.` })
  }
  if (type === 'interruptible' && !terms.interruptible) {
    issues.push({ path: 'bid', message: 'is required in a search for interruptible offers.' })
  }
  if (terms.interruptible && filter.conditions.some(condition => isPriceBelowBid(condition, terms.bidNanos))) {
    issues.push({ path: 'bid', message: 'is higher than the price limit of the search: you pay what you bid.' })
  }
  if (issues.length > 0) throw invalidInput(issues)
}

/** Whether a condition limits the price to less than the bid. The search itself compares the minimum bid of an offer. */
function isPriceBelowBid(condition: Condition, bidNanos: bigint): boolean {
  const { field, operator } = condition
  if (field !== 'pricePerHour' && field !== 'gpuPricePerHour') return false
  const value = 'value' in condition ? condition.value : undefined
  if (typeof value !== 'bigint') return false
  return (operator === 'lte' && value < bidNanos) || (operator === 'lt' && value <= bidNanos)
}

/** What a replacement searches by. */
type Search = Pick<RentBestOfferInput, 'filter' | 'order' | 'terms' | 'maxAttempts' | 'type'>

export function replacementOf(input: RentBestOfferInput): Replacement | undefined {
  const { replace, filter, order, terms, maxAttempts: attempts, type } = input
  const search: Search = { filter, order, terms, maxAttempts: attempts, type }
  return replace && replacementFrom(replace, search)
}

export function searchOf({ search }: Pick<Replacement, 'search'>): Search {
  return readSearch<Search>(search)
}

/** Never waits for GPUs: the caller wants the best offer that is free now. */
export function attemptInput(input: RentBestOfferInput, offerId: bigint): RentInput {
  const { terms, launch, template, policy } = input
  return { offerId, terms, launch, template, policy, replacement: replacementOf(input), failIfUnavailable: true }
}

/** The caller's search, narrowed to offers that can be rented on these terms with this launch. */
export function bestOfferSearch(
  { filter, order, terms }: RentBestOfferInput,
  { launch, ports }: { launch: Launch; ports: Port[] },
  { volumes, passedOver }: { volumes: VolumeFacts[]; passedOver: readonly number[] },
) {
  const diskMb = launch.diskMb + newVolumesMb(launch.newVolumes)
  const [price, maxPriceNanos] = terms.interruptible
    ? (['minimumBidPerHour', terms.bidNanos] as const)
    : (['pricePerHour', terms.maxPriceNanos] as const)
  const conditions: Condition[] = [
    ...filter.conditions,
    { field: 'rentable', operator: 'eq', value: true },
    { field: 'freeDiskGb', operator: 'gte', value: diskMb / 1000 },
    ...(maxPriceNanos === undefined ? [] : [{ field: price, operator: 'lte', value: maxPriceNanos } as const]),
    // A volume is on one machine for life.
    ...volumes.map(({ machineId }): Condition => ({ field: 'machineId', operator: 'eq', value: machineId })),
    ...notOnMachines(passedOver),
    ...(ports.length > 0 ? [{ field: 'freePorts', operator: 'gte', value: ports.length } as const] : []),
    ...(launch.vm ? [{ field: 'vmsEnabled', operator: 'eq', value: true } as const] : []),
  ]
  const rentalKind = terms.interruptible ? ('interruptible' as const) : ('onDemand' as const)
  // The price includes new volumes, so that the price limit covers them.
  const pricing = { rentalKind, diskMb }
  return { filter: { ...filter, conditions }, order, pricing, bundled: true }
}

function notOnMachines(machineIds: readonly number[]): Condition[] {
  return machineIds.length > 0 ? [{ field: 'machineId', operator: 'nin', values: [...machineIds] }] : []
}

/** The code of a failure that is specific to one offer, so the next offer is tried; undefined if every offer would fail. */
export function offerSpecificCode(error: unknown): NonNullable<Attempt['code']> | undefined {
  // The input was checked before, so an invalid input now means that the machine lacks something.
  const offerSpecificCodes = ['OFFER_UNAVAILABLE', 'PRICE_CHANGED', 'BID_TOO_LOW', 'INVALID_INPUT'] as const
  return error instanceof DomainError ? offerSpecificCodes.find(code => code === error.code) : undefined
}
