import type { Attempt, NoOfferReason } from '../../domain/errors.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { Offer } from '../offers/offers.ts'
import { ErrorCodeEnum, Refusal, refusalType } from './refusal.ts'

export const RentAttempt = builder.objectRef<Attempt>('RentAttempt').implement({
  description: 'One offer that the gateway tried to rent.',
  fields: t => ({
    offerId: t.id({ description: 'ID of the offer.', resolve: ({ offerId }) => printId('Offer', offerId) }),
    failure: t.field({
      type: ErrorCodeEnum,
      nullable: true,
      description: 'Why the offer was not rented. Null for the offer that was rented.',
      resolve: ({ code }) => code,
    }),
  }),
})

const NoOfferReasonEnum = enumOf<NoOfferReason>(
  'NoOfferReason',
  'Why a search for the best offer rented nothing. New values may be added.',
  {
    nothingMatches:
      'No machine on the market matches the search, at any price. Change the search: the message says what it may have meant or comes near.',
    nothingFree: 'Machines match, but the GPUs, disks or ports of all of them are taken. Some may become free later.',
    tooExpensive: 'Matching offers can be rented now, but not for the price limits of the request.',
    attemptsFailed: 'Offers were tried, and none could be rented: see `attempts`.',
  },
)

export const NoOfferRentedError = refusalType('NO_OFFER_RENTED').implement({
  description: 'No matching offer could be rented.',
  interfaces: [Refusal],
  fields: t => ({
    attempts: t.field({
      type: [RentAttempt],
      description: 'The offers that were tried. Empty if no offer matched.',
      resolve: ({ details }) => details.attempts,
    }),
    reason: t.field({
      type: NoOfferReasonEnum,
      description: 'Whether nothing matches, nothing is free, or nothing is cheap enough.',
      resolve: ({ details }) => details.reason,
    }),
    nearest: t.field({
      type: Offer,
      nullable: true,
      description:
        'The offer that comes nearest and can be rented now: the cheapest that is too expensive, or that misses one condition of the search. If that is a number, it is the offer that comes closest to it. Null if nothing comes near, or if offers were tried.',
      resolve: ({ details }) => details.nearest,
    }),
  }),
})
