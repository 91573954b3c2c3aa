import { Prisma } from '../../../database/generated/client.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { nextPolicy, type PolicyFacts } from '../../../domain/instances/policy/policy.ts'
import { recordEvents } from '../../events/events.ts'
import { type Locked, lapsedEvent, writeSteps } from '../write.ts'

const { sql } = Prisma

/** Does what comes next, if its instant has come. The machines whose market that moves are returned. */
export async function execute(tx: Transaction, locked: Locked, facts: PolicyFacts, at: Date): Promise<number[]> {
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
      return await writeSteps(tx, { reason: code, message }, [{ id, outcome: 'applied', destroy: true }], [locked], at)
    }
  }
}

/** What was arranged for an instant is done with: who starts it afterwards has it run. */
async function lapse(tx: Transaction, { subject: { id, stopAt }, accountId }: Locked, at: Date): Promise<void> {
  await tx.rows(sql`UPDATE instances SET stop_at = NULL WHERE id = ${id}`)
  await recordEvents(tx, [lapsedEvent({ accountId, instanceId: id, stopAt })], at)
}
