import { builder } from '../builder.ts'
import { EventEdge, EventFilter, parseEventFilter } from './events.ts'

builder.subscriptionField('events', t =>
  t.field({
    type: EventEdge,
    description:
      'Events of the account that the API key may read, each once. The order is the same as in the query `events`.',
    requires: 'events.watch',
    args: {
      filter: t.arg({ type: EventFilter, description: 'Which events to send. All events if absent.' }),
      after: t.arg.string({
        description:
          'Cursor to continue after: of this stream on any gateway, or of the query `events`. Events since then are sent first. If absent, only new events are sent.',
      }),
    },
    subscribe: (_root, { filter, after }, { services, actor }) =>
      services.events.watch(actor, parseEventFilter(filter), after),
    resolve: edge => edge,
  }),
)
