import { defaultPageSize } from '../../domain/pages.ts'
import type { InstanceEventsQuery } from '../../services/events/history.ts'
import { builder } from '../builder.ts'
import { connectionOf, pageComplexity } from '../connection.ts'
import { Instance } from '../instances/instances.ts'
import { createRequiredSelectedLoader } from '../loader.ts'
import { pageSelectionOf } from '../selection.ts'
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
      resolve: async (_root, { filter, ...page }, context, info) => {
        const { services, actor } = context
        const select = pageSelectionOf(context, info)
        return connectionOf(await services.events.page(actor, parseEventFilter(filter), page, select))
      },
    },
    EventConnection,
    EventEdge,
  ),
)

/** Batches the pages of several instances. The loader's key is the query object itself, so each query gets its own page. */
const pageByInstanceQuery = createRequiredSelectedLoader(
  async ({ services, actor }, queries: readonly InstanceEventsQuery[], select) =>
    [...(await services.events.instancePages(actor, queries, select))].map(([id, page]) => ({ id, page })),
)

builder.objectField(Instance, 'events', t =>
  t.connection(
    {
      type: Event,
      nullable: true,
      description: `Events of the instance, ${orderDescription}.`,
      requires: 'instances.events',
      complexity: pageComplexity,
      resolve: async ({ id }, page, context, info) => {
        const found = await pageByInstanceQuery(context, pageSelectionOf(context, info)).load({ instanceId: id, page })
        return connectionOf(found.page)
      },
    },
    EventConnection,
    EventEdge,
  ),
)
