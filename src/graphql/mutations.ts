// What creations and deletions share.

import { builder } from './builder.ts'
import { type NodeType, printId } from './ids.ts'

/** Field options of `idempotencyKey`, for every input that creates something. */
export const idempotencyKey = {
  description:
    'Your name for this request, at most 255 characters. Repeating the request within 24 hours, with this name and the same API key, changes nothing and returns the first answer.',
} as const

/** Field options of `replayed`, for every result of a creation. */
export const replayed = {
  description: 'True if this is the stored answer to an earlier request with the same idempotency key.',
} as const

/** The result of every deletion. The field is `deletedId`, since errors have an `id` that one selection may also ask for. */
export const DeleteSuccess = builder
  .objectRef<{ type: NodeType; deletedId: number | bigint }>('DeleteSuccess')
  .implement({
    description: 'The item was deleted.',
    fields: t => ({
      deletedId: t.id({
        description: 'ID of the deleted item.',
        resolve: ({ type, deletedId }) => printId(type, deletedId),
      }),
    }),
  })
