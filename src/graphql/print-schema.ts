import { type GraphQLOutputType, lexicographicSortSchema, printSchema } from 'graphql'
import { fieldsWithPermission } from './permission.ts'
import { schema } from './schema.ts'

/** The text of schema.graphql. It is sorted, so that a diff shows changes and not moves. */
export function printSortedSchema(): string {
  const sorted = lexicographicSortSchema(schema)
  for (const { field, requirement } of fieldsWithPermission(sorted)) {
    field.description = requirement.description
    field.type = withDirectives(
      field.type,
      requirement.permissions.map(name => `@requires(permission: ${name})`),
    )
  }
  return `${printSchema(sorted)}\n`
}

/** `printSchema` prints no directives of fields, but it prints a type as the type's own text. */
function withDirectives(type: GraphQLOutputType, directives: string[]): GraphQLOutputType {
  return Object.create(type, { toString: { value: () => [type, ...directives].join(' ') } })
}
