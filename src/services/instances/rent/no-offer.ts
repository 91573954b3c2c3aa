// The error for a search for the best offer that found none. It reads the market again, so a search that finds offers never
// gets here.

import type { Actor } from '../../../domain/actor.ts'
import type { DomainError } from '../../../domain/errors.ts'
import {
  closestSearch,
  noneFree,
  tooExpensive,
  withoutAvailability,
  withoutOneCondition,
  withoutPriceLimits,
} from '../../../domain/instances/rent/no-offer.ts'
import { matchesFilter, type OfferFilter } from '../../../domain/offers/filter.ts'
import { type Offer, priceOffer } from '../../../domain/offers/offers.ts'
import type { OrderKey } from '../../../domain/offers/order.ts'
import type { Deps } from '../../deps.ts'
import { offerNameServices } from '../../offers/names.ts'
import { type OfferSearch, offerReadServices } from '../../offers/offers.ts'
import { wholeOffer } from '../../offers/sql/source.ts'
import { findTaken } from '../../offers/taken.ts'

const cheapestFirst: OrderKey[] = [{ field: 'pricePerHour', direction: 'asc' }]

export async function explainNoOffer(
  deps: Deps,
  actor: Actor,
  search: OfferSearch,
  passedOver: readonly number[],
): Promise<DomainError> {
  const offers = offerReadServices(deps)
  const { filter, pricing } = search

  async function findCheapest(loosened: OfferFilter | undefined, order = cheapestFirst): Promise<Offer | undefined> {
    if (!loosened) return undefined
    const wanted = { ...search, filter: loosened, order }
    const [offer] = await offers.search(actor, wanted, 1, wholeOffer)
    return offer && priceOffer(offer, pricing)
  }

  const dear = await findCheapest(withoutPriceLimits(filter))
  // An offer that matches has become free since the search.
  if (dear && !matchesFilter(dear, filter)) return tooExpensive(dear, passedOver)
  const anyState = withoutAvailability(filter)
  const taken = (await findCheapest(anyState)) ?? (await findRented(anyState))
  const hints = taken ? [] : await offerNameServices(deps).hints(filter)
  const nearest = hints.length > 0 ? undefined : await findNearest()
  return noneFree({ taken, hints, nearest }, filter, passedOver)

  async function findNearest(): Promise<Offer | undefined> {
    const nearest = await findCheapest(withoutOneCondition(filter))
    const closest = nearest && closestSearch(nearest, filter)
    // The nearest may have gone since.
    return (closest && (await findCheapest(closest.filter, closest.order))) ?? nearest
  }

  async function findRented(loosened: OfferFilter): Promise<Offer | undefined> {
    const offer = await findTaken(deps, { filter: loosened, pricing })
    return offer && priceOffer(offer, pricing)
  }
}
