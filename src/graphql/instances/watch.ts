import {
  maxUntoldEvents,
  maxWatchedInstances,
  type WatchedChange,
  type WatchSynced,
} from '../../domain/instances/watch.ts'
import { authorizeOperation } from '../../services/authorize.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { InstanceFilter, parseInstanceFilter } from './filter.ts'
import { Instance } from './instances.ts'

const InstanceChangeKind = enumOf<WatchedChange['kind']>(
  'InstanceChangeKind',
  'How an instance changed for a subscription.',
  {
    added: 'The instance matches now and did not before. Also sent for each instance that matches at the start.',
    updated: 'The instance still matches, and it or its bid to beat has changed.',
    removed: 'The instance no longer matches: for example, it was destroyed.',
  },
)

const InstanceStreamItem = builder.interfaceRef<WatchedChange | WatchSynced>('InstanceStreamItem').implement({
  description: 'What `instanceChanges` sends. New types may be added.',
  resolveType: ({ kind }) => (kind === 'synced' ? 'InstancesSynced' : 'InstanceChange'),
  fields: t => ({
    cursor: t.exposeString('cursor', {
      description: 'Cursor of this item. A subscription with the same filter and `after` this cursor continues here.',
    }),
  }),
})

builder.objectRef<WatchSynced>('InstancesSynced').implement({
  description:
    'Sent once by each stream: you now know all instances that match. Before it come the instances at the start or, after a resume, the changes that you missed.',
  interfaces: [InstanceStreamItem],
})

builder.objectRef<WatchedChange>('InstanceChange').implement({
  description: 'A change to an instance that matches, or matched before.',
  interfaces: [InstanceStreamItem],
  fields: t => ({
    kind: t.expose('kind', {
      type: InstanceChangeKind,
      description: 'Whether the instance was added, updated or removed.',
    }),
    instanceId: t.id({
      description: 'ID of the instance, such as `ins_42`.',
      resolve: ({ instanceId }) => printId('Instance', instanceId),
    }),
    instance: t.expose('instance', {
      type: Instance,
      description: 'Current state of the instance. Present when it was removed, too: it says why.',
    }),
  }),
})

builder.subscriptionField('instanceChanges', t =>
  t.field({
    type: InstanceStreamItem,
    description: `Streams the instances that match, each as an \`InstanceChange\` of kind \`ADDED\`, then \`InstancesSynced\`, and then their changes, including changes of \`minimumBidPerHour\` by the market. Rapid changes to one instance are coalesced: you receive its latest state. At most ${maxWatchedInstances} instances may match at the start. A key that may watch only some instances receives only those.`,
    requires: 'instances.watch',
    args: {
      filter: t.arg({
        type: InstanceFilter,
        description: 'Instances to watch. Absent or null: all that are not destroyed.',
      }),
      after: t.arg.string({
        description: `Cursor to continue after: of an item that this subscription sent with the same filter, on any gateway. Changes since then are sent first, removals included, then \`InstancesSynced\`. A cursor is good for the next ${maxUntoldEvents} events of the account, as long as events are kept and the key may watch the same instances. Then it is refused with CURSOR_EXPIRED: start without it. Absent or null: the stream starts with the current state.`,
      }),
    },
    subscribe: (_root, { filter, after }, { services, actor }) => {
      authorizeOperation(actor, 'instances.watch')
      return services.instances.watch(actor, parseInstanceFilter(filter ?? {}), after)
    },
    resolve: item => item,
  }),
)
