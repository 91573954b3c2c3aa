// An event as a program reads it that was sent it: in the names, ids and units of the GraphQL face. Programs of others
// depend on this, so names are added here and never changed.

import { printId } from '../ids.ts'
import type { Event, EventType } from './events.ts'
import { printFacts } from './facts.ts'

/** What is absent in an event is absent here. */
export type EventPayload = {
  id: string
  type: EventType
  createdAt: string
  accountId: string
  instanceId?: string
  /** The key that did it. Without one, Berth itself did. */
  apiKeyId?: string
  reason?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

export function payloadOf({
  id,
  type,
  at,
  accountId,
  instanceId,
  apiKeyId,
  reason,
  before,
  after,
}: Event): EventPayload {
  return {
    id: printId('Event', id),
    type,
    createdAt: at.toISOString(),
    accountId: printId('Account', accountId),
    ...(instanceId !== null && { instanceId: printId('Instance', instanceId) }),
    ...(apiKeyId !== null && { apiKeyId: printId('ApiKey', apiKeyId) }),
    ...(reason !== null && { reason }),
    ...(before && { before: printFacts(type, before) }),
    ...(after && { after: printFacts(type, after) }),
  }
}
