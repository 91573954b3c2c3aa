// Replaces an instance that does not run in time. Another offer is rented in the transaction that destroys it.

import { Prisma } from '../../../database/generated/client.ts'
import { int4, jsonb, nullable, text } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Permissions } from '../../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../../domain/actor.ts'
import { DomainError } from '../../../domain/errors.ts'
import { systemActor } from '../../../domain/events/actor.ts'
import { givenUpStartFault } from '../../../domain/instances/failed-start.ts'
import { nextPolicyAction, type PolicyFacts } from '../../../domain/instances/policy/policy.ts'
import { keyEnded, noAttemptLeft, notReplacedMessage } from '../../../domain/instances/policy/replacement.ts'
import { offerSpecificCode } from '../../../domain/instances/rent/best-offer.ts'
import { printTypedIds } from '../../../domain/messages.ts'
import { reasonMessages } from '../../../domain/reasons.ts'
import { activeKeySql } from '../../accounts/api-keys/find.ts'
import { lockAccount } from '../../billing/balance.ts'
import { stopMeters } from '../../billing/meters.ts'
import { refundAfter } from '../../billing/refunds.ts'
import { instanceMetersSql } from '../../billing/sql.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { lockMachineOfOffer } from '../../machines/lock.ts'
import { applyPlans } from '../bulk/apply-plans.ts'
import { recordFailedStart } from '../failed-starts.ts'
import { type LockedInstance, lockInstances, lockInstancesAndRivals } from '../lock.ts'
import { OfferNotRentedError, rentInTransaction } from '../rent/alone.ts'
import { findBestOffers } from '../rent/best-search.ts'
import { loadPolicyFacts } from './facts.ts'
import type { PolicyLease } from './lease.ts'
import { bestOfferInputOf, loadReplaced, type Replaced, replacementInputOf } from './replaced.ts'

const { sql } = Prisma

/** The machines whose markets must be updated; undefined if the instance is not replaced, because that is not due. */
type Outcome = number[] | undefined

/**
 * Replaces the leased instance if that is due, or destroys it if nothing can be rented in its place. Who rented it decides what
 * it may rent: the key must still be valid, and allowed to search and to rent.
 */
export async function replaceIfDue(deps: Deps, lease: PolicyLease): Promise<Outcome> {
  const { database, secrets } = deps
  const { instanceId } = lease
  const isDue = await transaction(database, async tx => isReplacementDue(await factsOf(tx, instanceId), tx.at))
  if (!isDue) return undefined
  const replaced = await loadReplaced(database, instanceId)
  if (replaced.replaceAttempts === 0) return await giveUp(deps, lease, noAttemptLeft)
  const actor = await loadRenter(deps, replaced)
  if (!actor) return await giveUp(deps, lease, keyEnded)
  try {
    const input = bestOfferInputOf(secrets, replaced)
    const { offerIds } = await findBestOffers(deps, actor, input, [replaced.machineId])
    for (const offerId of offerIds) {
      const outcome = await tryOffer(deps, actor, lease, offerId)
      if (outcome !== 'next') return outcome
    }
    return await giveUp(deps, lease, 'no other rentable offer matches the search.')
  } catch (error) {
    // Anything else is a failure of the gateway: the lease runs out, and the replacement is tried again.
    if (!(error instanceof DomainError) || error.code === 'UNAVAILABLE') throw error
    // The account must wait after failed starts. Once the lease has run out, the replacement is tried again.
    if (error.code === 'START_BACKOFF') return []
    return await giveUp(deps, lease, printTypedIds(error.messageWithIds))
  }
}

async function tryOffer(deps: Deps, actor: Actor, lease: PolicyLease, offerId: bigint): Promise<Outcome | 'next'> {
  const replacing = transaction(deps.database, tx => replaceInTransaction(tx, deps, actor, lease, offerId))
  return await replacing.catch((error: unknown) => {
    if (error instanceof OfferNotRentedError || offerSpecificCode(error) !== undefined) return 'next'
    throw error
  })
}

