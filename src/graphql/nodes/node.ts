import { builder } from '../builder.ts'

/** Values are branded with the name of their type by whoever returns them as a node. */
export const Node = builder.interfaceRef<unknown>('Node').implement({
  description: 'Whatever has an id by which `node` finds it.',
  fields: t => ({
    id: t.id({
      description:
        'A prefix for the type around the integer that REST shows: `off_42`. Where the type is known, the integer does too.',
      resolve: () => {
        throw new Error('Every type that is a node has an id of its own.')
      },
    }),
  }),
})
