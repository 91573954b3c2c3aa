import {
  type Event as EventShape,
  type EventFilter as Filter,
  maxInstancesPerFilter,
} from '../../domain/events/events.ts'
import { messageOf } from '../../domain/events/message.ts'
import { ApiKey, apiKeyById } from '../accounts/api-keys.ts'
import { builder } from '../builder.ts'
import { parseId, printId } from '../ids.ts'
import { Instance, instanceById } from '../instances/instances.ts'
import { InstanceStatus, type StatusWithDestroyed, seenStatuses } from '../instances/status.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'
import { changesOf, EventChange } from './changes.ts'
import { EventKindEnum } from './kinds.ts'

export const Event = builder.objectRef<EventShape>('Event').implement({
  description: 'Something that happened in the account. It is recorded in the same transaction as the change.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'ID of the event, such as `evt_42`.', resolve: ({ id }) => printId('Event', id) }),
    kind: t.expose('kind', { type: EventKindEnum, description: 'What happened.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the event happened.' }),
    message: t.string({ description: 'The event in one sentence, for people.', resolve: messageOf }),
    reason: t.exposeString('reason', {
      nullable: true,
      description:
        'Reason for the event, such as `USER_REQUEST` or `OUTBID`. New reasons may be added. Null if the kind says enough.',
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'ID of the API key that caused the event. Null if the gateway or the operator caused it.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : printId('ApiKey', apiKeyId)),
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description: `The API key that caused the event. Also null if the key has expired or was revoked since. ${permissionSentence('apiKeys.list')}`,
      resolve: ({ apiKeyId }, _args, context) => (apiKeyId === null ? null : apiKeyById(context).load(apiKeyId)),
    }),
    instanceId: t.id({
      nullable: true,
      description: 'ID of the instance that the event is about. Null if the event is not about an instance.',
      resolve: ({ instanceId }) => (instanceId === null ? null : printId('Instance', instanceId)),
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: `The instance that the event is about, in its current state. ${permissionSentence('instances.get')}`,
      resolve: ({ instanceId }, _args, context) =>
        instanceId === null ? null : instanceById(context).load(instanceId),
    }),
    previousStatus: t.field({
      type: InstanceStatus,
      nullable: true,
      description: 'Status of the instance before the event. Null if the status did not change.',
      resolve: ({ before }) => statusIn(before),
    }),
    status: t.field({
      type: InstanceStatus,
      nullable: true,
      description: 'Status of the instance after the event. Null if the status did not change.',
      resolve: ({ after }) => statusIn(after),
    }),
    changes: t.field({
      type: [EventChange],
      description: 'The fields that changed, or all fields of an item that is new or gone.',
      // INSTANCE_CREATED has the most changes.
      complexity: { multiplier: 10 },
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
  description: 'Conditions on an event. All given conditions must hold.',
  fields: t => ({
    kinds: t.field({
      type: [EventKindEnum],
      description: 'Only events of these kinds. Events of every kind if absent or null.',
    }),
    instanceIds: t.idList({
      description: `Only events about these instances, at most ${maxInstancesPerFilter} IDs.`,
    }),
  }),
})

export function parseEventFilter(filter: typeof EventFilter.$inferInput | null | undefined): Filter {
  const { kinds, instanceIds } = filter ?? {}
  return {
    kinds: kinds ?? undefined,
    instanceIds: instanceIds?.map((id, index) => parseId('Instance', String(id), `filter.instanceIds[${index}]`)),
  }
}

export const eventById = createLoader((context, ids: readonly bigint[]) =>
  context.services.events.byIds(context.actor, ids),
)

/** The status in the facts of an event. They come from JSON, so their type is unknown. */
function statusIn(facts: EventShape['before']): StatusWithDestroyed | null {
  const status = facts?.['status']
  return seenStatuses.find(one => one === status) ?? null
}
