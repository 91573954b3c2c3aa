import { builder } from './builder.ts'
import { forgetLoaded } from './loader.ts'
import './scalars.ts'
import './nodes/nodes.ts'
import './accounts/accounts.ts'
import './accounts/api-keys.ts'
import './accounts/api-keys-update.ts'
import './billing/limits-update.ts'
import './billing/account.ts'
import './billing/costs.ts'
import './billing/usage.ts'
import './events/list.ts'
import './events/watch.ts'
import './machines/gpu-models.ts'
import './instances/instances.ts'
import './instances/best.ts'
import './instances/bid.ts'
import './instances/policy-set.ts'
import './instances/execute.ts'
import './instances/list.ts'
import './instances/logs.ts'
import './instances/quote.ts'
import './instances/rent.ts'
import './instances/restart.ts'
import './instances/update.ts'
import './instances/watch.ts'
import './machines/machines.ts'
import './offers/offers.ts'
import './offers/search.ts'
import './offers/watch.ts'
import './volumes/volumes.ts'
import './volumes/attachments.ts'
import './volumes/update.ts'
import './volumes/list.ts'
import './volumes/offers.ts'
import './accounts/secret-variables-update.ts'
import './accounts/ssh-keys.ts'
import './accounts/ssh-keys-update.ts'
import './templates/templates.ts'
import './templates/list.ts'
import './templates/update.ts'
import './webhooks/update.ts'

builder.mutationType({
  description: 'What can be done. Each answers with what came of it, or with a typed error that says why not.',
})
builder.subscriptionType({
  description:
    'What can be followed, over Server-Sent Events or a WebSocket. When Berth ends a stream, its last result has an error with the code `STREAM_ENDED` and the `reason`.',
})
builder.queryType({ description: 'What can be asked. Every field needs a key; see `Authorization: Bearer`.' })

export const schema = builder.toSchema()

// What comes after a mutation in a request, its own answer first, sees what it did.
for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
  const { resolve } = field
  field.resolve = async (root, args, context, info) => {
    try {
      return await resolve?.(root, args, context, info)
    } finally {
      forgetLoaded(context)
    }
  }
}
