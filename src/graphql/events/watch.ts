import { builder } from '../builder.ts'
import { permissionSentence } from '../permission.ts'
import { EventEdge, EventFilter, parseEventFilter } from './events.ts'

builder.subscriptionField('events', t =>
  t.field({
    type: EventEdge,
    description: `What happens to the account, in the order in which it is told everywhere, each event once; those of it that the key may read. ${permissionSentence('events.watch')}`,
    args: {
      filter: t.arg({ type: EventFilter, description: 'Which events are wanted. All of them, when absent.' }),
      after: t.arg.string({
        description:
          'Begin after this cursor, with what happened since: of this stream on any gateway, or of a list of events. From now on, when absent.',
      }),
    },
    subscribe: (_root, { filter, after }, { services, actor }) =>
      services.events.watch(actor, parseEventFilter(filter), after),
    resolve: edge => edge,
  }),
)
