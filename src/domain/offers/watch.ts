import { type DomainError, invalidInput } from '../errors.ts'
import type { OfferFilter } from './filter.ts'
import { isRentable, type OfferFacts } from './offers.ts'

/** A change of an offer that matches the filter now, or matched it before. */
export type OfferChange = { kind: 'added' | 'updated' | 'removed'; offerId: bigint; offer: OfferFacts | null }

/** A stream remembers at most this many offers. */
export const maxWatched = 5_000
/** All streams of a gateway remember at most this many offers together, at about 250 bytes each. */
export const maxRemembered = 1_000_000
/** All streams of an account on a gateway remember at most this many offers together. */
export const maxRememberedPerAccount = 100_000

export function tooManyWatched(): DomainError {
  const advice = 'Narrow the filter, for example to one GPU model.'
  return invalidInput([
    { path: 'filter', message: `matches more than ${maxWatched} offers, the limit of a stream. ${advice}` },
  ])
}

/** The facts of an offer that can change while the offer keeps its id, apart from the facts of its machine. */
export function changeableFactsOf(offer: OfferFacts): (bigint | number | boolean)[] {
  const { gpuPriceNanos, minBidNanos, dlperf, score } = offer
  return [gpuPriceNanos, minBidNanos, dlperf, score, isRentable(offer)]
}

/** Whether time alone can make an offer match the filter, or stop matching it before the offer ends. */
export function dependsOnTime({ conditions, anyOf }: OfferFilter): boolean {
  return conditions.some(({ field }) => field === 'availableSeconds') || anyOf.some(dependsOnTime)
}
