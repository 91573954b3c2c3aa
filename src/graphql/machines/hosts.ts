import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'

export const Host = builder.objectRef<{ id: number }>('Host').implement({
  description: 'An account that lists machines. Renters see its ID alone.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the host, such as `hst_42`. All machines of one host share it; filters by `hostId` take it.',
      resolve: ({ id }) => printId('Host', id),
    }),
  }),
})

export const hostById = createLoader((context, ids: readonly number[]) =>
  context.services.machines.hostsByIds(context.actor, ids),
)
