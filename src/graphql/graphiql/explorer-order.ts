import { GraphQLSchema } from 'graphql'

/**
 * The schema in the order in which explorers show it: types by name, and their fields as they are declared, so that an id
 * comes first and mutations stand by noun. Reads of one noun have similar names but are declared apart, so they stand by
 * name. schema.graphql is sorted by name throughout.
 */
export function orderForExplorers(schema: GraphQLSchema): GraphQLSchema {
  const reads = schema.getQueryType()?.getFields() ?? {}
  for (const [name, field] of Object.entries(reads).toSorted(([one], [other]) => one.localeCompare(other))) {
    delete reads[name]
    reads[name] = field
  }
  const { types, ...config } = schema.toConfig()
  return new GraphQLSchema({ ...config, types: types.toSorted((one, other) => one.name.localeCompare(other.name)) })
}
