import { defaultPageSize } from '../../domain/pages.ts'
import type { InstanceEventsQuery } from '../../services/events/history.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { Instance } from '../instances/instances.ts'
import { createRequiredLoader } from '../loader.ts'
import { Event, EventConnection, EventEdge, EventFilter, parseEventFilter } from './events.ts'

const orderDescription = `oldest first. Without arguments, this is the newest ${defaultPageSize} events. The subscription \`events\` can continue after any cursor of this list`

builder.queryField('events', t =>
  t.connection(
    {
      type: Event,
      description: `Events of the account, ${orderDescription}. Contains only events about items that the API key may read.`,
      requires: 'events.list',
      complexity: pageComplexity,
      args: { filter: t.arg({ type: EventFilter, description: 'Which events to return. All events if absent.' }) },
      resolve: async (_root, { filter, ...page }, { services, actor }) =>
        connectionOf(await services.events.page(actor, parseEventFilter(filter), page)),
    },
    EventConnection,
    EventEdge,
  ),
)

/** Batches the pages of several instances. The loader's key is the query object itself, so each query gets its own page. */
const pageByInstanceQuery = createRequiredLoader(async ({ services, actor }, queries: readonly InstanceEventsQuery[]) =>
  [...(await services.events.instancePages(actor, queries))].map(([id, page]) => ({ id, page })),
)

builder.objectField(Instance, 'events', t =>
  t.connection(
    {
      type: Event,
      nullable: true,
      description: `Events of the instance, ${orderDescription}.`,
      requires: 'instances.events',
      complexity: pageComplexity,
      resolve: async ({ id }, page, context) => {
        const found = await pageByInstanceQuery(context).load({ instanceId: id, page })
        return connectionOf(found.page)
      },
    },
    EventConnection,
    EventEdge,
  ),
)
