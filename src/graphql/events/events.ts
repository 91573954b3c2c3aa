import { actorOf } from '../../domain/events/actor.ts'
import {
  type Event as EventShape,
  type EventFilter as Filter,
  maxSubjectsPerFilter,
} from '../../domain/events/events.ts'
import { messageOf } from '../../domain/events/message.ts'
import { subjectTypes } from '../../domain/events/subject.ts'
import { reasonOf } from '../../domain/reasons.ts'
import { builder } from '../builder.ts'
import { parseTypedId, printId } from '../ids.ts'
import { InstanceStatus, type StatusWithDestroyed, seenStatuses } from '../instances/status.ts'
import { createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { Actor } from './actor.ts'
import { changesOf, EventChange } from './changes.ts'
import { EventKindEnum } from './kinds.ts'
import { Reason } from './reason.ts'

export const Event = builder.prismaObject('Event', {
  select: { id: true },
  description: 'Something that happened in the account. It is recorded in the same transaction as the change.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'ID of the event, such as `evt_42`.', resolve: ({ id }) => printId('Event', id) }),
    kind: t.expose('kind', { type: EventKindEnum, description: 'What happened, such as `INSTANCE_CREATED`.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the event happened.' }),
    message: t.string({
      description: 'The event in one sentence, for people.',
      select: { kind: true, before: true, after: true, reason: true },
      resolve: messageOf,
    }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'Why the event happened. Null if the kind says enough.',
      select: { reason: true, after: true },
      resolve: ({ reason, after }) => reasonOf(reason, after?.['message'], after?.['exitCode']),
    }),
    note: t.exposeString('note', {
      nullable: true,
      description: 'Free text that the operator wrote about the event, such as "Voucher". Null without one.',
    }),
    actor: t.field({
      type: Actor,
      description: 'Who made the change: an API key, the operator, or Berth itself.',
      select: { actorKind: true, apiKeyId: true },
      resolve: actorOf,
    }),
    previousStatus: t.field({
      type: InstanceStatus,
      nullable: true,
      description: 'Status of the instance before the event. Null if the status did not change.',
      select: { before: true },
      resolve: ({ before }) => statusIn(before),
    }),
    status: t.field({
      type: InstanceStatus,
      nullable: true,
      description: 'Status of the instance after the event. Null if the status did not change.',
      select: { after: true },
      resolve: ({ after }) => statusIn(after),
    }),
    changes: t.field({
      type: [EventChange],
      description: 'The fields that changed, or all fields of an item that is new or gone.',
      // INSTANCE_CREATED has the most changes.
      complexity: { multiplier: 10 },
      select: { kind: true, before: true, after: true },
      resolve: changesOf,
    }),
  }),
})

export const EventEdge = builder.edgeObject({
  type: Event,
  name: 'EventEdge',
  description: 'An event with its cursor.',
})

export const EventConnection = builder.connectionObject(
  { type: Event, name: 'EventConnection', description: 'A page of events, oldest first.' },
  EventEdge,
)

export const EventFilter = builder.inputType('EventFilter', {
  description: 'Conditions on an event. All given conditions must hold; absent or null sets no condition.',
  fields: t => ({
    kinds: t.field({
      type: [EventKindEnum],
      description: 'Only events of these kinds. Events of every kind if absent or null.',
    }),
    subjectIds: t.idList({
      description: `Only events about these items, such as \`ins_42\` or \`vol_42\`; at most ${maxSubjectsPerFilter} IDs, each with its prefix. Events about every item if absent or null.`,
    }),
  }),
})

export function parseEventFilter(filter: typeof EventFilter.$inferInput | null | undefined): Filter {
  const { kinds, subjectIds } = filter ?? {}
  return {
    kinds: kinds ?? undefined,
    subjects: subjectIds?.map((id, index) => parseTypedId(subjectTypes, String(id), `filter.subjectIds.${index}`)),
  }
}

export const eventById = createSelectedLoader(({ services, actor }, ids: readonly bigint[], select) =>
  services.events.byIds(actor, ids, select),
)

/** The status in the facts of an event. They come from JSON, so their type is unknown. */
function statusIn(facts: EventShape['before']): StatusWithDestroyed | null {
  const status = facts?.['status']
  return seenStatuses.find(one => one === status) ?? null
}
