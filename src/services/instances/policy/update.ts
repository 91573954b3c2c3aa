import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { invalidState, notFound } from '../../../domain/errors.ts'
import { apiKeyActor } from '../../../domain/events/actor.ts'
import { requireLiving } from '../../../domain/instances/actions.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import {
  changedPolicyFields,
  decidePolicy,
  type PolicyInput,
  policyEventDetails,
} from '../../../domain/instances/policy/change.ts'
import { destroyDueMessage, isDestroyDue, nextPolicyAction } from '../../../domain/instances/policy/policy.ts'
import { authorize } from '../../authorize.ts'
import { lockAccount } from '../../billing/balance.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { updateMarkets } from '../bulk/update-markets.ts'
import { lockInstances } from '../lock.ts'
import { findInstances } from '../read.ts'
import { loadPolicyFacts, scheduleNextAction } from './facts.ts'
import { forgetIdle } from './idle.ts'
import { performDueAction } from './perform.ts'

const { sql } = Prisma

export function policyUpdateServices(deps: Deps) {
  const { database } = deps

  return {
    /** Sets, changes or removes fields of an instance's policy. */
    async updatePolicy(actor: Actor, id: bigint, input: PolicyInput): Promise<Instance> {
      authorize(actor, 'instances.setPolicy', { id: Number(id) })
      const machines = await transaction(database, async tx => {
        const moved = await performDueStops(tx, actor, id, tx.at)
        await updatePolicyInTransaction(tx, actor, id, input, tx.at)
        return moved
      })
      await updateMarkets(deps, machines)
      return (await findInstances(deps, [sql`i.id = ${id}`], sql`i.id`, 1))[0] as Instance
    },
  }
}

/**
 * Performs stops that are already due, so that a late change of the policy cannot revoke them.
 * Returns the ids of the machines whose markets must be updated.
 */
async function performDueStops(tx: Transaction, { accountId }: Actor, id: bigint, at: Date): Promise<number[]> {
  const machines: number[] = []
  for (;;) {
    const [locked] = await lockInstances(tx, [id], accountId)
    if (!locked || locked.subject.destroyedAt) return machines
    const account = await lockAccount(tx, accountId, at)
    // The meters must end at the instant at which the action was due.
    await scheduleNextAction(tx, account, id, at)
    const facts = (await loadPolicyFacts(tx, [id])).get(id)
    const action = facts && nextPolicyAction(facts, at)
    if (!facts || !action || action.at > at || ['destroy', 'replace'].includes(action.kind)) return machines
    machines.push(...(await performDueAction(tx, locked, facts, at)))
  }
}

async function updatePolicyInTransaction(
  tx: Transaction,
  actor: Actor,
  id: bigint,
  input: PolicyInput,
  at: Date,
): Promise<void> {
  const { accountId } = actor
  const [locked] = await lockInstances(tx, [id], accountId)
  requireLiving(id, locked?.subject)
  const account = await lockAccount(tx, accountId, at)
  const before = (await loadPolicyFacts(tx, [id])).get(id)
  if (!before) throw notFound('Instance', id)
  if (isDestroyDue(before, at)) {
    throw invalidState(id, destroyDueMessage)
  }
  const after = decidePolicy(before, input, account.at)
  if (!after) return
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs, idleGpuPercent, idleSeconds } = after
  await tx.execute(sql`
    UPDATE instances SET stop_at = ${stopAt}, stop_at_cost_nanos = ${stopAtCostNanos}, destroy_at = ${destroyAt},
      destroy_stopped_ms = ${destroyStoppedMs}, idle_gpu_percent = ${idleGpuPercent}, idle_seconds = ${idleSeconds} WHERE id = ${id}`)
  const parts = changedPolicyFields(after, before)
  // Samples were compared with the old limit.
  if (parts.includes('idleGpuPercent')) await forgetIdle(tx, id)
  const changed = {
    before: policyEventDetails(before, parts),
    after: policyEventDetails(after, parts),
    reason: 'USER_REQUEST' as const,
  }
  const about = { kind: 'INSTANCE_POLICY_CHANGED' as const, accountId, actor: apiKeyActor(actor), instanceId: id }
  await recordEvents(tx, [{ ...about, ...changed }], at)
  await scheduleNextAction(tx, account, id, at)
}
