// The whole schema. Each noun lists its own types and fields in its folder.

import { builder } from './builder.ts'
import { withErrors } from './errors/schema.ts'
import { orderForExplorers } from './graphiql/explorer-order.ts'
import { clearLoaders } from './loader.ts'
import { withPermissions } from './permission.ts'
import './scalars.ts'
import './nodes/nodes.ts'
import './accounts/schema.ts'
import './billing/schema.ts'
import './events/schema.ts'
import './instances/schema.ts'
import './limits/rate-limit.ts'
import './machines/schema.ts'
import './offers/schema.ts'
import './templates/schema.ts'
import './volumes/schema.ts'
import './webhooks/update.ts'

builder.mutationType({
  description: 'Changes. Each returns a union of its result and the typed errors that can refuse it.',
})
builder.subscriptionType({
  description:
    'Streams, over Server-Sent Events or a WebSocket. When Berth ends a stream, the last result has an error with the code `STREAM_ENDED` and a `reason`.',
})
builder.queryType({ description: 'Reads. Every request needs an API key in the header `Authorization: Bearer <key>`.' })

export const schema = orderForExplorers(withErrors(withPermissions(builder.toSchema({ sortSchema: false }))))
// The first page of explorers.
schema.description = `Berth rents GPU machines. Find one with \`offers\`, rent it with \`rentInstance\` (or both with \`rentBestOffer\`), watch it with \`instance\` or \`instanceChanges\`, and end it with \`destroyInstance\`.

Every mutation answers with its success or a typed error: select \`... on RentInstanceSuccess { instance { id } }\` and \`... on Error { code message }\`. IDs have a prefix, such as \`off_42\`. Amounts are exact US dollars in strings, and rates are per hour unless their name says otherwise.`

// Each mutation clears the loaders, so its own answer and the mutations after it read the changed data.
for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
  const { resolve } = field
  field.resolve = async (root, args, context, info) => {
    try {
      return await resolve?.(root, args, context, info)
    } finally {
      clearLoaders(context)
    }
  }
}
