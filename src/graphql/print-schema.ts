import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from './schema.ts'

/** The schema as schema.graphql has it: sorted, so that a diff shows what changed and not what moved. */
export function printSortedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`
}
