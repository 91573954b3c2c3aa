import { Prisma } from '../../../database/generated/client.ts'
import { readingOf } from '../../../database/selection/reading.ts'
import type { Selected } from '../../../database/selection/selected.ts'
import { nameIfRepeated } from '../../../database/statement-names.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import { canonicalRequest } from '../../../domain/instances/rent/canonical-request.ts'
import type { RentInput } from '../../../domain/instances/rent/decide.ts'
import { instanceApiKey } from '../../accounts/api-keys/identity.ts'
import { authorize } from '../../authorize.ts'
import type { Deps } from '../../deps.ts'
import { type IdempotentRequest, itemKey, parseIdempotencyKey } from '../../idempotency.ts'
import { explainUnavailableOffer } from '../../offers/unavailable.ts'
import type { InstanceSelect } from '../read.ts'
import { instanceSource } from '../source.ts'
import { OfferNotRentedError } from './alone.ts'
import type { StoredRental } from './prepare.ts'
import { createRenter } from './together.ts'

const { sql } = Prisma

/** The result of a rental. A repetition of the request gets the same result, with `replayed` set. */
export type Rental<Row = { id: bigint }> = {
  instance: Row
  /** An API key that may only start, stop and destroy the instance. */
  apiKey: string
  warnings: string[]
  replayed: boolean
}

/** What a rental reads of its instance: always the id. */
export type RentedSelect = InstanceSelect & { id: true }

type RentOptions = { idempotencyKey?: string | undefined; batch?: IdempotentRequest | undefined }

export function rentServices(deps: Deps) {
  const rentInTurn = createRenter(deps)
  return {
    /**
     * Rents an offer in one transaction, which it may share with others: either the instance exists and the offer is
     * withdrawn, or nothing changes.
     * `idempotencyKey` is the one that the renter sent. The instance stores it, so that the renter can find the instance
     * by it. With a `batch`, that key belongs to the whole batch, and each item runs under an `itemKey`.
     */
    async rent<const Select extends RentedSelect>(
      actor: Actor,
      input: RentInput,
      select: Select,
      { idempotencyKey, batch }: RentOptions = {},
    ): Promise<Rental<Selected<Instance, Select>>> {
      authorize(actor, 'instances.rent', { offerId: Number(input.offerId) })
      const reservedKey = batch ? itemKey(deps, batch, String(input.offerId)) : idempotencyKey
      const request = {
        operation: 'instances.rent',
        input: canonicalRequest(input),
        idempotencyKey: reservedKey,
      } as const
      parseIdempotencyKey(request)
      const renting = rentInTurn({ actor, input, request, idempotencyKey: idempotencyKey ?? null, batch })
      const { result, replayed } = await renting.catch(async (error: unknown) => {
        throw error instanceof OfferNotRentedError
          ? await explainUnavailableOffer(deps, actor, input, error.diskMb)
          : error
      })
      return await loadRental(deps, result, replayed, select)
    },
  }
}

/** Reads what is selected of the instance. Its id needs no read. */
export async function loadRental<const Select extends RentedSelect>(
  { database, secrets, ...proxies }: Deps,
  { instanceId, warnings }: StoredRental,
  replayed: boolean,
  select: Select,
): Promise<Rental<Selected<Instance, Select>>> {
  const id = BigInt(instanceId)
  const isIdAlone = Object.keys(select).length === 1
  const reading = readingOf(instanceSource(proxies, database.nowSql), select)
  const statement = sql`SELECT ${reading.columns} FROM instances i ${reading.joins} WHERE i.id = ${id}`
  const [instance] = isIdAlone ? [{ id }] : await database.read(nameIfRepeated(statement), reading)
  // Safe: the instance exists, with what is selected of it.
  return {
    instance: instance as Selected<Instance, Select>,
    // Signed only if the renter asks for it: that takes as long as a statement.
    get apiKey() {
      return instanceApiKey(secrets, id)
    },
    warnings,
    replayed,
  }
}
