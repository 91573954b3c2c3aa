import { builder } from './builder.ts'
import { forgetLoaded } from './loader.ts'
import './scalars.ts'
import './types/nodes.ts'
import './types/accounts.ts'
import './types/api-keys.ts'
import './types/api-keys-update.ts'
import './types/billing-limits-update.ts'
import './types/billing-account.ts'
import './types/billing-costs.ts'
import './types/billing-usage.ts'
import './types/events-list.ts'
import './types/events-watch.ts'
import './types/gpu-models.ts'
import './types/instances.ts'
import './types/instances-best.ts'
import './types/instances-bid.ts'
import './types/instances-policy-set.ts'
import './types/instances-execute.ts'
import './types/instances-list.ts'
import './types/instances-logs.ts'
import './types/instances-quote.ts'
import './types/instances-rent.ts'
import './types/instances-restart.ts'
import './types/instances-update.ts'
import './types/instances-watch.ts'
import './types/machines.ts'
import './types/offers.ts'
import './types/offers-search.ts'
import './types/offers-watch.ts'
import './types/volumes.ts'
import './types/volumes-attachments.ts'
import './types/volumes-update.ts'
import './types/volumes-list.ts'
import './types/volumes-offers.ts'
import './types/secret-variables-update.ts'
import './types/ssh-keys.ts'
import './types/ssh-keys-update.ts'
import './types/templates.ts'
import './types/templates-list.ts'
import './types/templates-update.ts'
import './types/webhooks-update.ts'

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
