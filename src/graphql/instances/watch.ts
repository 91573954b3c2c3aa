import { builder } from '../builder.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { Instance } from './instances.ts'

builder.subscriptionField('instanceChanged', t =>
  t.field({
    type: Instance,
    description: `An instance as it is now, and again after whatever happens to it, until it is destroyed and nothing is left of it. What happens faster than it is read is told at once, in its outcome. ${permissionSentence('instances.watch')}`,
    args: { id: t.arg.id({ required: true, description: 'Such as `ins_42`, or `42`.' }) },
    subscribe: (_root, { id }, { services, actor }) => services.instances.watch(actor, parseId('Instance', id)),
    resolve: instance => instance,
  }),
)
