import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { getsSshKeys } from '../../../domain/accounts/ssh-keys.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import { whatIsAsked } from '../../../domain/instances/rent/asked.ts'
import {
  additionOf,
  type Decision,
  decideRent,
  type RentWish,
  rateOf,
  sshKeyRequired,
} from '../../../domain/instances/rent/rent.ts'
import { instanceApiKey } from '../../accounts/api-keys/identity.ts'
import { giveSshKeys } from '../../accounts/ssh-keys/ssh-keys.ts'
import { authorise } from '../../authorize.ts'
import { refuseAddition, withProblemsOfAddition } from '../../billing/admission.ts'
import { lockBalance } from '../../billing/balance.ts'
import { refuseBeyondLimits } from '../../billing/limits/refuse.ts'
import { openMeters } from '../../billing/meters.ts'
import type { Deps } from '../../deps.ts'
import { joinWhole, once, partKey, type Request } from '../../idempotency.ts'
import { settleMarket } from '../../machines/market.ts'
import { unavailableOffer } from '../../offers/unavailable.ts'
import { arrange } from '../policy/facts.ts'
import { findInstances } from '../read.ts'
import { factsOf, type LoadedFacts } from './facts.ts'
import { saveRental } from './save.ts'

/** What a rental came to, and says once more when the request is repeated. */
export type Rental = {
  instance: Instance
  /** A key that may only start, stop and destroy the instance. */
  apiKey: string
  warnings: string[]
  replayed: boolean
}

export function rentServices(deps: Deps) {
  return {
    /**
     * Rents an offer: one transaction, after which the instance exists and the offer's id is used up; or nothing is.
     * Where that is a part of a request, the key is that of the `whole`.
     */
    async rent(actor: Actor, wish: RentWish, idempotencyKey?: string, whole?: Request): Promise<Rental> {
      authorise(actor, 'instances.rent', { offerId: Number(wish.offerId) })
      const key = whole ? partKey(deps, whole, String(wish.offerId)) : idempotencyKey
      const request = { operation: 'instances.rent', input: whatIsAsked(wish), idempotencyKey: key } as const
      const renting = once(deps, actor, request, async tx => {
        if (whole) await joinWhole(tx, deps, actor, whole)
        return await rentIn(tx, deps, actor, { wish, idempotencyKey })
      })
      const { result, replayed } = await renting.catch(async (error: unknown) => {
        throw error instanceof OfferGone ? await unavailableOffer(deps, actor, wish, error.diskMb) : error
      })
      return await rentalOf(deps, result, replayed)
    },
  }
}

/** Undoes what was begun: the offer is gone, or the rental would have to wait and must not. */
export class OfferGone extends Error {
  readonly diskMb: number | undefined

  constructor(diskMb: number | undefined) {
    super('The offer is gone.')
    this.diskMb = diskMb
  }
}

/** What is kept of a rental for those who ask again. */
export type RentResult = { instanceId: string; warnings: string[] }

/** Rents in a transaction of the caller's, or throws the first reason against it. */
export async function rentIn(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  { wish, idempotencyKey }: { wish: RentWish; idempotencyKey: Request['idempotencyKey'] },
): Promise<RentResult> {
  const facts = await factsOf(tx, deps, actor, wish, { lock: true })
  // From here on the machine is locked.
  const { at } = tx
  const decision = decideRent(wish, facts, at)
  await refuseRental(tx, deps, facts, decision)
  const { launch, ports, computeNanos, warnings } = decision
  const { listed, template } = facts
  if (!launch || !listed || computeNanos === undefined)
    throw new Error('A rental without a reason against it is whole.')
  const agreement = { wish, template, launch, ports, ...listed, computeNanos, idempotencyKey: idempotencyKey ?? null }
  const { instanceId, volumeIds, left } = await saveRental(tx, deps.secrets, actor, agreement, at)
  const granted = await settleMarket(tx, left, at)
  // Its offer may have been rentable because the market has not followed a wish of another yet.
  const waits = launch.targetState === 'running' && granted.every(claim => claim.instanceId !== instanceId)
  if (waits && wish.cancelUnavailable) throw new OfferGone(launch.diskMb)
  // After the market, which takes instances: whoever deletes a key takes those first, and then the key.
  const keys = getsSshKeys(launch) ? await giveSshKeys(tx, actor.accountId, instanceId) : 0
  // They were counted before the machine was locked, and may have been deleted since.
  if (launch.vm && keys === 0) throw sshKeyRequired()
  const account = await lockBalance(tx, actor.accountId, at)
  await refuseAddition(tx, deps.admission, account, additionOf(listed.machine, launch, computeNanos))
  await openMeters(tx, account, { apiKeyId: actor.apiKeyId, instanceIds: [instanceId], volumeIds })
  if (wish.policy) await arrange(tx, account, instanceId, at)
  const rateNanos = rateOf(listed.machine, launch, computeNanos)
  await refuseBeyondLimits(tx, account, [{ apiKeyId: actor.apiKeyId, rateNanos }])
  return { instanceId: String(instanceId), warnings }
}

/** Throws the first reason against a rental. Without credit it tells how much is needed. */
async function refuseRental(
  tx: Transaction,
  deps: Deps,
  { listed, balance }: LoadedFacts,
  { launch, computeNanos = 0n, reasons }: Decision,
): Promise<void> {
  const [reason] = reasons
  if (reason?.code === 'OFFER_UNAVAILABLE') throw new OfferGone(launch?.diskMb)
  if (reason?.code !== 'INSUFFICIENT_CREDIT' || !listed || !launch) {
    if (reason) throw reason
    return
  }
  const added = additionOf(listed.machine, launch, computeNanos)
  const [told] = await withProblemsOfAddition(tx, deps.admission, balance, added, [reason])
  throw told
}

export async function rentalOf(deps: Deps, result: RentResult, replayed: boolean): Promise<Rental> {
  const id = BigInt(result.instanceId)
  const [instance] = await findInstances(deps, [Prisma.sql`i.id = ${id}`], Prisma.sql`i.id`, 1)
  const apiKey = instanceApiKey(deps.secrets, id)
  return { instance: instance as Instance, apiKey, warnings: result.warnings, replayed }
}
