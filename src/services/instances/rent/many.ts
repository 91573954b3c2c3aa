import type { Actor } from '../../../domain/actor.ts'
import { DomainError } from '../../../domain/errors.ts'
import { whatIsAsked } from '../../../domain/instances/rent/asked.ts'
import { checkOfferIds, lostAt, lostBefore, type ManyWish } from '../../../domain/instances/rent/many.ts'
import { authorise, authoriseAtAll } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { explainFailure } from '../../failures.ts'
import { replay } from '../../idempotency.ts'
import { type Rental, rentServices } from './rent.ts'

/** What became of an offer that was to be rented. */
export type Rented = { offerId: bigint } & ({ rental: Rental } | { error: DomainError })

export function rentManyServices(deps: Deps) {
  const { rent } = rentServices(deps)

  return {
    /**
     * Rents offers alike, one after the other, each for itself. Repeated with its idempotency key it gives those again
     * that were rented, and tries the others once more. Only where one was rented the key is taken.
     */
    async rentMany(actor: Actor, wish: ManyWish, idempotencyKey?: string): Promise<Rented[]> {
      authoriseAtAll(actor, 'instances.rent')
      const offerIds = checkOfferIds(wish)
      for (const offerId of offerIds) authorise(actor, 'instances.rent', { offerId: Number(offerId) })
      const { offerIds: _, ...alike } = wish
      const input = { many: whatIsAsked({ ...wish, offerIds }) }
      const whole = { operation: 'instances.rent', input, idempotencyKey } as const
      await replay(deps, actor, whole)
      const rented: Rented[] = []
      for (const [index, offerId] of offerIds.entries()) {
        const renting = rent(actor, { ...alike, offerId }, idempotencyKey, whole)
        const outcome = await renting.then(rental => ({ rental }), refusalOf)
        if ('error' in outcome && outcome.error.code === 'UNAVAILABLE') {
          // What was rented must be told.
          if (!rented.some(one => 'rental' in one)) throw outcome.error
          const left = offerIds.slice(index + 1).map(id => ({ offerId: id, error: lostBefore() }))
          return [...rented, { offerId, error: lostAt(outcome.error) }, ...left]
        }
        rented.push({ offerId, ...outcome })
      }
      return rented
    },
  }
}

function refusalOf(failure: unknown): { error: DomainError } {
  const error = explainFailure(failure)
  // Another request with the key came in between, and took it for all offers.
  if (error instanceof DomainError && error.code !== 'IDEMPOTENCY_KEY_REUSED') return { error }
  throw error
}
