import type { Selected } from '../../../database/selection/selected.ts'
import { inOrder } from '../../../database/together.ts'
import { transaction } from '../../../database/transaction.ts'
import { isAllowed } from '../../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Attempt } from '../../../domain/errors.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import {
  attemptInput,
  bestOfferSearch,
  checkRentBestOfferInput,
  noOfferRented,
  offerSpecificCode,
  type RentBestOfferInput,
} from '../../../domain/instances/rent/best-offer.ts'
import { canonicalRequest } from '../../../domain/instances/rent/canonical-request.ts'
import { decideRent } from '../../../domain/instances/rent/decide.ts'
import { authorize, authorizeOperation } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { findReplay, type IdempotentRequest, runIdempotent } from '../../idempotency.ts'
import { type OfferSearch, offerReadServices } from '../../offers/offers.ts'
import { findPassedOverMachines } from '../failed-starts.ts'
import { OfferNotRentedError, rentInTransaction } from './alone.ts'
import { loadRentFacts } from './facts.ts'
import type { StoredRental } from './prepare.ts'
import { loadRental, type Rental, type RentedSelect } from './rent.ts'

export type BestOfferRental<Row = { id: bigint }> = Rental<Row> & { attempts: Attempt[] }
type StoredBestOffer = StoredRental & { attempts: { offerId: string; code: Attempt['code'] }[] }

export function bestOfferServices(deps: Deps) {
  const { database } = deps
  const { search } = offerReadServices(deps)

  return {
    /** Rents the best offer of a search. If that offer is gone or cannot be rented after all, tries the next. */
    async rentBestOffer<const Select extends RentedSelect>(
      actor: Actor,
      input: RentBestOfferInput,
      select: Select,
      idempotencyKey?: string,
    ): Promise<BestOfferRental<Selected<Instance, Select>>> {
      authorize(actor, 'offers.search')
      authorizeOperation(actor, 'instances.rent')
      checkRentBestOfferInput(input)
      const request = { operation: 'instances.rent', input: { best: canonicalRequest(input) }, idempotencyKey } as const
      const replayedResult = await findReplay<StoredBestOffer>(deps, actor, request)
      if (replayedResult) return await loadBestOfferRental(actor, replayedResult, true, select)
      const attempts: Attempt[] = []
      const { passedOver, ...prepared } = await prepareSearch(actor, input)
      const offers = await search(actor, prepared, input.maxAttempts, { id: true })
      for (const offerId of permittedOffers(actor, offers)) {
        const outcome = await tryOffer(actor, input, request, offerId, attempts)
        if ('result' in outcome) return await loadBestOfferRental(actor, outcome.result, outcome.replayed, select)
        attempts.push({ offerId, ...outcome })
      }
      throw noOfferRented(attempts, passedOver)
    },
  }

  /** Rents an offer, or returns the code of an error after which the next offer is tried. */
  async function tryOffer(
    actor: Actor,
    input: RentBestOfferInput,
    request: IdempotentRequest,
    offerId: bigint,
    failedAttempts: Attempt[],
  ): Promise<{ result: StoredBestOffer; replayed: boolean } | { code: Attempt['code'] }> {
    const { idempotencyKey } = request
    const attempts = [...failedAttempts, { offerId, code: null }].map(tried => ({
      ...tried,
      offerId: String(tried.offerId),
    }))
    const renting = runIdempotent<StoredBestOffer>(deps, actor, request, async (tx, store) => {
      const storeWrites = (rented: StoredRental) => store({ ...rented, attempts })
      const rental = { input: attemptInput(input, offerId), idempotencyKey, storeWrites }
      return { ...(await rentInTransaction(tx, deps, actor, rental)), attempts }
    })
    try {
      return await renting
    } catch (error) {
      const code = error instanceof OfferNotRentedError ? 'OFFER_UNAVAILABLE' : offerSpecificCode(error)
      if (code === undefined) throw error
      return { code }
    }
  }

  /** The search to run. Throws when a blocker applies to every offer. */
  async function prepareSearch(
    actor: Actor,
    input: RentBestOfferInput,
  ): Promise<OfferSearch & { passedOver: readonly number[] }> {
    // No offer has the id 0, so this decides everything except the offer.
    const anyOfferInput = attemptInput(input, 0n)
    const { facts, passedOver, at } = await transaction(database, async tx => {
      const [facts, passedOver] = await inOrder([
        loadRentFacts(tx, deps, actor, anyOfferInput),
        findPassedOverMachines(tx, actor),
      ])
      return { facts, passedOver, at: tx.at }
    })
    const { launch, ports, blockers } = decideRent(anyOfferInput, facts, at)
    const blocker = [...facts.forbidden, ...blockers].find(({ code }) => code !== 'OFFER_UNAVAILABLE')
    if (blocker || !launch) throw blocker ?? new Error('No blocker was found, but the launch is missing.')
    return { ...bestOfferSearch(input, { launch, ports }, { volumes: facts.volumes, passedOver }), passedOver }
  }

  async function loadBestOfferRental<const Select extends RentedSelect>(
    actor: Actor,
    { attempts, ...result }: StoredBestOffer,
    replayed: boolean,
    select: Select,
  ): Promise<BestOfferRental<Selected<Instance, Select>>> {
    const tried = attempts.map(({ offerId, code }) => ({ offerId: BigInt(offerId), code }))
    // The permissions of the key may have been restricted to other offers since the first request.
    authorize(actor, 'instances.rent', { offerId: Number(tried.at(-1)?.offerId) })
    return { ...(await loadRental(deps, result, replayed, select)), attempts: tried }
  }
}

/** The offers that the key may rent. Throws when offers were found but the key may rent none. */
function permittedOffers(actor: Actor, offers: { id: bigint }[]): bigint[] {
  const isPermitted = ({ id }: { id: bigint }) =>
    isAllowed(actor.permissions, 'instances.rent', { offerId: Number(id) })
  const [first] = offers
  if (first && !offers.some(isPermitted)) authorize(actor, 'instances.rent', { offerId: Number(first.id) })
  return offers.filter(isPermitted).map(({ id }) => id)
}
