// The offers that a rental of the best offer tries.

import { inOrder } from '../../../database/together.ts'
import { transaction } from '../../../database/transaction.ts'
import { isAllowed } from '../../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../domain/actor.ts'
import { attemptInput, bestOfferSearch, type RentBestOfferInput } from '../../../domain/instances/rent/best-offer.ts'
import { decideRent } from '../../../domain/instances/rent/decide.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { type OfferSearch, offerReadServices } from '../../offers/offers.ts'
import { findPassedOverMachines } from '../failed-starts.ts'
import { loadRentFacts } from './facts.ts'

/** `passedOver`: machines where starts failed. */
type BestOffers = { offerIds: bigint[]; search: OfferSearch; passedOver: number[] }

/**
 * The best offers that the key may rent, and the search that found them. `avoided` are more machines to pass over. Throws when
 * a blocker applies to every offer.
 */
export async function findBestOffers(
  deps: Deps,
  actor: Actor,
  input: RentBestOfferInput,
  avoided: readonly number[] = [],
): Promise<BestOffers> {
  const { passedOver, ...search } = await prepareSearch(deps, actor, input, avoided)
  const offers = await offerReadServices(deps).search(actor, search, input.maxAttempts, { id: true })
  return { offerIds: permittedOffers(actor, offers), search, passedOver }
}

async function prepareSearch(
  deps: Deps,
  actor: Actor,
  input: RentBestOfferInput,
  avoided: readonly number[],
): Promise<OfferSearch & { passedOver: number[] }> {
  // No offer has the id 0, so this decides everything except the offer.
  const anyOfferInput = attemptInput(input, 0n)
  const { facts, failedOn, at } = await transaction(deps.database, async tx => {
    const reads = [loadRentFacts(tx, deps, actor, anyOfferInput), findPassedOverMachines(tx, actor)] as const
    const [facts, failedOn] = await inOrder([...reads])
    return { facts, failedOn, at: tx.at }
  })
  const { launch, ports, blockers } = decideRent(anyOfferInput, facts, at)
  const blocker = [...facts.forbidden, ...blockers].find(({ code }) => code !== 'OFFER_UNAVAILABLE')
  if (blocker || !launch) throw blocker ?? new Error('No blocker was found, but the launch is missing.')
  const passedOver = [...new Set([...avoided, ...failedOn])]
  return { ...bestOfferSearch(input, { launch, ports }, { volumes: facts.volumes, passedOver }), passedOver }
}

/** The offers that the key may rent. Throws when offers were found but the key may rent none. */
function permittedOffers(actor: Actor, offers: { id: bigint }[]): bigint[] {
  const isPermitted = ({ id }: { id: bigint }) =>
    isAllowed(actor.permissions, 'instances.rent', { offerId: Number(id) })
  const [first] = offers
  if (first && !offers.some(isPermitted)) authorize(actor, 'instances.rent', { offerId: Number(first.id) })
  return offers.filter(isPermitted).map(({ id }) => id)
}
