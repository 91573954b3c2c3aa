import type { Actor } from '../domain/actor.ts'
import { DomainError } from '../domain/errors.ts'
import { checkOfferIds, lostAt, type ManyWish } from '../domain/instances-rent-many.ts'
import { authorise, authoriseAtAll } from './authorise.ts'
import type { Deps } from './deps.ts'
import { explainFailure } from './failures.ts'
import { type Rental, rentServices } from './instances-rent.ts'

/** What became of an offer that was to be rented. */
export type Rented = { offerId: bigint } & ({ rental: Rental } | { error: DomainError })

export function rentManyServices(deps: Deps) {
  const { rent } = rentServices(deps)

  return {
    /**
     * Rents offers alike, one after the other, each for itself. Repeated with its idempotency key it gives those again
     * that were rented, and tries the others once more.
     */
    async rentMany(actor: Actor, wish: ManyWish, idempotencyKey?: string): Promise<Rented[]> {
      authoriseAtAll(actor, 'instances.rent')
      const offerIds = checkOfferIds(wish)
      for (const offerId of offerIds) authorise(actor, 'instances.rent', { offerId: Number(offerId) })
      const { offerIds: _, ...alike } = wish
      const rented: Rented[] = []
      for (const [index, offerId] of offerIds.entries()) {
        const key = idempotencyKey && `${idempotencyKey} ${offerId}`
        const outcome = await rent(actor, { ...alike, offerId }, key).then(rental => ({ rental }), refusalOf)
        if ('error' in outcome && outcome.error.code === 'UNAVAILABLE') {
          // What was rented must be told.
          if (!rented.some(one => 'rental' in one)) throw outcome.error
          const left = offerIds.slice(index).map((id, place) => ({ offerId: id, error: lostAt(place === 0) }))
          return [...rented, ...left]
        }
        rented.push({ offerId, ...outcome })
      }
      return rented
    },
  }
}

function refusalOf(failure: unknown): { error: DomainError } {
  const error = explainFailure(failure)
  if (error instanceof DomainError) return { error }
  throw error
}
