// The JSON of an event that webhooks receive, in the names, ids and units of the GraphQL face. Receivers depend on it:
// add names, but never change one.

import { printId } from '../ids.ts'
import { type ActorKind, actorOf } from './actor.ts'
import type { Event, EventKind } from './events.ts'
import { printFacts } from './facts.ts'
import { subjectOf } from './subject.ts'

/** Parts that the event lacks are omitted. */
type EventPayload = {
  id: string
  kind: EventKind
  createdAt: string
  accountId: string
  /** Who made the change: an API key with its id, the operator, or Berth itself. */
  actor: { kind: Uppercase<ActorKind>; apiKeyId?: string }
  /** What the event is about. */
  subjectId: string
  reason?: string
  note?: string
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}

export function payloadOf(event: Event): EventPayload {
  const { id, kind, createdAt, accountId, reason, note, before, after } = event
  const [actor, subject] = [actorOf(event), subjectOf(event)]
  return {
    id: printId('Event', id),
    kind,
    createdAt: createdAt.toISOString(),
    accountId: printId('Account', accountId),
    actor: {
      kind: actor.kind.toUpperCase() as Uppercase<ActorKind>,
      ...(actor.kind === 'api_key' && { apiKeyId: printId('ApiKey', actor.apiKeyId) }),
    },
    subjectId: printId(subject.type, subject.id),
    ...(reason !== null && { reason }),
    ...(note !== null && { note }),
    ...(before && { before: printFacts(kind, before) }),
    ...(after && { after: printFacts(kind, after) }),
  }
}
