// Events: what changed, as histories, streams and webhooks report it.

import { isAllowed, type Operation } from '../accounts/permissions/permissions.ts'
import type { Actor } from '../actor.ts'
import { invalidInput } from '../errors.ts'
import type { StoredActor } from './actor.ts'
import type { EventSubject, StoredSubject, SubjectType } from './subject.ts'

/** Every event kind, and the operation that a key needs to read it. */
export const eventReadOperations = {
  INSTANCE_CREATED: 'instances.get',
  INSTANCE_TARGET_CHANGED: 'instances.get',
  INSTANCE_LABEL_CHANGED: 'instances.get',
  INSTANCE_GRANTED: 'instances.get',
  INSTANCE_OUTBID: 'instances.get',
  INSTANCE_STATUS_CHANGED: 'instances.get',
  INSTANCE_ENDING: 'instances.get',
  INSTANCE_DESTROYED: 'instances.get',
  INSTANCE_REPLACED: 'instances.get',
  INSTANCE_REMOVED: 'instances.get',
  INSTANCE_BID_CHANGED: 'instances.get',
  INSTANCE_REBOOTED: 'instances.get',
  INSTANCE_LAUNCH_CHANGED: 'instances.get',
  INSTANCE_RECYCLED: 'instances.get',
  INSTANCE_POLICY_CHANGED: 'instances.get',
  INSTANCE_SSH_KEYS_CHANGED: 'instances.get',
  TEMPLATE_CREATED: 'templates.get',
  TEMPLATE_UPDATED: 'templates.get',
  TEMPLATE_DELETED: 'templates.get',
  SSH_KEY_CREATED: 'sshKeys.list',
  SSH_KEY_UPDATED: 'sshKeys.list',
  SSH_KEY_DELETED: 'sshKeys.list',
  SECRET_VARIABLE_UPDATED: 'secretVariables.list',
  SECRET_VARIABLE_DELETED: 'secretVariables.list',
  API_KEY_CREATED: 'apiKeys.list',
  API_KEY_UPDATED: 'apiKeys.list',
  API_KEY_SECRET_ROTATED: 'apiKeys.list',
  API_KEY_DELETED: 'apiKeys.list',
  VOLUME_CREATED: 'volumes.get',
  VOLUME_UPDATED: 'volumes.get',
  VOLUME_DELETED: 'volumes.get',
  ACCOUNT_SPEND_LIMIT: 'billing.spendLimits',
  SPEND_LIMIT_CREATED: 'billing.spendLimits',
  SPEND_LIMIT_UPDATED: 'billing.spendLimits',
  SPEND_LIMIT_DELETED: 'billing.spendLimits',
  CREDIT_GRANTED: 'accounts.viewer',
  ACCOUNT_QUOTAS_CHANGED: 'accounts.viewer',
  ACCOUNT_DISABLED: 'accounts.viewer',
  ACCOUNT_ENABLED: 'accounts.viewer',
  ACCOUNT_LOW_CREDIT: 'accounts.viewer',
  ACCOUNT_CREDIT_ENDED: 'accounts.viewer',
  ACCOUNT_DEBT: 'accounts.viewer',
  WEBHOOK_CREATED: 'webhooks.list',
  WEBHOOK_UPDATED: 'webhooks.list',
  WEBHOOK_SECRET_ROTATED: 'webhooks.list',
  WEBHOOK_TESTED: 'webhooks.list',
  WEBHOOK_DELETED: 'webhooks.list',
} as const satisfies Record<string, Operation>
export type EventKind = keyof typeof eventReadOperations

/** One change as it is stored: who made it (`actorOf`), and what it is about (`subjectOf`). */
export type Event = Position &
  StoredActor &
  StoredSubject & {
    kind: EventKind
    accountId: number
    instanceId: bigint | null
    before: Record<string, unknown> | null
    after: Record<string, unknown> | null
    /** A code of `domain/reasons.ts`, unless a gateway of a newer version wrote it. */
    reason: string | null
    /** Free text of the operator. */
    note: string | null
    createdAt: Date
  }

/**
 * A place in the order of events: by transaction, then by id. Ids alone do not suffice: PostgreSQL assigns them before
 * the commit, so a lower id may appear after a higher one was read. Id 0 is no event but a place
 * before all events of its transaction.
 */
export type Position = { xid: bigint; id: bigint }

export function isAfter(one: Position, other: Position): boolean {
  return one.xid === other.xid ? one.id > other.id : one.xid > other.xid
}

/** An absent part matches every event. */
export type EventFilter = { kinds?: readonly EventKind[] | undefined; subjects?: readonly EventSubject[] | undefined }

export const maxSubjectsPerFilter = 100

export function checkEventFilter({ subjects = [] }: EventFilter): void {
  if (subjects.length <= maxSubjectsPerFilter) return
  const message = `takes at most ${maxSubjectsPerFilter} ids, not ${subjects.length}.`
  throw invalidInput([{ path: 'filter.subjectIds', message }])
}

export function matchesEventFilter({ kind, subjectType, subjectId }: Event, { kinds, subjects }: EventFilter): boolean {
  if (kinds && !kinds.includes(kind)) return false
  return !subjects || subjects.some(({ type, id }) => type === subjectType && id === subjectId)
}

/** Whether the actor may read an event: the account must own it, and the key must be allowed to read its subject. */
export function canReadEvent(
  { accountId, permissions }: Pick<Actor, 'accountId' | 'permissions'>,
  event: Event,
): boolean {
  const { kind } = event
  // A gateway of a newer version may write kinds that this one does not know.
  if (event.accountId !== accountId || !isEventKind(kind)) return false
  return isAllowed(permissions, eventReadOperations[kind], boundableId(event))
}

export function isEventKind(kind: string): kind is EventKind {
  return Object.hasOwn(eventReadOperations, kind)
}

/** The types of subjects whose ids the constraints of a key can bound. */
export const boundableTypes: readonly SubjectType[] = ['Instance', 'Template', 'Volume']

/** The id of the event's subject, for the constraints of a key. */
function boundableId({ subjectType, subjectId }: StoredSubject): { id: number | undefined } {
  return { id: boundableTypes.includes(subjectType) ? Number(subjectId) : undefined }
}
