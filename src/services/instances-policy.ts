// Finds the instances for which an arranged instant has come, and does what was arranged.

import { Prisma } from '../database/generated/client.ts'
import { type Transaction, transaction } from '../database/transaction.ts'
import { nextPolicy, type PolicyFacts } from '../domain/instances-policy.ts'
import type { DataDeps } from './deps.ts'
import { recordEvents } from './events.ts'
import { followMarkets, type Locked, lockInstances, writeSteps } from './instances-write.ts'

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
    async perform({ instanceId, leasedUntil }: PolicyLease): Promise<void> {
      const at = now()
      const machines = await transaction(database.pool, async tx => {
        const [locked] = await lockInstances(tx, [instanceId])
        const facts = await factsOf(tx, instanceId, leasedUntil)
        if (!locked || !facts) return []
        const moved = await execute(tx, locked, facts, at)
        const after = await factsOf(tx, instanceId, leasedUntil)
        await tx.rows(sql`
          UPDATE instances SET policy_leased_until = NULL, policy_due_at = ${after && nextPolicy(after, at)?.at}
          WHERE id = ${instanceId}`)
        return moved
      })
      await followMarkets(database, machines, at)
    },
  }
}

/** Does what comes next, if its instant has come. The machines whose market that moves are returned. */
async function execute(tx: Transaction, { subject, ...rest }: Locked, facts: PolicyFacts, at: Date): Promise<number[]> {
  const policy = nextPolicy(facts, at)
  if (!policy || policy.at > at) return []
  const { id } = subject
  switch (policy.deed) {
    case 'announce': {
      await tx.rows(sql`UPDATE instances SET announced_at = ${at} WHERE id = ${id}`)
      const after = { endsAt: facts.endsAt.toISOString() }
      await recordEvents(tx, [{ type: 'INSTANCE_ENDING', accountId: rest.accountId, instanceId: id, after }], at)
      return []
    }
    case 'destroy': {
      const { code, message } = policy.reason
      await tx.rows(sql`UPDATE instances SET reason_code = ${code}, reason_message = ${message} WHERE id = ${id}`)
      return await writeSteps(
        tx,
        { reason: code },
        [{ id, outcome: 'applied', destroy: true }],
        [{ subject, ...rest }],
        at,
      )
    }
  }
}

/** What decides over an instance that is still ours; undefined when its lease ran out and it may have been taken by another. */
async function factsOf(tx: Transaction, id: bigint, leasedUntil: Date): Promise<PolicyFacts | undefined> {
  const [row] = await tx.rows(sql`
    SELECT created_at, ends_at, destroyed_at, announced_at FROM instances
    WHERE id = ${id} AND policy_leased_until = ${leasedUntil}`)
  if (!row) return undefined
  const [createdAt, endsAt, destroyedAt, announcedAt] = row as [Date, Date, Date | null, Date | null]
  return { createdAt, endsAt, destroyedAt, announcedAt }
}
