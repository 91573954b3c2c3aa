import { Prisma } from '../../database/generated/client.ts'
import { columnsOf, insertSql } from '../../database/rows.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { EventType } from '../../domain/events/events.ts'

/** Ids say what they are of: apiKeyId, sshKeyId, templateId, volumeId. */
type Facts = Record<string, unknown> & { id?: never }

/**
 * What changed. Without a key, Berth itself or an operator did it. What is no instance is named in `after`, or in
 * `before` when it is gone.
 */
export type NewEvent = {
  type: EventType
  accountId: number
  instanceId?: bigint
  apiKeyId?: number
  before?: Facts
  after?: Facts
  reason?: string
}

const eventColumns = columnsOf({ ...Prisma.EventScalarFieldEnum })

/**
 * Writes events in the transaction that makes them true, so that there is none without the other, and with them what is to
 * be sent of them. A test goes to the webhook that is tested and to no other.
 */
export async function recordEvents(tx: Transaction, events: NewEvent[], at: Date): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(event => ({ ...event, at }))
  await tx.rows(Prisma.sql`
    WITH recorded AS (${insertSql('events', eventColumns, rows)} RETURNING id, account_id, type, after)
    INSERT INTO webhook_deliveries (webhook_id, event_id, due_at)
    SELECT w.id, e.id, ${at}::timestamptz FROM recorded e JOIN webhooks w ON w.account_id = e.account_id
    WHERE w.deleted_at IS NULL AND CASE e.type WHEN 'WEBHOOK_TESTED' THEN w.id = (e.after->>'webhookId')::int
      ELSE e.type = ANY(w.types) END`)
  tx.notifyAfterCommit()
}
