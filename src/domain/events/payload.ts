// The JSON of an event that webhooks receive, in the names, ids and units of the GraphQL face. Receivers depend on it:
// add names, but never change one.

import { printId } from '../ids.ts'
import type { Event, EventKind } from './events.ts'
import { printFacts } from './facts.ts'

/** Parts that the event lacks are omitted. */
type EventPayload = {
  id: string
  kind: EventKind
  createdAt: string
  accountId: string
  instanceId?: string
  /** The key that made the change. Absent when Berth itself or an operator made it. */
  apiKeyId?: string
  reason?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

export function payloadOf({
  id,
  kind,
  createdAt,
  accountId,
  instanceId,
  apiKeyId,
  reason,
  before,
  after,
}: Event): EventPayload {
  return {
    id: printId('Event', id),
    kind,
    createdAt: createdAt.toISOString(),
    accountId: printId('Account', accountId),
    ...(instanceId !== null && { instanceId: printId('Instance', instanceId) }),
    ...(apiKeyId !== null && { apiKeyId: printId('ApiKey', apiKeyId) }),
    ...(reason !== null && { reason }),
    ...(before && { before: printFacts(kind, before) }),
    ...(after && { after: printFacts(kind, after) }),
  }
}
