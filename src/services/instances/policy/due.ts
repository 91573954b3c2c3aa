// Leases instances with a due policy action, and performs the action.

import { Prisma } from '../../../database/generated/client.ts'
import { bool } from '../../../database/row-types.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import { nextPolicyAction, type PolicyFacts } from '../../../domain/instances/policy/policy.ts'
import { lockAccount } from '../../billing/balance.ts'
import type { Deps } from '../../deps.ts'
import { updateMarkets } from '../bulk/update-markets.ts'
import { lockInstances } from '../lock.ts'
import { hasPolicySql } from '../sql.ts'
import { loadPolicyFacts, scheduleNextAction } from './facts.ts'
import { leaseDuePolicies, type PolicyLease } from './lease.ts'
import { performDueAction } from './perform.ts'
import { replaceIfDue } from './replace.ts'

const { sql } = Prisma

export function duePolicyServices(deps: Deps) {
  const { database } = deps
  return {
    /** Leases instances with a due action, the longest due first. No other gateway gets them while the lease lasts. */
    async leaseDue(limit: number): Promise<PolicyLease[]> {
      return await leaseDuePolicies(database, limit)
    },

    /**
     * Performs the due action and schedules the next one, in one transaction; the market is updated in another
     * transaction. If nothing is due anymore, only the next action is scheduled.
     */
    async perform(lease: PolicyLease): Promise<void> {
      const replaced = lease.mayReplace ? await replaceIfDue(deps, lease) : undefined
      const machines = replaced ?? (await transaction(database, tx => performInTransaction(tx, lease, tx.at)))
      await updateMarkets(deps, machines)
    },
  }
}

/** Returns the ids of the machines whose markets must be updated. */
async function performInTransaction(
  tx: Transaction,
  { instanceId, leasedUntil }: PolicyLease,
  at: Date,
): Promise<number[]> {
  const [locked] = await lockInstances(tx, [instanceId])
  // Another gateway may have leased the instance after this lease ran out.
  const [held] = await tx.query(
    sql`
      UPDATE instances SET policy_leased_until = NULL WHERE id = ${instanceId} AND policy_leased_until = ${leasedUntil}
      RETURNING (${hasPolicySql}) AS has_policy`,
    { hasPolicy: bool },
  )
  if (!locked || !held) return []
  const account = held.hasPolicy ? await lockAccount(tx, locked.accountId, at) : undefined
  // Runs before the action charges anything: the action may be late, and the meters must end when it was due.
  if (account) await scheduleNextAction(tx, account, instanceId, at)
  const facts = async () => (await loadPolicyFacts(tx, [instanceId])).get(instanceId) as PolicyFacts
  const moved = await performDueAction(tx, locked, await facts(), at)
  if (account) await scheduleNextAction(tx, account, instanceId, at)
  else {
    const next = nextPolicyAction(await facts(), at)?.at ?? null
    await tx.execute(sql`UPDATE instances SET policy_due_at = ${next}::timestamptz WHERE id = ${instanceId}`)
  }
  return moved
}
