import { Prisma } from '../../../database/generated/client.ts'
import { type Transaction, transaction } from '../../../database/transaction.ts'
import type { Actor } from '../../../domain/actor.ts'
import { invalidState, notFound } from '../../../domain/errors.ts'
import type { Instance } from '../../../domain/instances/instances.ts'
import { changedParts, changePolicy, type PolicyWish, policyFacts } from '../../../domain/instances/policy/change.ts'
import { aboutToGo, isAboutToGo, nextPolicy } from '../../../domain/instances/policy/policy.ts'
import { authorise } from '../../authorize.ts'
import { lockBalance } from '../../billing/balance.ts'
import type { Deps } from '../../deps.ts'
import { recordEvents } from '../../events/events.ts'
import { findInstances } from '../read.ts'
import { followMarkets, lockInstances } from '../write.ts'
import { execute } from './deeds.ts'
import { arrange, policyFactsOf } from './facts.ts'

const { sql } = Prisma

export function policySetServices(deps: Deps) {
  const { database } = deps

  return {
    /** Arranges what is to happen to an instance by itself, or takes it away. */
    async setPolicy(actor: Actor, id: bigint, wish: PolicyWish): Promise<Instance> {
      authorise(actor, 'instances.setPolicy', { id: Number(id) })
      const machines = await transaction(database, async tx => {
        const moved = await doWhatCame(tx, actor, id, tx.at)
        await setIn(tx, actor, id, wish, tx.at)
        return moved
      })
      await followMarkets(deps, machines)
      return (await findInstances(deps, [sql`i.id = ${id}`], sql`i.id`, 1))[0] as Instance
    },
  }
}

/** A stop whose instant has come is done, and not to be taken back. The machines whose market that moves. */
async function doWhatCame(tx: Transaction, { accountId }: Actor, id: bigint, at: Date): Promise<number[]> {
  const machines: number[] = []
  for (;;) {
    const [locked] = await lockInstances(tx, [id], accountId)
    if (!locked || locked.subject.destroyedAt) return machines
    const account = await lockBalance(tx, accountId, at)
    // Its meters end when it should have been done.
    await arrange(tx, account, id, at)
    const facts = (await policyFactsOf(tx, [id])).get(id)
    const policy = facts && nextPolicy(facts, at)
    if (!facts || !policy || policy.at > at || policy.deed === 'destroy') return machines
    machines.push(...(await execute(tx, locked, facts, at)))
  }
}

async function setIn(tx: Transaction, actor: Actor, id: bigint, wish: PolicyWish, at: Date): Promise<void> {
  const { accountId, apiKeyId } = actor
  const [locked] = await lockInstances(tx, [id], accountId)
  if (!locked || locked.subject.destroyedAt) throw notFound('Instance', id)
  const account = await lockBalance(tx, accountId, at)
  const before = (await policyFactsOf(tx, [id])).get(id)
  if (!before) throw notFound('Instance', id)
  if (isAboutToGo(before, at)) {
    throw invalidState(id, aboutToGo)
  }
  const after = changePolicy(before, wish, account.at)
  if (!after) return
  const { stopAt, stopAtCostNanos, destroyAt, destroyStoppedMs } = after
  await tx.rows(sql`
    UPDATE instances SET stop_at = ${stopAt}, stop_at_cost_nanos = ${stopAtCostNanos}, destroy_at = ${destroyAt},
      destroy_stopped_ms = ${destroyStoppedMs} WHERE id = ${id}`)
  const parts = changedParts(after, before)
  const changed = { before: policyFacts(before, parts), after: policyFacts(after, parts), reason: 'USER_REQUEST' }
  const about = { type: 'INSTANCE_POLICY_CHANGED' as const, accountId, apiKeyId, instanceId: id }
  await recordEvents(tx, [{ ...about, ...changed }], at)
  await arrange(tx, account, id, at)
}
