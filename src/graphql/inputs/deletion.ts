import { builder } from '../builder.ts'
import { type NodeType, printId } from '../ids.ts'

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
