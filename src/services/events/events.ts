import { Prisma } from '../../database/generated/client.ts'
import { insertSql, modelColumnsOf } from '../../database/rows.ts'
import { writeTogether } from '../../database/together.ts'
import type { Transaction } from '../../database/transaction.ts'
import type { EventActor } from '../../domain/events/actor.ts'
import type { EventKind } from '../../domain/events/events.ts'
import { newSubjectOf } from '../../domain/events/subject.ts'
import type { ReasonCode } from '../../domain/reasons.ts'

/** What JSON can hold. Large integers are strings. */
type Fact = string | number | boolean | null | undefined | Date | readonly Fact[] | { readonly [name: string]: Fact }
/** Ids are named by their type, never `id`: apiKeyId, sshKeyId, templateId, volumeId. */
type Facts = { readonly [name: string]: Fact } & { id?: never }

/**
 * One change. A subject that is not an instance or the account is named in `after`, or in `before` when it was
 * deleted.
 */
export type NewEvent = {
  kind: EventKind
  accountId: number
  instanceId?: bigint
  actor: EventActor
  before?: Facts
  after?: Facts
  reason?: ReasonCode
  /** Free text of the operator. */
  note?: string
}

const eventColumns = modelColumnsOf(Prisma.EventScalarFieldEnum)

/**
 * Writes events and their webhook deliveries in the transaction of the change, so that all of them are committed or
 * none. A test event is sent only to the webhook under test. The commit wakes the streams and, if there are deliveries,
 * the loop that sends them.
 */
export async function recordEvents(tx: Transaction, events: NewEvent[], createdAt: Date): Promise<void> {
  if (events.length === 0) return
  notifyOfEvents(tx, await writeTogether(tx, eventWrites(events, createdAt)))
}

/** Wakes those that wait for what `eventWrites` wrote: takes the counts of `writeTogether`. */
export function notifyOfEvents(tx: Transaction, written: Record<string, number>): void {
  if (written['recorded']) tx.notifyAfterCommit('events')
  if (written['deliveries']) tx.notifyAfterCommit('webhooks')
}

/** The writes of `recordEvents`, for `writeTogether`. The caller then calls `notifyOfEvents`. */
export function eventWrites(events: NewEvent[], createdAt: Date): Record<string, Prisma.Sql> {
  if (events.length === 0) return {}
  const rows = events.map(({ actor, ...event }) => {
    const { type: subjectType, id: subjectId } = newSubjectOf(event)
    const apiKeyId = actor.kind === 'api_key' ? actor.apiKeyId : null
    return { ...event, actorKind: actor.kind, apiKeyId, subjectType, subjectId, createdAt }
  })
  const accountIds = [...new Set(events.map(({ accountId }) => accountId))]
  return {
    recorded: Prisma.sql`${insertSql('events', eventColumns, rows)} RETURNING id, account_id, kind, after`,
    deliveries: Prisma.sql`
      INSERT INTO webhook_deliveries (webhook_id, event_id, due_at)
      SELECT w.id, e.id, ${createdAt}::timestamptz FROM (
        SELECT id, account_id, kinds FROM webhooks WHERE account_id = ANY(${accountIds}::int[]) AND deleted_at IS NULL OFFSET 0
      ) w JOIN recorded e ON e.account_id = w.account_id
      WHERE CASE e.kind WHEN 'WEBHOOK_TESTED' THEN w.id = (e.after->>'webhookId')::int ELSE e.kind = ANY(w.kinds) END
      RETURNING 1`,
  }
}
