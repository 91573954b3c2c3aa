import { defaultPageSize } from '../../domain/pages.ts'
import type { EventPage, InstanceEvents } from '../../services/events/history.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { Instance } from '../instances/instances.ts'
import { loaderOf } from '../loader.ts'
import { needs } from '../permission.ts'
import { Event, EventConnection, EventEdge, EventFilter, readEventFilter } from './events.ts'

const inOrder = `the oldest first: \`last\` reads from the newest on, and without arguments these are the newest ${defaultPageSize}. The stream of events goes on after any cursor of it`

builder.queryField('events', t =>
  t.connection(
    {
      type: Event,
      description: `What happened to the account, ${inOrder}. ${needs('events.list')} Only what the key may read otherwise is in it.`,
      complexity: pageComplexity,
      args: { filter: t.arg({ type: EventFilter, description: 'Which are wanted. All of them, when absent.' }) },
      resolve: async (_root, { filter, ...page }, { services, actor }) =>
        connectionOf(await services.events.page(actor, readEventFilter(filter), page)),
    },
    EventConnection,
    EventEdge,
  ),
)

/** Each is asked for by an object of its own, which its page comes back with. */
const eventsOf = loaderOf(async ({ services, actor }, asked: readonly InstanceEvents[]) =>
  [...(await services.events.pagesOf(actor, asked))].map(([id, page]) => ({ id, page })),
)

builder.objectField(Instance, 'events', t =>
  t.connection(
    {
      type: Event,
      description: `What happened to it, ${inOrder}. ${needs('instances.events')}`,
      complexity: pageComplexity,
      resolve: async ({ id }, page, context) => {
        const found = await eventsOf(context).load({ instanceId: id, page })
        return connectionOf((found as { page: EventPage }).page)
      },
    },
    EventConnection,
    EventEdge,
  ),
)
