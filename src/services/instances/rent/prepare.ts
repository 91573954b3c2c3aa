// From the decision of a rental to its rows.

import type { Writes } from '../../../database/together.ts'
import type { Transaction } from '../../../database/transaction.ts'
import type { DomainError } from '../../../domain/errors.ts'
import { type RentDecision, rentalHoldings, rentalRate, sshKeyRequired } from '../../../domain/instances/rent/decide.ts'
import { checkWrittenAdditions } from '../../billing/additions.ts'
import { checkSpendLimits } from '../../billing/limits/check.ts'
import type { Deps } from '../../deps.ts'
import { scheduleNextActions } from '../policy/facts.ts'
import type { LockedRentFacts } from './facts.ts'
import type { Saving } from './instance-row.ts'
import { marketWithRental } from './market.ts'
import type { Renting } from './renter.ts'
import { saveRentals } from './save.ts'

/** The part of a rental that is stored for a repetition of the request. */
export type StoredRental = { instanceId: string; warnings: string[] }

/** A rental that is decided, and not yet written. */
export type PreparedRental = {
  saving: Saving
  result: StoredRental
  /** Whether the instance has to wait for its GPUs. */
  waits: boolean
}

type KeyedRenting = Renting & { idempotencyKey: string | null }
type Decided = LockedRentFacts & { decision: RentDecision; at: Date }

/** The rental of a decision without blockers. */
export function prepareRental(
  { actor, input, idempotencyKey }: KeyedRenting,
  { facts, market: locked, decision, at }: Decided,
): PreparedRental {
  const { launch, ports, gpuPriceNanos, warnings } = decision
  const { target, template } = facts
  if (!locked || !launch || !target || gpuPriceNanos === undefined)
    throw new Error('No blocker was found, but the launch or the offer is missing.')
  const rental = { input, template, launch, ports, ...target, gpuPriceNanos, idempotencyKey }
  const market = marketWithRental(rental, locked, at)
  // The market may grant the GPUs to another instance: to a higher bid, or to an older one that was just started.
  // A start (services/instances/bulk/command.ts) may commit before it updates the market in a second transaction.
  const waits = market.claim !== undefined && !market.granted.includes(market.claim)
  return {
    saving: { actor, rental, market, locked },
    result: { instanceId: String(locked.instanceId), warnings },
    waits,
  }
}

/**
 * Writes rentals on different machines, with `others`. Returns the errors of accounts that may not have them: then the
 * transaction must be rolled back.
 */
export async function savePrepared(
  tx: Transaction,
  deps: Deps,
  all: readonly PreparedRental[],
  others: Writes,
): Promise<Map<number, DomainError>> {
  const savings = all.map(({ saving }) => saving)
  const additions = savings.map(({ actor, rental: { machine, launch, gpuPriceNanos } }) => {
    return { accountId: actor.accountId, added: rentalHoldings(machine, launch, gpuPriceNanos) }
  })
  const check = () => checkWrittenAdditions(tx, deps.admission, additions)
  const { attachedKeys, checked } = await saveRentals(tx, deps.secrets, savings, { others, check })
  const { accounts, errors } = checked
  if (errors.size > 0) return errors
  // The keys were counted before they were locked, and may have been deleted since. A VM is rented alone.
  if (attachedKeys === 0 && savings.some(({ rental }) => rental.launch.vm)) throw sshKeyRequired()
  const withPolicy = savings.filter(({ rental }) => rental.input.policy).map(({ locked }) => locked.instanceId)
  if (withPolicy.length > 0) await scheduleNextActions(tx, accounts, withPolicy, tx.at)
  for (const account of accounts) await checkSpendLimits(tx, account, ratesOf(account, savings))
  return errors
}

function ratesOf({ accountId }: { accountId: number }, savings: readonly Saving[]) {
  const own = savings.filter(({ actor }) => actor.accountId === accountId)
  return own.map(({ actor, rental: { machine, launch, gpuPriceNanos } }) => {
    return { apiKeyId: actor.apiKeyId, rateNanos: rentalRate(machine, launch, gpuPriceNanos) }
  })
}
