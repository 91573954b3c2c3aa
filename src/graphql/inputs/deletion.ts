import { builder } from '../builder.ts'
import { type NodeType, printId } from '../ids.ts'

/** What is answered by whatever is deleted. Errors that name a thing call it `id`, so that both can be asked for. */
export const DeleteSuccess = builder
  .objectRef<{ type: NodeType; deletedId: number | bigint }>('DeleteSuccess')
  .implement({
    description: 'It was deleted.',
    fields: t => ({
      deletedId: t.id({ description: 'Its id.', resolve: ({ type, deletedId }) => printId(type, deletedId) }),
    }),
  })
