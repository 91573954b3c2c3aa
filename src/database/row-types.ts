// The types of the columns that a statement of our own answers. Each statement names its columns with them, the compiler
// types the rows, and each answer is compared with the types that PostgreSQL reports.

import pg from 'pg'

/** A type of PostgreSQL and its type in TypeScript. */
export type ColumnType<Value> = {
  /** The OID of the type. Undefined for types of our own, such as enums, whose OIDs differ between databases. */
  oid: number | undefined
  nullable: boolean
  /** Exists for the compiler only. */
  value?: Value
}
export type RowShape = Record<string, ColumnType<unknown>>
export type RowOf<Shape extends RowShape> = {
  [Name in keyof Shape]: Shape[Name] extends ColumnType<infer Value> ? Value : never
}

const { builtins } = pg.types

function columnType<Value>(oid: number | undefined): ColumnType<Value> {
  return { oid, nullable: false }
}

export const bool = columnType<boolean>(builtins.BOOL)
export const int2 = columnType<number>(builtins.INT2)
export const int4 = columnType<number>(builtins.INT4)
export const int8 = columnType<bigint>(builtins.INT8)
export const float8 = columnType<number>(builtins.FLOAT8)
/** Text keeps every digit, which a number would not. */
export const numeric = columnType<string>(builtins.NUMERIC)
export const text = columnType<string>(builtins.TEXT)
export const textArray = columnType<string[]>(1009)
export const bytea = columnType<Buffer>(builtins.BYTEA)
export const timestamptz = columnType<Date>(builtins.TIMESTAMPTZ)

/** A text that its writers chose from these: nothing checks that it is one of them. */
export const textOf = <Value extends string>() => columnType<Value>(builtins.TEXT)
/** JSON as its writer stored it: nothing checks that it has this type. */
export const json = <Value>() => columnType<Value>(builtins.JSON)
export const jsonb = <Value>() => columnType<Value>(builtins.JSONB)
/** A value of an enum of the schema. */
export const enumeration = <Value extends string>() => columnType<Value>(undefined)

export function nullable<Value>({ oid }: ColumnType<Value>): ColumnType<Value | null> {
  return { oid, nullable: true }
}

type OuterShape<Shape extends RowShape> = { [Name in keyof Shape]: ColumnType<Value<Shape[Name]> | null> }
type Value<Type> = Type extends ColumnType<infer Value> ? Value : never

/** The columns of an outer join: where nothing matches, all are null. */
export function outer<Shape extends RowShape>(shape: Shape): OuterShape<Shape> {
  const columns = Object.entries(shape).map(([name, type]) => [name, nullable(type)])
  // Safe: the columns are those of the shape, each with null.
  return Object.fromEntries(columns) as OuterShape<Shape>
}

type Answer = { fields: readonly { name: string; dataTypeID: number }[] }

/** Makes an object of each row of an answer. A column has the name of its property in snake case. */
export function rowReaderOf<Shape extends RowShape>(
  { fields }: Answer,
  shape: Shape,
): (values: unknown[]) => RowOf<Shape> {
  const columns = Object.entries(shape).map(([name, type]) => ({ name, type, index: indexOf(fields, name, type) }))
  if (columns.length < fields.length) throw new Error(`The row shape leaves out columns of ${namesOf(fields)}.`)
  return values => {
    const row: Record<string, unknown> = {}
    for (const { name, type, index } of columns) {
      const value = values[index]
      if (value === null && !type.nullable)
        throw new Error(`The column of ${name} is null, but its type is not nullable.`)
      row[name] = value
    }
    // Safe: each value has been read as the type that PostgreSQL reports, which the shape has, too.
    return row as RowOf<Shape>
  }
}

function indexOf(fields: Answer['fields'], name: string, { oid }: ColumnType<unknown>): number {
  const column = columnNameOf(name)
  const index = fields.findIndex(field => field.name === column)
  const reported = fields[index]?.dataTypeID
  if (reported === undefined) throw new Error(`The statement answers no column ${column}, only ${namesOf(fields)}.`)
  if (oid === undefined ? reported < firstOwnOid : reported !== oid) {
    throw new Error(`The column ${column} has the type ${reported} in PostgreSQL, not ${oid ?? 'an enum'}.`)
  }
  return index
}

const columnNames = new Map<string, string>()

/** The name in snake case. The program has a fixed number of them. */
export function columnNameOf(name: string): string {
  const known = columnNames.get(name)
  if (known !== undefined) return known
  const column = name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
  columnNames.set(name, column)
  return column
}

/** PostgreSQL gives types that it does not bring along OIDs from here on. */
const firstOwnOid = 16_384

function namesOf(fields: Answer['fields']): string {
  return fields.map(({ name }) => name).join(', ')
}
