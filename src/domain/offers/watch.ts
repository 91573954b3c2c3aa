import { type DomainError, invalidInput } from '../errors.ts'
import type { OfferFilter } from './filter.ts'
import { isRentable, type Offer } from './offers.ts'

/** What became of an offer that matches, matched before, or both. */
export type OfferChange = { kind: 'added' | 'updated' | 'removed'; offerId: bigint; offer: Offer | null }

/** A stream remembers so many offers at most. */
export const maxWatched = 5_000
/** And all streams of a gateway together so many, of some 250 bytes each. */
export const maxRemembered = 1_000_000
/** All streams of an account on a gateway follow at most this many offers together. */
export const maxRememberedPerAccount = 100_000

export function tooManyWatched(): DomainError {
  const rest = 'and no more can be followed. Ask for fewer, such as those of one GPU model.'
  return invalidInput([{ path: 'filter', message: `matches more than ${maxWatched} offers, ${rest}` }])
}

/** Everything of an offer that changes while it has its id, apart from its machine, as its readers see it. */
export function changeableFactsOf(offer: Offer): (bigint | number | boolean)[] {
  const { computeNanos, minBidNanos, dlperf, score } = offer
  return [computeNanos, minBidNanos, dlperf, score, isRentable(offer)]
}

/** Whether offers come to match by time alone, or cease to before they are over. */
export function dependsOnTime({ conditions, alternatives }: OfferFilter): boolean {
  return conditions.some(({ field }) => field === 'availableSeconds') || alternatives.some(dependsOnTime)
}
