import type { Selected } from '../../../database/selection/selected.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import { canonicalRequest } from '../../../domain/instances/rent/canonical-request.ts'
import {
  checkOfferIds,
  type RentManyInput,
  uncertainRental,
  untriedOffer,
} from '../../../domain/instances/rent/many.ts'
import { authorize, authorizeOperation } from '../../authorize.ts'
import { translateDatabaseError } from '../../database-errors.ts'
import type { Deps } from '../../deps.ts'
import { findReplay } from '../../idempotency.ts'
import type { Rental, RentedSelect, rentServices } from './rent.ts'

/** The outcome of renting one of several offers. */
export type RentOutcome<Row = { id: bigint }> = { offerId: bigint } & ({ rental: Rental<Row> } | { error: DomainError })

export function rentManyServices(deps: Deps, { rent }: Pick<ReturnType<typeof rentServices>, 'rent'>) {
  return {
    /**
     * Rents several offers with the same input, one after another, each in its own transaction. A repetition with the
     * idempotency key returns the rentals again and retries the other offers. The key is reserved with the first
     * rental.
     */
    async rentMany<const Select extends RentedSelect>(
      actor: Actor,
      input: RentManyInput,
      select: Select,
      idempotencyKey?: string,
    ): Promise<RentOutcome<Selected<Instance, Select>>[]> {
      authorizeOperation(actor, 'instances.rent')
      const offerIds = checkOfferIds(input)
      for (const offerId of offerIds) authorize(actor, 'instances.rent', { offerId: Number(offerId) })
      const { offerIds: _, ...sharedInput } = input
      const batchInput = { many: canonicalRequest({ ...input, offerIds }) }
      const batch = { operation: 'instances.rent', input: batchInput, idempotencyKey } as const
      await findReplay(deps, actor, batch)
      const outcomes: RentOutcome<Selected<Instance, Select>>[] = []
      for (const [index, offerId] of offerIds.entries()) {
        const renting = rent(actor, { ...sharedInput, offerId }, select, { idempotencyKey, batch })
        const outcome = await renting.then(rental => ({ rental }), toRefusal)
        if ('error' in outcome && outcome.error.code === 'UNAVAILABLE') {
          // The caller must learn of the rentals that preceded the failure.
          if (!outcomes.some(one => 'rental' in one)) throw outcome.error
          const untried = offerIds.slice(index + 1).map(id => ({ offerId: id, error: untriedOffer() }))
          return [...outcomes, { offerId, error: uncertainRental(outcome.error) }, ...untried]
        }
        outcomes.push({ offerId, ...outcome })
      }
      return outcomes
    },
  }
}

function toRefusal(failure: unknown): { error: DomainError } {
  const error = translateDatabaseError(failure)
  // Another request reserved the key in between, so no further offer can be rented with it.
  if (error instanceof DomainError && error.code !== 'IDEMPOTENCY_KEY_REUSED') return { error }
  throw error
}
