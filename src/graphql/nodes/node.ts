import { builder } from '../builder.ts'

/** A resolver that returns a value as a node must brand the value with its type first. */
export const Node = builder.interfaceRef<unknown>('Node').implement({
  description: 'An item that `node` finds by its ID.',
  fields: t => ({
    id: t.id({
      description:
        'ID of the item: a prefix for its type and the integer that REST shows, such as `off_42`. Inputs for one type also accept the bare integer.',
      resolve: () => {
        throw new Error('A type that implements Node must define its id.')
      },
    }),
  }),
})
