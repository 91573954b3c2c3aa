import { defaultPageSize } from '../../domain/pages.ts'
import type { EventPage, InstanceEventsQuery } from '../../services/events/history.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { Instance } from '../instances/instances.ts'
import { createLoader } from '../loader.ts'
import { permissionSentence } from '../permission.ts'
import { Event, EventConnection, EventEdge, EventFilter, parseEventFilter } from './events.ts'

const orderDescription = `the oldest first: \`last\` reads from the newest on, and without arguments these are the newest ${defaultPageSize}. The stream of events goes on after any cursor of it`

builder.queryField('events', t =>
  t.connection(
    {
      type: Event,
      description: `What happened to the account, ${orderDescription}. ${permissionSentence('events.list')} Only what the key may read otherwise is in it.`,
      complexity: pageComplexity,
      args: { filter: t.arg({ type: EventFilter, description: 'Which are wanted. All of them, when absent.' }) },
      resolve: async (_root, { filter, ...page }, { services, actor }) =>
        connectionOf(await services.events.page(actor, parseEventFilter(filter), page)),
    },
    EventConnection,
    EventEdge,
  ),
)

/** Each is asked for by an object of its own, which its page comes back with. */
const pageByInstanceQuery = createLoader(async ({ services, actor }, asked: readonly InstanceEventsQuery[]) =>
  [...(await services.events.instancePages(actor, asked))].map(([id, page]) => ({ id, page })),
)

builder.objectField(Instance, 'events', t =>
  t.connection(
    {
      type: Event,
      description: `What happened to it, ${orderDescription}. ${permissionSentence('instances.events')}`,
      complexity: pageComplexity,
      resolve: async ({ id }, page, context) => {
        const found = await pageByInstanceQuery(context).load({ instanceId: id, page })
        return connectionOf((found as { page: EventPage }).page)
      },
    },
    EventConnection,
    EventEdge,
  ),
)
