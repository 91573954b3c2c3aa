// Renting the best offer of a search: which offers are tried, and which failures lead to the next.

import { type Attempt, DomainError, type Issue, invalidInput } from '../../errors.ts'
import type { Port } from '../../launch/env.ts'
import type { Launch, LaunchInput } from '../../launch/launch.ts'
import type { Condition, OfferFilter } from '../../offers/filter.ts'
import type { RentalType } from '../../offers/offers.ts'
import type { OrderKey } from '../../offers/order.ts'
import { newVolumesMb, type VolumeFacts } from '../../volumes/mount.ts'
import type { RentalTerms, RentInput } from './decide.ts'

export type RentBestOfferInput = {
  filter: OfferFilter
  order: OrderKey[]
  terms: RentalTerms
  launch: LaunchInput
  templateHash?: string | undefined
  policy?: RentInput['policy']
  maxAttempts: number
  /** What the search is for, where it says so. */
  type?: RentalType | undefined
}

export const maxAttempts = 50

/** Everything that is wrong with what is looked for, whatever is found. */
export function checkRentBestOfferInput({ maxAttempts: attempts, type, terms, filter }: RentBestOfferInput): void {
  const issues: Issue[] = []
  if (attempts < 1 || attempts > maxAttempts) {
    issues.push({ path: 'maxAttempts', message: `must be from 1 to ${maxAttempts}, not ${attempts}.` })
  }
  if (type === 'interruptible' && !terms.interruptible) {
    issues.push({ path: 'bid', message: 'is required where interruptible offers are searched.' })
  }
  if (terms.interruptible && filter.conditions.some(condition => isPriceBelowBid(condition, terms.bidNanos))) {
    issues.push({ path: 'bid', message: 'is more than the search allows for the price: it is what you pay.' })
  }
  if (issues.length > 0) throw invalidInput(issues)
}

/** Whether a condition keeps the price below what is bid. What is found has the least bid as its price. */
function isPriceBelowBid(condition: Condition, bidNanos: bigint): boolean {
  const { field, operator } = condition
  if (field !== 'pricePerHour' && field !== 'computePricePerHour') return false
  const value = 'value' in condition ? condition.value : undefined
  if (typeof value !== 'bigint') return false
  return (operator === 'lte' && value < bidNanos) || (operator === 'lt' && value <= bidNanos)
}

/** Who wants the best now does not want to wait for it. */
export function attemptInput({ terms, launch, templateHash, policy }: RentBestOfferInput, offerId: bigint): RentInput {
  return { offerId, terms, launch, templateHash, policy, cancelUnavailable: true }
}

/** What is looked for: what the renter asked for, and can be rented on these terms with this launch. */
export function bestOfferSearch(
  { filter, order, terms }: RentBestOfferInput,
  { launch, ports }: { launch: Launch; ports: Port[] },
  volumes: VolumeFacts[],
) {
  const diskMb = launch.diskMb + newVolumesMb(launch.newVolumes)
  const [price, maxPriceNanos] = terms.interruptible
    ? (['minimumBidPerHour', terms.bidNanos] as const)
    : (['pricePerHour', terms.maxPriceNanos] as const)
  const conditions: Condition[] = [
    ...filter.conditions,
    { field: 'rentable', operator: 'eq', value: true },
    { field: 'diskGb', operator: 'gte', value: diskMb / 1000 },
    ...(maxPriceNanos === undefined ? [] : [{ field: price, operator: 'lte', value: maxPriceNanos } as const]),
    // A volume is on one machine for life.
    ...volumes.map(({ machineId }): Condition => ({ field: 'machineId', operator: 'eq', value: machineId })),
    ...(ports.length > 0 ? [{ field: 'directPorts', operator: 'gte', value: ports.length } as const] : []),
    ...(launch.vm ? [{ field: 'vmsEnabled', operator: 'eq', value: true } as const] : []),
  ]
  const type = terms.interruptible ? ('interruptible' as const) : ('onDemand' as const)
  // What is made with it is part of what it may cost.
  const pricing = { type, diskMb }
  return { filter: { ...filter, conditions }, order, pricing, bundled: true }
}

/** Why the next offer is to be tried; undefined for what would stand against every offer. */
export function offerSpecificCode(error: unknown): NonNullable<Attempt['code']> | undefined {
  // The wish is known to be sound, so what is invalid about it now is that the machine lacks something.
  const offerSpecificCodes = ['OFFER_UNAVAILABLE', 'PRICE_CHANGED', 'BID_TOO_LOW', 'INVALID_INPUT'] as const
  return error instanceof DomainError ? offerSpecificCodes.find(code => code === error.code) : undefined
}

export function noOfferRented(attempts: Attempt[]): DomainError {
  const message =
    attempts.length === 0 ? 'No offer that can be rented matches.' : 'None of the offers that match could be rented.'
  return new DomainError('NO_OFFER_RENTED', message, { attempts })
}
