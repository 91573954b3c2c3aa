// Rentals that arrive together share one transaction: all their machines are locked, all their facts read and all their rows
// written by one statement each. Rentals that fail, wait, or move other instances are done one by one.

import { writeTogether } from '../../../database/together.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { decideRent } from '../../../domain/instances/rent/decide.ts'
import type { BatchOptions, BatchWork } from '../../batches.ts'
import type { Deps } from '../../deps.ts'
import { type RentRequest, type RentResult, rentAlone } from './alone.ts'
import { type LockedRentFacts, lockFreeRentFacts } from './facts.ts'
import { type PreparedRental, prepareRental, savePrepared } from './prepare.ts'
import { reserveKeys, storeResultsWrites } from './reserved-keys.ts'
import { changesOthers } from './save.ts'

/** Rentals of a second transaction are few if it begins at once. Those that wait for a lock must not use up the connections. */
export const rentBatches: BatchOptions = { parallelFrom: 8, singles: 8 }

export function rentWork(deps: Deps): BatchWork<RentRequest, RentResult> {
  return {
    many: requests => rentMany(deps, requests),
    one: request => rentAlone(deps, request),
    accountOf: ({ actor }) => actor.accountId,
  }
}

/** What needs statements of its own is rented alone. */
export function mayShare({ input: { launch, policy }, batch }: RentRequest): boolean {
  const volumes = (launch.newVolumes?.length ?? 0) + (launch.environment?.volumes.length ?? 0)
  return !batch && !policy && volumes === 0
}

/** Accounts that may not have what was written for them. */
class RefusedAccountsError extends Error {
  readonly accountIds: ReadonlySet<number>

  constructor(accountIds: Iterable<number>) {
    super('Some accounts may not rent.')
    this.accountIds = new Set(accountIds)
  }
}

async function rentMany(deps: Deps, requests: readonly RentRequest[]): Promise<Map<RentRequest, RentResult>> {
  const rent = (some: readonly RentRequest[]) => transaction(deps.database, tx => rentAllInTransaction(tx, deps, some))
  return await rent(requests).catch(async (error: unknown) => {
    if (!(error instanceof RefusedAccountsError)) throw error
    // Their rentals are refused one by one. So they cost the others one attempt.
    return await rent(requests.filter(({ actor }) => !error.accountIds.has(actor.accountId)))
  })
}

async function rentAllInTransaction(
  tx: Transaction,
  deps: Deps,
  requests: readonly RentRequest[],
): Promise<Map<RentRequest, RentResult>> {
  const reserved = await reserveKeys(tx, deps, requests)
  const facts = await lockFreeRentFacts(tx, deps, reserved)
  const prepared = new Map<RentRequest, PreparedRental>()
  const machineIds = new Set<number>()
  for (const [place, request] of reserved.entries()) {
    const one = prepareShared(request, facts[place], tx.at)
    // Two rentals of one machine are decided one after the other.
    if (!one || machineIds.has(one.saving.rental.machine.id)) continue
    machineIds.add(one.saving.rental.machine.id)
    prepared.set(request, one)
  }
  const storing = storeResultsWrites(
    deps,
    reserved.map(request => ({ ...request, result: prepared.get(request)?.result })),
  )
  if (prepared.size === 0) await writeTogether(tx, storing)
  else {
    const { errors } = await savePrepared(tx, deps, [...prepared.values()], storing)
    if (errors.size > 0) throw new RefusedAccountsError(errors.keys())
  }
  return new Map([...prepared].map(([request, { result }]) => [request, { result, replayed: false }]))
}

/** The rental, if it can be written with others. */
function prepareShared(
  { actor, input, idempotencyKey }: RentRequest,
  locked: LockedRentFacts | undefined,
  at: Date,
): PreparedRental | undefined {
  if (!locked?.market || locked.facts.forbidden.length > 0 || locked.facts.balance.isLimited) return undefined
  const { facts, market } = locked
  const decision = decideRent(input, facts, at)
  if (decision.blockers.length > 0 || decision.launch?.vm) return undefined
  const prepared = prepareRental({ actor, input, idempotencyKey }, { facts, market, decision, at })
  return changesOthers(prepared.saving) || (prepared.waits && input.failIfUnavailable) ? undefined : prepared
}
