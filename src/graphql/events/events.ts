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
import { EventTypeEnum } from './types.ts'

export const Event = builder.objectRef<EventShape>('Event').implement({
  description: 'Something that happened, as it was written down with the change itself.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `evt_`.', resolve: ({ id }) => printId('Event', id) }),
    type: t.expose('type', { type: EventTypeEnum, description: 'What happened.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    message: t.string({ description: 'The same in a sentence, for people.', resolve: messageOf }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why, such as `USER_REQUEST` or `OUTBID`; there will be more. Null where that goes without saying.',
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'The key that did it. Null when Berth itself did, or the operator.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : printId('ApiKey', apiKeyId)),
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description: `That key. Null also when it has ended since. ${permissionSentence('apiKeys.list')}`,
      resolve: ({ apiKeyId }, _args, context) => (apiKeyId === null ? null : apiKeyById(context).load(apiKeyId)),
    }),
    instanceId: t.id({
      nullable: true,
      description: 'The instance that it is about, if it is about one.',
      resolve: ({ instanceId }) => (instanceId === null ? null : printId('Instance', instanceId)),
    }),
    instance: t.field({
      type: Instance,
      nullable: true,
      description: `That instance, as it is now. ${permissionSentence('instances.get')}`,
      resolve: ({ instanceId }, _args, context) =>
        instanceId === null ? null : instanceById(context).load(instanceId),
    }),
    previousStatus: t.field({
      type: InstanceStatus,
      nullable: true,
      description: 'The status that the instance had, where that changed.',
      resolve: ({ before }) => statusIn(before),
    }),
    status: t.field({
      type: InstanceStatus,
      nullable: true,
      description: 'The status that the instance got, where that changed.',
      resolve: ({ after }) => statusIn(after),
    }),
    changes: t.field({
      type: [EventChange],
      description: 'What changed, or what is new, or gone.',
      // A rental says the most.
      complexity: { multiplier: 10 },
      resolve: changesOf,
    }),
  }),
})

export const EventEdge = builder.edgeObject({
  type: Event,
  name: 'EventEdge',
  description: 'An event, and where it stands in the order of all.',
})

export const EventConnection = builder.connectionObject(
  { type: Event, name: 'EventConnection', description: 'A page of events, the oldest first.' },
  EventEdge,
)

export const EventFilter = builder.inputType('EventFilter', {
  description: 'Which events are wanted: those for which every part holds that is given.',
  fields: t => ({
    types: t.field({ type: [EventTypeEnum], description: 'Those of one of these types.' }),
    instanceIds: t.idList({
      description: `Those about one of these instances, at most ${maxInstancesPerFilter}.`,
    }),
  }),
})

export function parseEventFilter(filter: typeof EventFilter.$inferInput | null | undefined): Filter {
  const { types, instanceIds } = filter ?? {}
  return {
    types: types ?? undefined,
    instanceIds: instanceIds?.map((id, index) => parseId('Instance', String(id), `filter.instanceIds[${index}]`)),
  }
}

export const eventById = createLoader((context, ids: readonly bigint[]) =>
  context.services.events.byIds(context.actor, ids),
)

/** The status that an event tells of. What events say is read from JSON. */
function statusIn(facts: EventShape['before']): StatusWithDestroyed | null {
  const status = facts?.['status']
  return seenStatuses.find(one => one === status) ?? null
}
