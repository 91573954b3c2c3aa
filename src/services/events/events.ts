import { Prisma } from '../../database/generated/client.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { EventKind } from '../../domain/events/events.ts'

/** Ids are named by their type, never `id`: apiKeyId, sshKeyId, templateId, volumeId. */
type Facts = Record<string, unknown> & { id?: never }

/**
 * One change. Without `apiKeyId`, Berth itself or an operator made the change. A subject that is not an instance is
 * named in `after`, or in `before` when it was deleted.
 */
export type NewEvent = {
  kind: EventKind
  accountId: number
  instanceId?: bigint
  apiKeyId?: number
  before?: Facts
  after?: Facts
  reason?: string
}

const eventColumns = modelColumnsOf(Prisma.EventScalarFieldEnum)

/**
 * Writes events and their webhook deliveries in the transaction of the change, so that all of them are committed or
 * none. A test event is sent only to the webhook under test. The commit wakes streams and the loops, which also find
 * the work that the transaction made due.
 */
export async function recordEvents(tx: Transaction, events: NewEvent[], createdAt: Date): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(event => ({ ...event, createdAt }))
  await tx.rows(Prisma.sql`
    WITH recorded AS (${insertSql('events', eventColumns, rows)} RETURNING id, account_id, kind, after)
    INSERT INTO webhook_deliveries (webhook_id, event_id, due_at)
    SELECT w.id, e.id, ${createdAt}::timestamptz FROM recorded e JOIN webhooks w ON w.account_id = e.account_id
    WHERE w.deleted_at IS NULL AND CASE e.kind WHEN 'WEBHOOK_TESTED' THEN w.id = (e.after->>'webhookId')::int
      ELSE e.kind = ANY(w.kinds) END`)
  tx.notifyAfterCommit()
}
