// One rental in a transaction of its own, or in the caller's.

import type { Transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { decideRent, type RentDecision, type RentInput, rentalHoldings } from '../../../domain/instances/rent/decide.ts'
import { addAdmissionErrors } from '../../billing/admission.ts'
import type { Deps } from '../../deps.ts'
import { type IdempotentRequest, reserveBatchKey, runIdempotent, type StoreWrites } from '../../idempotency.ts'
import { type LoadedRentFacts, lockRentFacts } from './facts.ts'
import { prepareRental, type StoredRental, savePrepared } from './prepare.ts'
import type { Renting } from './renter.ts'

/** `idempotencyKey` is what the renter sent; that of the `request` may belong to an item of a batch. */
export type RentRequest = Renting & {
  request: IdempotentRequest
  idempotencyKey: string | null
  batch?: IdempotentRequest | undefined
}
export type RentResult = { result: StoredRental; replayed: boolean }

export async function rentAlone(
  deps: Deps,
  { actor, input, request, idempotencyKey, batch }: RentRequest,
): Promise<RentResult> {
  return await runIdempotent<StoredRental>(deps, actor, request, async (tx, storeWrites) => {
    if (batch) await reserveBatchKey(tx, deps, actor, batch)
    return await rentInTransaction(tx, deps, actor, { input, idempotencyKey, storeWrites })
  })
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

type RentalRequest = {
  input: RentInput
  idempotencyKey: string | null | undefined
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
  const { facts, market } = await lockRentFacts(tx, deps, { actor, input })
  for (const error of facts.forbidden) throw error
  // After the machine's lock, which moves `tx.at`.
  const decision = decideRent(input, facts, tx.at)
  await throwFirstBlocker(tx, deps, facts, decision)
  const prepared = prepareRental({ actor, input, idempotencyKey }, { facts, market, decision, at: tx.at })
  if (prepared.waits && input.failIfUnavailable) throw new OfferNotRentedError(decision.launch?.diskMb)
  const errors = await savePrepared(tx, deps, [prepared], storeWrites(prepared.result))
  for (const error of errors.values()) throw error
  return prepared.result
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
