import { Prisma } from '../../../database/generated/client.ts'
import { int8 } from '../../../database/row-types.ts'
import type { Selected } from '../../../database/selection/selected.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Attempt } from '../../../domain/errors.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import {
  attemptInput,
  checkRentBestOfferInput,
  offerSpecificCode,
  type RentBestOfferInput,
} from '../../../domain/instances/rent/best-offer.ts'
import { canonicalRequest } from '../../../domain/instances/rent/canonical-request.ts'
import { attemptsFailed } from '../../../domain/instances/rent/no-offer.ts'
import { withoutWriting } from '../../../domain/offers/filter.ts'
import { authorize, authorizeOperation } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { findReplay, type IdempotentRequest, runIdempotent } from '../../idempotency.ts'
import { OfferNotRentedError, rentInTransaction } from './alone.ts'
import { findBestOffers } from './best-search.ts'
import { explainNoOffer } from './no-offer.ts'
import type { StoredRental } from './prepare.ts'
import { loadRental, type Rental, type RentedSelect } from './rent.ts'

const { sql } = Prisma

export type BestOfferRental<Row = { id: bigint }> = Rental<Row> & { attempts: Attempt[] }
type StoredBestOffer = StoredRental & { attempts: { offerId: string; code: Attempt['code'] }[] }

export function bestOfferServices(deps: Deps) {
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
      const asked = { ...input, filter: withoutWriting(input.filter) }
      const request = { operation: 'instances.rent', input: { best: canonicalRequest(asked) }, idempotencyKey } as const
      const replayedResult = await findReplay<StoredBestOffer>(deps, actor, request)
      if (replayedResult) return await loadBestOfferRental(actor, await latestOf(input, replayedResult), true, select)
      const attempts: Attempt[] = []
      const { offerIds, search, passedOver } = await findBestOffers(deps, actor, input)
      if (offerIds.length === 0) throw await explainNoOffer(deps, actor, search, passedOver)
      for (const offerId of offerIds) {
        const outcome = await tryOffer(actor, input, request, offerId, attempts)
        if ('result' in outcome) {
          const { result, replayed } = outcome
          return await loadBestOfferRental(actor, replayed ? await latestOf(input, result) : result, replayed, select)
        }
        attempts.push({ offerId, ...outcome })
      }
      throw attemptsFailed(attempts, passedOver)
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

  /** With the instance that has replaced the first one since. */
  async function latestOf({ replace }: RentBestOfferInput, result: StoredBestOffer): Promise<StoredBestOffer> {
    if (!replace) return result
    const [row] = await deps.database.query(
      sql`WITH RECURSIVE chain AS (
          SELECT ${result.instanceId}::bigint AS id UNION ALL
          SELECT i.id FROM chain c JOIN instances i ON i.replaces_id = c.id
        ) SELECT max(id) AS id FROM chain`,
      { id: int8 },
    )
    return { ...result, instanceId: String(row?.id ?? result.instanceId) }
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
