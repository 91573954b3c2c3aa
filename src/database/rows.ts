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

/** Inserts many records in one statement. A field that no record has gets its column's default. */
export function insertSql(
  table: string,
  { names, columns }: ModelColumns,
  records: Record<string, unknown>[],
): Prisma.Sql {
  const given = names.flatMap((name, index) =>
    records.some(record => name in record) ? [{ name, column: columns[index] }] : [],
  )
  const list = Prisma.raw(given.map(({ column }) => `"${column}"`).join(', '))
  const rows = records.map(record =>
    Object.fromEntries(given.map(({ name, column }) => [column, jsonOf(record[name])])),
  )
  const json = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  const into = Prisma.raw(`"${table}"`)
  return Prisma.sql`INSERT INTO ${into} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${into}, ${json})`
}

/** For ON CONFLICT DO UPDATE: sets every column to the value in the refused row. */
export function setFromExcludedSql({ columns }: ModelColumns): Prisma.Sql {
  return Prisma.raw(columns.map(column => `"${column}" = EXCLUDED."${column}"`).join(', '))
}

/** Bytes as PostgreSQL reads them from a text. */
function jsonOf(value: unknown): unknown {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value
}
