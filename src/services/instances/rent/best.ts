import { transaction } from '../../../database/transaction.ts'
import { isAllowed } from '../../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Attempt } from '../../../domain/errors.ts'
import { whatIsAsked } from '../../../domain/instances/rent/asked.ts'
import {
  attemptWish,
  type BestWish,
  checkBest,
  noneRented,
  reasonToGoOn,
  searchOf,
} from '../../../domain/instances/rent/best.ts'
import { decideRent } from '../../../domain/instances/rent/rent.ts'
import type { Offer } from '../../../domain/offers/offers.ts'
import { authorise, authoriseAtAll } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { once, type Request, replay } from '../../idempotency.ts'
import { type OfferSearch, offerServices } from '../../offers/offers.ts'
import { factsOf } from './facts.ts'
import { OfferGone, type Rental, type RentResult, rentalOf, rentIn } from './rent.ts'

export type BestRental = Rental & { attempts: Attempt[] }
type BestResult = RentResult & { attempts: { offerId: string; code: Attempt['code'] }[] }

export function bestServices(deps: Deps) {
  const { database } = deps
  const { search } = offerServices(deps)

  return {
    /** Rents the best offer of a search. Where somebody was quicker, or it can't be rented after all, the next. */
    async rentBest(actor: Actor, wish: BestWish, idempotencyKey?: string): Promise<BestRental> {
      authorise(actor, 'offers.search')
      authoriseAtAll(actor, 'instances.rent')
      checkBest(wish)
      const request = { operation: 'instances.rent', input: { best: whatIsAsked(wish) }, idempotencyKey } as const
      const known = await replay<BestResult>(deps, actor, request)
      if (known) return await bestOf(actor, known, true)
      const attempts: Attempt[] = []
      const found = await search(actor, await soundSearch(actor, wish), wish.maxAttempts)
      for (const offerId of permitted(actor, found)) {
        const outcome = await attempt(actor, wish, request, offerId, attempts)
        if ('result' in outcome) return await bestOf(actor, outcome.result, outcome.replayed)
        attempts.push({ offerId, ...outcome })
      }
      throw noneRented(attempts)
    },
  }

  /** Rents an offer, or says why the next one is to be tried. */
  async function attempt(
    actor: Actor,
    wish: BestWish,
    request: Request,
    offerId: bigint,
    before: Attempt[],
  ): Promise<{ result: BestResult; replayed: boolean } | { code: Attempt['code'] }> {
    const { idempotencyKey } = request
    const renting = once(deps, actor, request, async (tx): Promise<BestResult> => {
      const rented = await rentIn(tx, deps, actor, { wish: attemptWish(wish, offerId), idempotencyKey })
      const attempts = [...before, { offerId, code: null }].map(tried => ({ ...tried, offerId: String(tried.offerId) }))
      return { ...rented, attempts }
    })
    try {
      return await renting
    } catch (error) {
      const code = error instanceof OfferGone ? 'OFFER_UNAVAILABLE' : reasonToGoOn(error)
      if (code === undefined) throw error
      return { code }
    }
  }

  /** What to search for, unless something stands against every offer. */
  async function soundSearch(actor: Actor, wish: BestWish): Promise<OfferSearch> {
    // No offer has this id: what is decided is everything but the offer.
    const any = attemptWish(wish, 0n)
    const { facts, at } = await transaction(database, async tx => {
      return { facts: await factsOf(tx, deps, actor, any, { lock: false }), at: tx.at }
    })
    const { launch, ports, reasons } = decideRent(any, facts, at)
    const reason = reasons.find(({ code }) => code !== 'OFFER_UNAVAILABLE')
    if (reason || !launch) throw reason ?? new Error('A launch without a fault is whole.')
    return searchOf(wish, { launch, ports }, facts.volumes)
  }

  async function bestOf(actor: Actor, { attempts, ...result }: BestResult, replayed: boolean): Promise<BestRental> {
    const tried = attempts.map(({ offerId, code }) => ({ offerId: BigInt(offerId), code }))
    // The key may have been bound to other offers since it asked first.
    authorise(actor, 'instances.rent', { offerId: Number(tried.at(-1)?.offerId) })
    return { ...(await rentalOf(deps, result, replayed)), attempts: tried }
  }
}

/** The offers that the key may rent. Refused when there are some, and it may rent none of them. */
function permitted(actor: Actor, offers: Offer[]): bigint[] {
  const isPermitted = ({ id }: Offer) => isAllowed(actor.permissions, 'instances.rent', { offerId: Number(id) })
  const [first] = offers
  if (first && !offers.some(isPermitted)) authorise(actor, 'instances.rent', { offerId: Number(first.id) })
  return offers.filter(isPermitted).map(({ id }) => id)
}
