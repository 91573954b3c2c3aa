import pg from 'pg'
import { Prisma } from './generated/client.ts'
import { columnNameOf, type RowShape } from './row-types.ts'
import { type NameOf, statementNameOf } from './statement-names.ts'

/**
 * Sends a statement. Each row of the answer is an array of values, in the order of the selected columns: that is the
 * cheapest form. `Statements` (statements.ts) makes typed rows of them.
 */
export async function runStatement(client: pg.Pool | pg.ClientBase, statement: Prisma.Sql, nameOfRepeated: NameOf) {
  const { text, values } = statement
  return await client.query<unknown[]>({
    name: statementNameOf(statement, nameOfRepeated),
    text,
    values,
    rowMode: 'array',
    types: typeParsers,
  })
}

/** Reads an int8 as a BigInt: a Number would round it. */
const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid, format),
}

/** How the text of a value of this type is read. */
export function parserOf(oid: number): (text: string) => unknown {
  return typeParsers.getTypeParser(oid, 'text')
}

/** The columns of a model, for handwritten SQL that reads or writes whole rows. */
type ModelColumns = { names: string[]; columns: string[] }

/** `fields` is Prisma's list of a model's scalar fields. The columns have the same names in snake case. */
export function modelColumnsOf(fields: Record<string, string>): ModelColumns {
  const names = Object.values(fields)
  return { names, columns: names.map(columnNameOf) }
}

/** The columns of a shape, in its order. */
export function columnsSql(alias: string, shape: RowShape): Prisma.Sql {
  return Prisma.raw(
    Object.keys(shape)
      .map(name => `${alias}.${columnNameOf(name)}`)
      .join(', '),
  )
}

/**
 * Inserts many records in one statement. A field that no record has gets its column's default. Only a field itself can be a
 * BigInt or bytes, not a part of its value. A value that all records share is sent once.
 */
export function insertSql(
  table: string,
  { names, columns }: ModelColumns,
  records: readonly Record<string, unknown>[],
): Prisma.Sql {
  const isGiven = (name: string) => records.some(record => name in record)
  const given = names.flatMap((name, index) => (isGiven(name) ? [{ name, column: columns[index] as string }] : []))
  const list = Prisma.raw(given.map(({ column }) => `"${column}"`).join(', '))
  const { shared = [], own = [] } = Object.groupBy(given, ({ name }) => (isShared(records, name) ? 'shared' : 'own'))
  const rowOf = (record: Record<string, unknown> = {}, fields: typeof given) =>
    Object.fromEntries(fields.map(({ name, column }) => [column, jsonOf(record[name])]))
  const base = JSON.stringify(rowOf(records[0], shared))
  const rows = JSON.stringify(records.map(record => rowOf(record, own)))
  const into = Prisma.raw(`"${table}"`)
  return Prisma.sql`
    INSERT INTO ${into} (${list})
    SELECT ${list} FROM json_populate_recordset(json_populate_record(NULL::${into}, ${base}), ${rows})`
}

/** Whether several records have the same value, so that it need not be repeated. */
function isShared(records: readonly Record<string, unknown>[], name: string): boolean {
  const [first, ...others] = records
  return others.length > 0 && others.every(other => isSame(other[name], first?.[name]))
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b))
}

/** For ON CONFLICT DO UPDATE: sets every column to the value in the refused row. */
export function setFromExcludedSql({ columns }: ModelColumns): Prisma.Sql {
  return Prisma.raw(columns.map(column => `"${column}" = EXCLUDED."${column}"`).join(', '))
}

/** A value that JSON keeps, as PostgreSQL reads it from a text. */
function jsonOf(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value
}
