// Rentals that arrive together share one transaction: all their machines are locked, all their facts read and all their rows
// written by one statement each. Those that are refused, need a lock that is taken, or move other instances are rented alone.

import { writeTogether } from '../../../database/together.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { decideRent } from '../../../domain/instances/rent/decide.ts'
import { type BatchOptions, type BatchWork, createBatcher } from '../../batches.ts'
import type { Deps } from '../../deps.ts'
import { limitConcurrency } from '../../turns.ts'
import { type RentRequest, type RentResult, rentAlone } from './alone.ts'
import { type LockedRentFacts, lockFreeRentFacts } from './facts.ts'
import { type PreparedRental, prepareRental, savePrepared } from './prepare.ts'
import { reserveKeys, storeResultsWrites } from './reserved-keys.ts'
import { changesOthers } from './save.ts'

/**
 * A second transaction begins with some rentals: with few, it would cost as much as they do. Rentals that may wait for locks
 * are few at a time, of an account, too, so that they leave connections to others.
 */
const batchOptions: BatchOptions = { parallelFrom: 4, apart: true, singles: 4, singlesOfAccount: 2 }
const maxAlone = 4
const maxAloneOfAccount = 2
/** How long a rental waits for a lock that another one of its transaction needs. */
const lockTimeoutMs = 100

/** Returns a function that rents, together with other requests where it can. */
export function createRenter(deps: Deps): (request: RentRequest) => Promise<RentResult> {
  const work: BatchWork<RentRequest, RentResult> = {
    many: requests => rentMany(deps, requests),
    one: request => rentAlone(deps, request),
    accountOf: ({ actor }) => actor.accountId,
  }
  const rentTogether = createBatcher(work, deps.log, batchOptions)
  const limitAlone = limitConcurrency(maxAlone, maxAloneOfAccount)
  // A repetition waits for the requests before it: others in its transaction would wait, too.
  const rent = (request: RentRequest, isRepetition: boolean) =>
    mayShare(request) && !isRepetition
      ? rentTogether(request)
      : limitAlone(request.actor.accountId, () => rentAlone(deps, request))
  /** How many requests with a key are in work. */
  const inWork = new Map<string, number>()
  return async request => {
    const { idempotencyKey } = request.request
    if (!idempotencyKey) return await rent(request, false)
    const key = `${request.actor.accountId} ${idempotencyKey}`
    const others = inWork.get(key) ?? 0
    inWork.set(key, others + 1)
    try {
      return await rent(request, others > 0)
    } finally {
      const left = (inWork.get(key) ?? 1) - 1
      if (left > 0) inWork.set(key, left)
      else inWork.delete(key)
    }
  }
}

/** What needs statements of its own is rented alone. */
function mayShare({ input: { launch, policy }, batch }: RentRequest): boolean {
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
  if (requests.length === 0) return new Map()
  const rent = (tx: Transaction) => rentAllInTransaction(tx, deps, requests)
  return await transaction(deps.database, rent, { lockTimeoutMs }).catch(async (error: unknown) => {
    if (!(error instanceof RefusedAccountsError)) throw error
    // Their rentals are refused one by one. So they cost the others one attempt.
    const others = requests.filter(({ actor }) => !error.accountIds.has(actor.accountId))
    return await rentMany(deps, others)
  })
}

async function rentAllInTransaction(
  tx: Transaction,
  deps: Deps,
  requests: readonly RentRequest[],
): Promise<Map<RentRequest, RentResult>> {
  const reserved = await reserveKeys(tx, deps, requests)
  const prepared = new Map<RentRequest, PreparedRental>()
  const machineIds = new Set<number>()
  for (const { renting, locked } of await lockFreeRentFacts(tx, deps, reserved)) {
    const one = prepareShared(renting, locked, tx.at)
    // Two rentals of one machine are decided one after the other.
    if (!one || machineIds.has(one.saving.rental.machine.id)) continue
    machineIds.add(one.saving.rental.machine.id)
    prepared.set(renting, one)
  }
  const outcomes = reserved.map(request => ({ ...request, result: prepared.get(request)?.result }))
  const storing = storeResultsWrites(deps, outcomes)
  if (prepared.size === 0) await writeTogether(tx, storing)
  else {
    const errors = await savePrepared(tx, deps, [...prepared.values()], storing)
    if (errors.size > 0) throw new RefusedAccountsError(errors.keys())
  }
  return new Map([...prepared].map(([request, { result }]) => [request, { result, replayed: false }]))
}

/** The rental, if it can be written with others. */
function prepareShared(request: RentRequest, locked: LockedRentFacts, at: Date): PreparedRental | undefined {
  const { facts } = locked
  if (facts.forbidden.length > 0 || facts.balance.isLimited) return undefined
  const decision = decideRent(request.input, facts, at)
  if (decision.blockers.length > 0 || decision.launch?.vm) return undefined
  const prepared = prepareRental(request, { ...locked, decision, at })
  return changesOthers(prepared.saving) || (prepared.waits && request.input.failIfUnavailable) ? undefined : prepared
}
