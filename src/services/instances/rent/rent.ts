import { Prisma } from '../../../database/generated/client.ts'
import { readingOf } from '../../../database/selection/reading.ts'
import type { Selected } from '../../../database/selection/selected.ts'
import { nameIfRepeated } from '../../../database/statement-names.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import { canonicalRequest } from '../../../domain/instances/rent/canonical-request.ts'
import {
  decideRent,
  type RentDecision,
  type RentInput,
  rentalHoldings,
  rentalRate,
  sshKeyRequired,
} from '../../../domain/instances/rent/decide.ts'
import { instanceApiKey } from '../../accounts/api-keys/identity.ts'
import { authorize } from '../../authorize.ts'
import { addAdmissionErrors, checkWrittenAddition } from '../../billing/admission.ts'
import { checkSpendLimits } from '../../billing/limits/check.ts'
import type { Deps } from '../../deps.ts'
import { type IdempotentRequest, itemKey, reserveBatchKey, runIdempotent, type StoreWrites } from '../../idempotency.ts'
import { explainUnavailableOffer } from '../../offers/unavailable.ts'
import { scheduleNextAction } from '../policy/facts.ts'
import type { InstanceSelect } from '../read.ts'
import { instanceSource } from '../source.ts'
import { type LoadedRentFacts, lockRentFacts } from './facts.ts'
import { marketWithRental, saveRental } from './save.ts'

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
  return {
    /**
     * Rents an offer in one transaction: either the instance exists and the offer is withdrawn, or nothing changes.
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
      const renting = runIdempotent<StoredRental>(deps, actor, request, async (tx, storeWrites) => {
        if (batch) await reserveBatchKey(tx, deps, actor, batch)
        return await rentInTransaction(tx, deps, actor, { input, idempotencyKey, storeWrites })
      })
      const { result, replayed } = await renting.catch(async (error: unknown) => {
        throw error instanceof OfferNotRentedError
          ? await explainUnavailableOffer(deps, actor, input, error.diskMb)
          : error
      })
      return await loadRental(deps, result, replayed, select)
    },
  }
}

/**
 * Rolls the transaction back: the offer is not rentable, or the instance would wait for GPUs, which the caller refused.
 */
export class OfferNotRentedError extends Error {
  /** The disk that alternatives must have room for, and are priced with; undefined if the launch is invalid. */
  readonly diskMb: number | undefined

  constructor(diskMb: number | undefined) {
    super('The offer was not rented.')
    this.diskMb = diskMb
  }
}

/** The part of a rental that is stored for a repetition of the request. */
export type StoredRental = { instanceId: string; warnings: string[] }

type RentalRequest = {
  input: RentInput
  idempotencyKey: IdempotentRequest['idempotencyKey']
  /** Stores the result with what else the rental writes. */
  storeWrites: StoreWrites<StoredRental>
}

/** Rents in the caller's transaction, or throws the first blocker. */
export async function rentInTransaction(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  { input, idempotencyKey = null, storeWrites }: RentalRequest,
): Promise<StoredRental> {
  const { facts, market: locked } = await lockRentFacts(tx, deps, actor, input)
  for (const error of facts.forbidden) throw error
  // After the machine's lock, which moves `tx.at`.
  const { at } = tx
  const decision = decideRent(input, facts, at)
  await throwFirstBlocker(tx, deps, facts, decision)
  const { launch, ports, gpuPriceNanos, warnings } = decision
  const { target, template } = facts
  if (!locked || !launch || !target || gpuPriceNanos === undefined)
    throw new Error('No blocker was found, but the launch or the offer is missing.')
  const rental = { input, template, launch, ports, ...target, gpuPriceNanos, idempotencyKey }
  const market = marketWithRental(rental, locked, at)
  // The market may grant the GPUs to another instance: to a higher bid, or to an older one that was just started.
  // A start (services/instances/bulk/command.ts) may commit before it updates the market in a second transaction.
  const waits = market.claim !== undefined && !market.granted.includes(market.claim)
  if (waits && input.failIfUnavailable) throw new OfferNotRentedError(launch.diskMb)
  const result = { instanceId: String(locked.instanceId), warnings }
  const others = storeWrites(result)
  const added = rentalHoldings(target.machine, launch, gpuPriceNanos)
  const check = () => checkWrittenAddition(tx, deps.admission, actor.accountId, added)
  const saving = { market, locked, others, check }
  const { attachedKeys, checked: account } = await saveRental(tx, deps.secrets, actor, rental, saving)
  // The keys were counted before they were locked, and may have been deleted since.
  if (launch.vm && attachedKeys === 0) throw sshKeyRequired()
  if (input.policy) await scheduleNextAction(tx, account, locked.instanceId, at)
  const rateNanos = rentalRate(target.machine, launch, gpuPriceNanos)
  await checkSpendLimits(tx, account, [{ apiKeyId: actor.apiKeyId, rateNanos }])
  return result
}

/** Throws the first blocker of a rental. An `INSUFFICIENT_CREDIT` error also says how much is needed. */
async function throwFirstBlocker(
  tx: Transaction,
  deps: Deps,
  { target, balance }: LoadedRentFacts,
  { launch, gpuPriceNanos = 0n, blockers }: RentDecision,
): Promise<void> {
  const [blocker] = blockers
  if (blocker?.code === 'OFFER_UNAVAILABLE') throw new OfferNotRentedError(launch?.diskMb)
  if (blocker?.code !== 'INSUFFICIENT_CREDIT' || !target || !launch) {
    if (blocker) throw blocker
    return
  }
  const added = rentalHoldings(target.machine, launch, gpuPriceNanos)
  const [detailed] = await addAdmissionErrors(tx, deps.admission, balance, added, [blocker])
  throw detailed
}

/** Reads what is selected of the instance. Its id needs no read. */
export async function loadRental<const Select extends RentedSelect>(
  { database, sshProxy, secrets }: Deps,
  { instanceId, warnings }: StoredRental,
  replayed: boolean,
  select: Select,
): Promise<Rental<Selected<Instance, Select>>> {
  const id = BigInt(instanceId)
  const isIdAlone = Object.keys(select).length === 1
  const reading = readingOf(instanceSource({ sshProxy }, database.nowSql), select)
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
