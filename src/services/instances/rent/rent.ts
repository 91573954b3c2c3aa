import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { hasSshAccess } from '../../../domain/accounts/ssh-keys.ts'
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
import { attachAllSshKeys } from '../../accounts/ssh-keys/ssh-keys.ts'
import { authorize } from '../../authorize.ts'
import { addAdmissionErrors, checkAdmission } from '../../billing/admission.ts'
import { lockAccount } from '../../billing/balance.ts'
import { checkSpendLimits } from '../../billing/limits/check.ts'
import { openMeters } from '../../billing/meters.ts'
import type { Deps } from '../../deps.ts'
import { type IdempotentRequest, itemKey, reserveBatchKey, runIdempotent } from '../../idempotency.ts'
import { updateMarket } from '../../machines/market.ts'
import { explainUnavailableOffer } from '../../offers/unavailable.ts'
import { scheduleNextAction } from '../policy/facts.ts'
import { findInstances } from '../read.ts'
import { type LoadedRentFacts, loadRentFacts } from './facts.ts'
import { saveRental } from './save.ts'

/** The result of a rental. A repetition of the request gets the same result, with `replayed` set. */
export type Rental = {
  instance: Instance
  /** An API key that may only start, stop and destroy the instance. */
  apiKey: string
  warnings: string[]
  replayed: boolean
}

export function rentServices(deps: Deps) {
  return {
    /**
     * Rents an offer in one transaction: either the instance exists and the offer is withdrawn, or nothing changes.
     * `idempotencyKey` is the one that the renter sent. The instance stores it, so that the renter can find the instance
     * by it. With a `batch`, that key belongs to the whole batch, and each item runs under an `itemKey`.
     */
    async rent(actor: Actor, input: RentInput, idempotencyKey?: string, batch?: IdempotentRequest): Promise<Rental> {
      authorize(actor, 'instances.rent', { offerId: Number(input.offerId) })
      const reservedKey = batch ? itemKey(deps, batch, String(input.offerId)) : idempotencyKey
      const request = {
        operation: 'instances.rent',
        input: canonicalRequest(input),
        idempotencyKey: reservedKey,
      } as const
      const renting = runIdempotent(deps, actor, request, async tx => {
        if (batch) await reserveBatchKey(tx, deps, actor, batch)
        return await rentInTransaction(tx, deps, actor, { input, idempotencyKey })
      })
      const { result, replayed } = await renting.catch(async (error: unknown) => {
        throw error instanceof OfferNotRentedError
          ? await explainUnavailableOffer(deps, actor, input, error.diskMb)
          : error
      })
      return await loadRental(deps, result, replayed)
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

/** Rents in the caller's transaction, or throws the first blocker. */
export async function rentInTransaction(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  { input, idempotencyKey = null }: { input: RentInput; idempotencyKey: IdempotentRequest['idempotencyKey'] },
): Promise<StoredRental> {
  const facts = await loadRentFacts(tx, deps, actor, input, { lock: true })
  for (const error of facts.forbidden) throw error
  // After the machine's lock, which moves `tx.at`.
  const { at } = tx
  const decision = decideRent(input, facts, at)
  await throwFirstBlocker(tx, deps, facts, decision)
  // The offer was rentable, so its machine is locked.
  const { launch, ports, gpuPriceNanos, warnings } = decision
  const { target, template } = facts
  if (!launch || !target || gpuPriceNanos === undefined)
    throw new Error('No blocker was found, but the launch or the offer is missing.')
  const decided = { input, template, launch, ports, ...target, gpuPriceNanos, idempotencyKey }
  const { instanceId, volumeIds, machineAfter } = await saveRental(tx, deps.secrets, actor, decided, at)
  const granted = await updateMarket(tx, machineAfter, at)
  // The market may have granted the GPUs to another instance: to a higher bid, or to an older one that was just started.
  // A start (services/instances/command.ts) commits before it updates the market in a second transaction.
  const waits = launch.targetState === 'running' && granted.every(claim => claim.instanceId !== instanceId)
  if (waits && input.failIfUnavailable) throw new OfferNotRentedError(launch.diskMb)
  // Runs after `updateMarket`, since instances are locked before SSH keys: deleting an SSH key keeps that order, too.
  const attachedKeyCount = hasSshAccess(launch) ? await attachAllSshKeys(tx, actor.accountId, instanceId) : 0
  // The keys were counted before the machine was locked, and may have been deleted since.
  if (launch.vm && attachedKeyCount === 0) throw sshKeyRequired()
  // Also ends what the credit or a limit no longer covers.
  const account = await lockAccount(tx, actor.accountId, at)
  await checkAdmission(tx, deps.admission, account, rentalHoldings(target.machine, launch, gpuPriceNanos))
  await openMeters(tx, account, { apiKeyId: actor.apiKeyId, instanceIds: [instanceId], volumeIds })
  if (input.policy) await scheduleNextAction(tx, account, instanceId, at)
  const rateNanos = rentalRate(target.machine, launch, gpuPriceNanos)
  await checkSpendLimits(tx, account, [{ apiKeyId: actor.apiKeyId, rateNanos }])
  return { instanceId: String(instanceId), warnings }
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

export async function loadRental(deps: Deps, result: StoredRental, replayed: boolean): Promise<Rental> {
  const id = BigInt(result.instanceId)
  const [instance] = await findInstances(deps, [Prisma.sql`i.id = ${id}`], Prisma.sql`i.id`, 1)
  const apiKey = instanceApiKey(deps.secrets, id)
  return { instance: instance as Instance, apiKey, warnings: result.warnings, replayed }
}
