import { builder } from '../builder.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'

builder.subscriptionField('instanceChanged', t =>
  t.field({
    type: Instance,
    description: `Streams the current state of an instance, then its state after each change, until it is destroyed and removed from its machine. Rapid changes are coalesced: you receive the latest state. ${permissionSentence('instances.watch')}`,
    args: { id: t.arg.id({ required: true, description: 'ID of the instance, such as `ins_42` or `42`.' }) },
    subscribe: (_root, { id }, { services, actor }) => services.instances.watch(actor, parseId('Instance', id)),
    resolve: instance => instance,
  }),
)
