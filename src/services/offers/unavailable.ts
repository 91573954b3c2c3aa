import { Prisma } from '../../database/generated/client.ts'
import { int4, int8, nullable, text } from '../../database/row-types.ts'
import { isAllowed } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { DomainError } from '../../domain/errors.ts'
import type { RentInput } from '../../domain/instances/rent/decide.ts'
import { mention, withIds } from '../../domain/messages.ts'
import { defaultDiskMb } from '../../domain/offers/offers.ts'
import type { DataDeps } from '../deps.ts'
import { offerReadServices } from './offers.ts'

/** The error names at most this many alternatives. */
const alternativeCount = 3

/**
 * The error for an unavailable offer. It names alternatives and, if the caller rented the offer within 24 hours, the
 * instance.
 */
export async function explainUnavailableOffer(
  deps: DataDeps,
  actor: Actor,
  { offerId, terms, failIfUnavailable }: RentInput,
  diskMb: number | undefined,
): Promise<DomainError> {
  const [offer] = await deps.database.query(
    Prisma.sql`
      SELECT g.name AS gpu_name, o.num_gpus, (
        SELECT i.id FROM instances i WHERE i.offer_id = o.id AND i.account_id = ${actor.accountId}
        AND i.created_at > ${deps.database.nowSql} - interval '24 hours'
      ) AS yours FROM offers o JOIN gpu_models g ON g.id = o.gpu_model_id WHERE o.id = ${offerId}`,
    { gpuName: text, numGpus: int4, yours: nullable(int8) },
  )
  const yours = offer?.yours ?? null
  const rentalKind = terms.interruptible ? ('interruptible' as const) : ('onDemand' as const)
  const pricing = { rentalKind, diskMb: diskMb ?? defaultDiskMb }
  const alternatives =
    offer && isAllowed(actor.permissions, 'offers.search')
      ? await offerReadServices(deps).alternatives(actor, { ...offer, offerId, pricing }, alternativeCount)
      : []
  const message = yours
    ? withIds`Offer ${mention('Offer', offerId)} is no longer available: you rented it yourself, as instance ${mention('Instance', yours)}.`
    : withIds`Offer ${mention('Offer', offerId)} is not available.`
  return new DomainError('OFFER_UNAVAILABLE', message, { instanceId: yours, alternatives, failIfUnavailable })
}