/** The machine of the offer is locked first, as in every transaction, and then the instances. */
async function replaceInTransaction(
  tx: Transaction,
  deps: Deps,
  actor: Actor,
  lease: PolicyLease,
  offerId: bigint,
): Promise<Outcome> {
  const { instanceId } = lease
  const machine = await lockMachineOfOffer(tx, offerId)
  if (!machine) throw new OfferNotRentedError(undefined)
  const locked = await lockInstancesAndRivals(tx, [instanceId], actor.accountId, [machine])
  const held = await holdLease(tx, lease, locked)
  if (!held) return undefined
  const replaced = await loadReplaced(tx, instanceId)
  const moved = await destroyUncharged(tx, held, replaced, { reason: 'REPLACED', message: reasonMessages.REPLACED })
  const rental = await rentInTransaction(tx, deps, actor, {
    input: replacementInputOf(bestOfferInputOf(deps.secrets, replaced), replaced, offerId),
    idempotencyKey: replaced.idempotencyKey,
    storeWrites: () => ({}),
  })
  const about = { kind: 'INSTANCE_REPLACED' as const, accountId: actor.accountId, actor: systemActor, instanceId }
  await recordEvents(tx, [{ ...about, reason: 'REPLACED', after: { replacedBy: rental.instanceId } }], tx.at)
  return moved
}

/** Destroys the instance without another in its place. */
async function giveUp({ database }: Deps, lease: PolicyLease, why: string): Promise<Outcome> {
  return await transaction(database, async tx => {
    const held = await holdLease(tx, lease, await lockInstances(tx, [lease.instanceId]))
    if (!held) return undefined
    const replaced = await loadReplaced(tx, lease.instanceId)
    const message = notReplacedMessage(replaced.replaceSeconds, why)
    return await destroyUncharged(tx, held, replaced, { reason: 'NOT_REPLACED', message })
  })
}

type Held = { locked: LockedInstance; facts: PolicyFacts }

/** Ends the lease, if this gateway still has it and the replacement is still due. The renter may have stopped the instance. */
async function holdLease(
  tx: Transaction,
  { instanceId, leasedUntil }: PolicyLease,
  [locked]: LockedInstance[],
): Promise<Held | undefined> {
  const facts = await factsOf(tx, instanceId)
  if (!locked || !facts || !isReplacementDue(facts, tx.at)) return undefined
  const held = await tx.execute(sql`
    UPDATE instances SET policy_leased_until = NULL WHERE id = ${instanceId} AND policy_leased_until = ${leasedUntil}`)
  return held > 0 ? { locked, facts } : undefined
}

/** An instance that never ran costs nothing: its disk was charged since it was rented. */
async function destroyUncharged(
  tx: Transaction,
  { locked, facts }: Held,
  replaced: Replaced,
  cause: { reason: 'REPLACED' | 'NOT_REPLACED'; message: string },
): Promise<number[]> {
  const { at } = tx
  const { id, accountId, machineId } = replaced
  const account = await lockAccount(tx, accountId, at)
  const meters = instanceMetersSql([id])
  await stopMeters(tx, account, meters, facts.createdAt)
  await refundAfter(tx, account, meters, facts.createdAt, 'The instance never ran.')
  const fault = givenUpStartFault(replaced)
  if (fault) await recordFailedStart(tx, { instanceId: id, accountId, machineId, fault }, at)
  return await applyPlans(
    tx,
    { actor: systemActor, ...cause },
    [{ id, outcome: 'applied', destroy: true }],
    [locked],
    at,
  )
}

async function factsOf(tx: Transaction, id: bigint): Promise<PolicyFacts | undefined> {
  return (await loadPolicyFacts(tx, [id])).get(id)
}

function isReplacementDue(facts: PolicyFacts | undefined, at: Date): boolean {
  const action = facts && nextPolicyAction(facts, at)
  return action?.kind === 'replace' && action.at <= at
}

/** The key that rented the instance, with the permissions that it has now; undefined if it is no longer valid. */
async function loadRenter({ database }: Deps, { apiKeyId }: Replaced): Promise<Actor | undefined> {
  const [key] = await database.query(
    sql`SELECT k.account_id, k.id AS api_key_id, k.public_id, k.permissions FROM api_keys k
      WHERE k.id = ${apiKeyId} AND ${activeKeySql(database.nowSql)}`,
    { accountId: int4, apiKeyId: int4, publicId: text, permissions: nullable(jsonb<Permissions>()) },
  )
  return key
}
