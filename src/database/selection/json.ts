// Columns as values of JSON, which has no instants, and no integers beyond 2^53.

import { Prisma } from '../generated/client.ts'
import { getDatamodel } from '../generated/pothos.ts'

/** What a statement selects for a value, and how the value becomes that of the row. */
export type Column = { sql: Prisma.Sql; decode?: ((value: unknown) => unknown) | undefined }

const { sql } = Prisma
const { models } = getDatamodel().datamodel

const plainTypes = new Set(['Boolean', 'Float', 'Int', 'Json', 'String'])

export function jsonColumnOf(model: Prisma.ModelName, name: string, column: Prisma.Sql): Column {
  const { kind, type, isList } = models[model]?.fields.find(field => field.name === name) ?? {}
  if (isList) throw new Error(`A list in JSON, ${model}.${name}, has no decoder.`)
  if (kind === 'enum' || (type && plainTypes.has(type))) return { sql: column }
  if (type === 'BigInt') return { sql: sql`${column}::text`, decode: unlessNull(BigInt) }
  if (type === 'DateTime') return { sql: column, decode: unlessNull(text => new Date(text)) }
  throw new Error(`JSON does not keep the value of ${model}.${name}.`)
}

function unlessNull(decode: (text: string) => unknown): Column['decode'] {
  // The statement writes these values as text.
  return value => (value === null ? null : decode(value as string))
}
