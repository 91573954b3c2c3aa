import { DomainError } from '../../errors.ts'
import type { RentInput } from './decide.ts'

export const maxOffersPerRequest = 64

/** The same input for several offers. Each offer is rented on its own. */
export type RentManyInput = Omit<RentInput, 'offerId'> & { offerIds: readonly bigint[] }

/** Returns the distinct ids. The limit counts the ids as sent. `words` is the message that clients know. */
export function checkOfferIds({ offerIds }: RentManyInput): bigint[] {
  const refuse = (words: string, message: string) => {
    throw new DomainError('INVALID_INPUT', words, { issues: [{ path: 'offerIds', message }] })
  }
  if (offerIds.length === 0) refuse('no ask ids provided', 'must name at least one offer.')
  if (offerIds.length > maxOffersPerRequest) {
    const message = `must have at most ${maxOffersPerRequest} ids, not ${offerIds.length}.`
    refuse(`too many ask ids provided; max is ${maxOffersPerRequest}`, message)
  }
  return [...new Set(offerIds)]
}

/** The outcome of the offer during which the database failed. */
export function uncertainRental(failure: DomainError): DomainError {
  if (failure.code !== 'UNAVAILABLE' || failure.details.undone) return failure
  return new DomainError(
    'UNAVAILABLE',
    'No answer came in time: the offer may have been rented. Check your instances before you retry.',
    { undone: false },
  )
}

/** The outcome of every offer after the one during which the database failed. */
export function untriedOffer(): DomainError {
  return new DomainError('UNAVAILABLE', 'The offer was not tried, because the database does not answer. Try again.', {
    undone: true,
  })
}

/** The error when no offer was rented: the common code of all failures, or `INVALID_INPUT` when they differ. */
export function combineErrors(errors: readonly DomainError[]): Pick<DomainError, 'code' | 'message'> {
  const [code = 'INVALID_INPUT', ...others] = new Set(errors.map(error => error.code))
  const message = [...new Set(errors.map(error => error.message))].join(' ')
  return { code: others.length === 0 ? code : 'INVALID_INPUT', message }
}
