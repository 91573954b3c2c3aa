// Reads what a selection asks for with a statement of our own: the statement says where the rows come from, the selection
// says which columns of them it reads. This is the only file that takes rows apart by position.

import { isDeepStrictEqual } from 'node:util'
import { Prisma } from '../generated/client.ts'
import { columnNameOf } from '../row-types.ts'
import { fieldOf, type ModelName } from './models.ts'
import type { Selected, SelectOf } from './selected.ts'

const { sql, join, raw, empty } = Prisma

/** Where a statement has the rows of a model, and what of them it can read. */
type Place = {
  model: ModelName
  alias: string
  /** Values that no column has, such as the time of the read. */
  computed?: Record<string, Prisma.Sql>
  relations?: Record<string, One | Many>
}
/** A related row. Its table is joined only if a column of it is selected. */
type One = Place & {
  join: Prisma.Sql
  /** Whether the join mentions the statement's own table alone, and not that of the relation before it. */
  fromRoot?: boolean
}
/** Related rows. `args` are the arguments that a selection must give the relation, because `from` obeys them. */
type Many = Place & { args?: Record<string, unknown>; from: Prisma.Sql; order: Prisma.Sql }

/** The rows of a model in a statement. `Row` is what they have. */
export type Source<Row> = Place & { row?: Row }

/** The columns of a selection, the joins that they need, and how the values of a row become what was selected. */
export type Reading<Row> = { columns: Prisma.Sql; joins: Prisma.Sql; width: number; toRow: (values: unknown[]) => Row }

type Select = Record<string, unknown>
type ReadValue = (values: unknown[]) => unknown
type Parts = { columns: Prisma.Sql[]; joins: Set<Prisma.Sql> }

export function readingOf<Row, const Select extends SelectOf<Row>>(
  source: Source<Row>,
  select: Select,
): Reading<Selected<Row, Select>> {
  const parts: Parts = { columns: [], joins: new Set() }
  const toRow = readObject(source, select, [], parts)
  return {
    columns: parts.columns.length > 0 ? join(parts.columns) : sql`NULL`,
    joins: parts.joins.size > 0 ? join([...parts.joins], ' ') : empty,
    width: Math.max(parts.columns.length, 1),
    // Safe: the columns are those of the selection.
    toRow: toRow as Reading<Selected<Row, Select>>['toRow'],
  }
}

/** The same, with the values of further columns beside each row. */
export function withValues<Row>(
  { columns, joins, width, toRow }: Reading<Row>,
  further: Prisma.Sql[],
): Reading<{ row: Row; values: unknown[] }> {
  return {
    columns: join([columns, ...further]),
    joins,
    width: width + further.length,
    toRow: values => ({ row: toRow(values), values: values.slice(width, width + further.length) }),
  }
}

/** `path`: the joins that lead to this place. */
function readObject(place: Place, select: Select, path: Prisma.Sql[], parts: Parts): (values: unknown[]) => Select {
  const reads = selectedOf(select).map(([name, nested]): [string, ReadValue] => [
    name,
    readField(place, name, nested, path, parts),
  ])
  return values => {
    const row: Select = {}
    for (const [name, read] of reads) row[name] = read(values)
    return row
  }
}

function readField(place: Place, name: string, nested: unknown, path: Prisma.Sql[], parts: Parts): ReadValue {
  const computed = place.computed?.[name]
  if (computed || fieldOf(place.model, name).kind !== 'object') {
    for (const step of path) parts.joins.add(step)
    return readColumn(computed ?? columnSql(place, name), parts)
  }
  const relation = relationOf(place, name, nested)
  if ('join' in relation) {
    const steps = relation.fromRoot ? [relation.join] : [...path, relation.join]
    return readObject(relation, selectIn(nested), steps, parts)
  }
  for (const step of path) parts.joins.add(step)
  const { object, decode } = jsonObject(relation, selectIn(nested))
  const list = sql`(SELECT json_agg(${object} ORDER BY ${relation.order}) FROM ${relation.from})`
  const read = readColumn(list, parts)
  // Safe: json_agg gives a list of these objects, or null if there is none.
  return values => ((read(values) ?? []) as Select[]).map(decode)
}

function readColumn(column: Prisma.Sql, parts: Parts): ReadValue {
  const index = parts.columns.push(column) - 1
  return values => values[index]
}

/** Related rows come as JSON, in which some types need another form. */
function jsonObject(place: Place, select: Select): { object: Prisma.Sql; decode: (json: Select) => Select } {
  const fields = selectedOf(select).map(([name, nested]) => {
    const { kind, type } = fieldOf(place.model, name)
    if (kind === 'object') {
      const { object, decode } = jsonObject(relationOf(place, name, nested), selectIn(nested))
      return { name, value: object, decode: (value: unknown) => decode(value as Select) }
    }
    const { text = false, decode = (value: unknown) => value } = jsonForms[type] ?? {}
    const column = columnSql(place, name)
    return { name, value: text ? sql`${column}::text` : column, decode }
  })
  const pairs = fields.map(({ name, value }) => sql`${raw(`'${name}'`)}, ${value}`)
  return {
    object: sql`json_build_object(${join(pairs)})`,
    decode: json =>
      Object.fromEntries(fields.map(({ name, decode }) => [name, json[name] === null ? null : decode(json[name])])),
  }
}

/** By the types of Prisma: whether a value travels as text, and what it is decoded to. */
const jsonForms: Record<string, { text?: boolean; decode: (value: unknown) => unknown }> = {
  BigInt: { text: true, decode: value => BigInt(String(value)) },
  DateTime: { decode: value => new Date(String(value)) },
}

function columnSql({ alias }: Place, name: string): Prisma.Sql {
  return raw(`${alias}.${columnNameOf(name)}`)
}

function relationOf({ model, relations }: Place, name: string, nested: unknown): One | Many {
  const relation = relations?.[name]
  if (!relation) throw new Error(`The statement does not read ${model}.${name}.`)
  const { select, ...args } = nested as { select?: Select }
  const allowed = 'join' in relation ? {} : (relation.args ?? {})
  if (!select || !isDeepStrictEqual(args, allowed)) {
    throw new Error(`The statement reads ${model}.${name} only with a selection and ${JSON.stringify(allowed)}.`)
  }
  return relation
}

/** `relationOf` has checked that it has one. */
function selectIn(nested: unknown): Select {
  return (nested as { select: Select }).select
}

function selectedOf(select: object): [string, unknown][] {
  return Object.entries(select).filter(([, selected]) => selected)
}
