import { Prisma } from '../database/generated/client.ts'
import { columnsOf, insertAll } from '../database/rows.ts'
import type { Transaction } from '../database/transaction.ts'

type EventType =
  | 'INSTANCE_CREATED'
  | 'INSTANCE_TARGET_CHANGED'
  | 'INSTANCE_LABEL_CHANGED'
  | 'INSTANCE_GRANTED'
  | 'INSTANCE_OUTBID'
  | 'INSTANCE_STATUS_CHANGED'
  | 'INSTANCE_DESTROYED'
  | 'INSTANCE_REMOVED'
  | 'INSTANCE_BID_CHANGED'
  | 'INSTANCE_SSH_KEYS_CHANGED'
  | 'TEMPLATE_SAVED'
  | 'TEMPLATE_DELETED'
  | 'SSH_KEY_REGISTERED'
  | 'SSH_KEY_DELETED'
  | 'API_KEY_CREATED'
  | 'API_KEY_RESET'
  | 'API_KEY_REVOKED'
  | 'VOLUME_CREATED'
  | 'VOLUME_DELETED'
  | 'CREDIT_GRANTED'

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
  if (events.length > 0)
    await tx.rows(
      insertAll(
        'events',
        eventColumns,
        events.map(event => ({ ...event, at })),
      ),
    )
}
