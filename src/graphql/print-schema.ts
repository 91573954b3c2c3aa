import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from './schema.ts'

/** The text of schema.graphql. It is sorted, so that a diff shows changes and not moves. */
export function printSortedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}
