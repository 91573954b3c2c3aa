import { Prisma } from '../../../database/generated/client.ts'
import { json, nullable } from '../../../database/row-types.ts'
import type { Transaction } from '../../../database/transaction.ts'
import { creditStatusOf } from '../../../domain/billing/balance.ts'
import type { Notice } from '../../../domain/billing/due.ts'
import { systemActor } from '../../../domain/events/actor.ts'
import type { NewEvent } from '../../events/events.ts'
import type { AccountBalance } from '../balance.ts'

const { sql } = Prisma

/** An event lists at most this many instances, and as many volumes, that will be destroyed, but counts all of them. */
const maxNamedIds = 100

/** Builds the events that notify an account about its credit. */
export async function buildNoticeEvents(
  tx: Transaction,
  account: AccountBalance,
  notices: Notice[],
): Promise<NewEvent[]> {
  const { accountId } = account
  const { creditNanos, costPerHourNanos } = creditStatusOf(account)
  const credit = { creditNanos: String(creditNanos), costPerHourNanos: String(costPerHourNanos) }
  return await Promise.all(
    notices.map(async (notice): Promise<NewEvent> => {
      const { kind } = notice
      switch (kind) {
        case 'ACCOUNT_LOW_CREDIT':
          return { kind, accountId, actor: systemActor, after: { ...credit, endsAt: notice.endsAt.toISOString() } }
        case 'ACCOUNT_CREDIT_ENDED':
          return { kind, accountId, actor: systemActor, after: { ...credit, endedAt: notice.endedAt.toISOString() } }
        case 'ACCOUNT_DEBT': {
          const instants = { since: notice.since.toISOString(), destroysAt: notice.destroysAt.toISOString() }
          return {
            kind,
            accountId,
            actor: systemActor,
            after: { ...credit, ...instants, ...(await loadDestroyedIds(tx, accountId)) },
          }
        }
      }
    }),
  )
}

async function loadDestroyedIds(tx: Transaction, accountId: number) {
  const statement = sql`
    SELECT (SELECT json_agg(id::text ORDER BY id) FROM instances WHERE account_id = ${accountId} AND destroyed_at IS NULL)
        AS instances,
      (SELECT json_agg(id::text ORDER BY id) FROM volumes WHERE account_id = ${accountId} AND deleted_at IS NULL) AS volumes`
  const ids = nullable(json<string[]>())
  const [row] = await tx.query(statement, { instances: ids, volumes: ids })
  const [instances, volumes] = [row?.instances ?? [], row?.volumes ?? []]
  const named = { instanceIds: instances.slice(0, maxNamedIds), volumeIds: volumes.slice(0, maxNamedIds) }
  return { ...named, instances: instances.length, volumes: volumes.length }
}
