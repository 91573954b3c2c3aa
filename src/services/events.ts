import { Prisma } from '../database/generated/client.ts'
import { columnsOf, insertAll } from '../database/rows.ts'
import type { Transaction } from '../database/transaction.ts'
import type { EventType } from '../domain/events.ts'

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

/** Writes events in the transaction that makes them true, so that there is none without the other. */
export async function recordEvents(tx: Transaction, events: NewEvent[], at: Date): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(event => ({ ...event, at }))
  await tx.rows(insertAll('events', eventColumns, rows))
  tx.announce()
}
