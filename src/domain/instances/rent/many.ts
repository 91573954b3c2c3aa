import { DomainError } from '../../errors.ts'
import type { RentInput } from './decide.ts'

export const maxOffersPerRequest = 64

/** The same for several offers: each is rented for itself. */
export type RentManyInput = Omit<RentInput, 'offerId'> & { offerIds: readonly bigint[] }

/** The offers, each once. They are counted as sent, and refused in the words that clients know. */
export function checkOfferIds({ offerIds }: RentManyInput): bigint[] {
  const refuse = (words: string, message: string) => {
    throw new DomainError('INVALID_INPUT', words, { issues: [{ path: 'offerIds', message }] })
  }
  if (offerIds.length === 0) refuse('no ask ids provided', 'must name at least one offer.')
  if (offerIds.length > maxOffersPerRequest) {
    const message = `must be at most ${maxOffersPerRequest}, not ${offerIds.length}.`
    refuse(`too many ask ids provided; max is ${maxOffersPerRequest}`, message)
  }
  return [...new Set(offerIds)]
}

/** What became of the offer at which the database failed. */
export function uncertainRental(failure: DomainError): DomainError {
  if (failure.code !== 'UNAVAILABLE' || failure.details.undone) return failure
  return new DomainError(
    'UNAVAILABLE',
    'No answer came in time: it may have been rented, or not. Look before you repeat it.',
    { undone: false },
  )
}

/** What became of the offers after it, which are not tried any more. */
export function untriedOffer(): DomainError {
  return new DomainError('UNAVAILABLE', 'It was not tried, since the database does not answer.', { undone: true })
}

/** Nothing rented is a failure: that of all offers, where they agree. */
export function combineErrors(errors: readonly DomainError[]): Pick<DomainError, 'code' | 'message'> {
  const [code = 'INVALID_INPUT', ...others] = new Set(errors.map(error => error.code))
  const message = [...new Set(errors.map(error => error.message))].join(' ')
  return { code: others.length === 0 ? code : 'INVALID_INPUT', message }
}
