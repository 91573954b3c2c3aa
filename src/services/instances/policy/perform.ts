import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { systemActor } from '../../../domain/events/actor.ts'
import { nextPolicyAction, type PolicyFacts } from '../../../domain/instances/policy/policy.ts'
import { recordEvents } from '../../events/events.ts'
import { applyPlans } from '../bulk/apply-plans.ts'
import { stopAtClearedEvent } from '../bulk/plan-events.ts'
import type { LockedInstance } from '../lock.ts'

const { sql } = Prisma

/** Performs the next action if it is due. Returns the ids of the machines whose markets must be updated. */
export async function performDueAction(
  tx: Transaction,
  locked: LockedInstance,
  facts: PolicyFacts,
  at: Date,
): Promise<number[]> {
  const action = nextPolicyAction(facts, at)
  if (!action || action.at > at) return []
  const { subject, accountId } = locked
  const { id } = subject
  switch (action.kind) {
    case 'announce': {
      await tx.execute(sql`UPDATE instances SET announced_at = ${at} WHERE id = ${id}`)
      const after = { endsAt: facts.endsAt.toISOString() }
      await recordEvents(tx, [{ kind: 'INSTANCE_ENDING', accountId, actor: systemActor, instanceId: id, after }], at)
      return []
    }
    case 'replace':
      // See replace.ts: it locks another machine first.
      return []
    case 'lapse':
      await clearStopAt(tx, locked, at)
      return []
    case 'stop': {
      const reason = action.code
      const moved = await applyPlans(
        tx,
        { actor: systemActor, reason },
        [{ id, outcome: 'applied', targetState: 'stopped' }],
        [locked],
        at,
      )
      if (reason === 'SCHEDULE') await clearStopAt(tx, locked, at)
      return moved
    }
    case 'destroy': {
      const { code, message } = action.reason
      return await applyPlans(
        tx,
        { actor: systemActor, reason: code, message },
        [{ id, outcome: 'applied', destroy: true }],
        [locked],
        at,
      )
    }
  }
}

/** `stopAt` fires once. Start the instance again and it keeps running. */
async function clearStopAt(
  tx: Transaction,
  { subject: { id, stopAt }, accountId }: LockedInstance,
  at: Date,
): Promise<void> {
  await tx.execute(sql`UPDATE instances SET stop_at = NULL WHERE id = ${id}`)
  await recordEvents(tx, [stopAtClearedEvent({ accountId, instanceId: id, stopAt })], at)
}
