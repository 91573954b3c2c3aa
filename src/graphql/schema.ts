// The types and fields of all nouns. Each noun lists its own in its folder.

import { builder } from './builder.ts'
import { clearLoaders } from './loader.ts'
import './scalars.ts'
import './nodes/nodes.ts'
import './accounts/schema.ts'
import './billing/schema.ts'
import './events/schema.ts'
import './instances/schema.ts'
import './machines/schema.ts'
import './offers/schema.ts'
import './templates/schema.ts'
import './volumes/schema.ts'
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
      clearLoaders(context)
    }
  }
}
