// Finds the instances for which an arranged instant has come, and does what was arranged.

import { Prisma } from '../database/generated/client.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import { nextPolicy, type PolicyFacts } from '../domain/instances-policy.ts'
import { lockBalance } from './billing-balance.ts'
import type { DataDeps } from './deps.ts'
import { recordEvents } from './events.ts'
import { arrange, policyFactsOf } from './instances-policy-facts.ts'
import { followMarkets, isArranged, type Locked, lapsedEvent, lockInstances, writeSteps } from './instances-write.ts'

const { sql } = Prisma

/** A gateway that dies keeps what it was doing from the others for so long. */
const leaseMs = 30_000

export type PolicyLease = { instanceId: bigint; leasedUntil: Date }

export function policyServices({ database, now }: DataDeps) {
  return {
    /** Takes instances to which something is to happen now, the longest due first. What one gateway takes no other has. */
    async claim(limit: number): Promise<PolicyLease[]> {
      const at = now()
      const leasedUntil = new Date(at.getTime() + leaseMs)
      const rows = await database.rows(sql`
        UPDATE instances SET policy_leased_until = ${leasedUntil} WHERE id IN (
          SELECT id FROM instances
          WHERE policy_due_at <= ${at} AND (policy_leased_until IS NULL OR policy_leased_until <= ${at})
          ORDER BY policy_due_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
        ) RETURNING id`)
      return rows.map(([id]) => ({ instanceId: id as bigint, leasedUntil }))
    },

    /**
     * Does what is due, and writes what comes next, in one transaction; the market follows in another. Whoever finds that
     * it was done, or is not due any more, writes what comes next and no more.
     */
    async perform(lease: PolicyLease): Promise<void> {
      const at = now()
      const machines = await transaction(database.pool, tx => performIn(tx, lease, at))
      await followMarkets(database, machines, at)
    },
  }
}

/** The machines whose market that moves. */
async function performIn(tx: Transaction, { instanceId, leasedUntil }: PolicyLease, at: Date): Promise<number[]> {
  const [locked] = await lockInstances(tx, [instanceId])
  // A lease that ran out may have been taken by another.
  const [held] = await tx.rows(sql`
    UPDATE instances SET policy_leased_until = NULL WHERE id = ${instanceId} AND policy_leased_until = ${leasedUntil}
    RETURNING ${isArranged}`)
  if (!locked || !held) return []
  const account = held[0] === true ? await lockBalance(tx, locked.accountId, at) : undefined
  // Before anything is charged for what is done: it may be late, and its meters end when it should have been done.
  if (account) await arrange(tx, account, instanceId, at)
  const facts = async () => (await policyFactsOf(tx, [instanceId])).get(instanceId) as PolicyFacts
  const moved = await execute(tx, locked, await facts(), at)
  if (account) await arrange(tx, account, instanceId, at)
  else {
    const next = nextPolicy(await facts(), at)?.at ?? null
    await tx.rows(sql`UPDATE instances SET policy_due_at = ${next}::timestamptz WHERE id = ${instanceId}`)
  }
  return moved
}

/** Does what comes next, if its instant has come. The machines whose market that moves are returned. */
async function execute(tx: Transaction, locked: Locked, facts: PolicyFacts, at: Date): Promise<number[]> {
  const policy = nextPolicy(facts, at)
  if (!policy || policy.at > at) return []
  const { subject, accountId } = locked
  const { id } = subject
  switch (policy.deed) {
    case 'announce': {
      await tx.rows(sql`UPDATE instances SET announced_at = ${at} WHERE id = ${id}`)
      const after = { endsAt: facts.endsAt.toISOString() }
      await recordEvents(tx, [{ type: 'INSTANCE_ENDING', accountId, instanceId: id, after }], at)
      return []
    }
    case 'lapse':
      await lapse(tx, locked, at)
      return []
    case 'stop': {
      const reason = policy.code
      const moved = await writeSteps(tx, { reason }, [{ id, outcome: 'applied', targetState: 'stopped' }], [locked], at)
      if (reason === 'SCHEDULE') await lapse(tx, locked, at)
      return moved
    }
    case 'destroy': {
      const { code, message } = policy.reason
      await tx.rows(sql`UPDATE instances SET reason_code = ${code}, reason_message = ${message} WHERE id = ${id}`)
      return await writeSteps(tx, { reason: code }, [{ id, outcome: 'applied', destroy: true }], [locked], at)
    }
  }
}

/** What was arranged for an instant is done with: who starts it afterwards has it run. */
async function lapse(tx: Transaction, { subject: { id, stopAt }, accountId }: Locked, at: Date): Promise<void> {
  await tx.rows(sql`UPDATE instances SET stop_at = NULL WHERE id = ${id}`)
  await recordEvents(tx, [lapsedEvent({ accountId, instanceId: id, stopAt })], at)
}
