// Reads what a selection asks for with a statement of our own: the statement says where the rows come from, the selection
// says which columns of them it reads. This is the only file that takes rows apart by position.

import { Prisma } from '../generated/client.ts'
import { columnNameOf } from '../row-types.ts'
import { type Column, jsonColumnOf } from './json.ts'
import type { Selected, SelectOf } from './selected.ts'

const { sql, join, raw, empty } = Prisma

/** Where a statement has the rows of a model, and what of them it can read. */
type Place = {
  model: Prisma.ModelName
  alias: string
  /** Values that no column has, such as the time of the read. */
  computed?: Record<string, Computed>
  /** Values that need no read. */
  known?: Record<string, unknown>
  relations?: Record<string, RelatedPlace | ListPlace>
}
type Computed = Prisma.Sql | Required<Column>
/** A related row. Its table is joined only if something of it is selected. */
type RelatedPlace = Place & {
  join: Prisma.Sql
  /** Whether the join mentions the statement's own table alone, and not that of the relation before it. */
  fromRoot?: boolean
  /** Whether there may be no such row: then its `id` is null, and so is the relation. */
  optional?: boolean
}

/** A list of related rows. They come as JSON in one column, so that the statement has as many rows as without them. */
type ListPlace = Place & { from: Prisma.Sql; where: Prisma.Sql; order: Prisma.Sql }

/** The rows of a model in a statement. `Row` is what they have. */
export type Source<Row> = Place & { row?: Row }

/** The columns of a selection, the joins that they need, and how the values of a row become what was selected. */
export type Reading<Row> = { columns: Prisma.Sql; joins: Prisma.Sql; width: number; toRow: (values: unknown[]) => Row }

type Select = Record<string, unknown>
type Related<Place> = Place & { select: Select }
type ReadValue = (values: unknown[]) => unknown
/** `inJson`: the values come in JSON, which does not keep all of their types. */
type Parts = { columns: Prisma.Sql[]; joins: Set<Prisma.Sql>; inJson?: boolean }

/** `needed`: joins that the statement needs for its conditions. */
export function readingOf<Row, const Select extends SelectOf<Row>>(
  source: Source<Row>,
  select: Select,
  needed: Prisma.Sql[] = [],
): Reading<Selected<Row, Select>> {
  const parts: Parts = { columns: [], joins: new Set(needed) }
  const toRow = readObject(source, select, [], parts)
  return {
    ...sqlOf(parts),
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

function sqlOf({ columns, joins }: Parts): { columns: Prisma.Sql; joins: Prisma.Sql } {
  return {
    columns: columns.length > 0 ? join(columns) : sql`NULL`,
    joins: joins.size > 0 ? join([...joins], ' ') : empty,
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
  if (place.known && name in place.known) return () => place.known?.[name]
  const computed = place.computed?.[name]
  if (!computed && nested !== true) return readRelation(relationOf(place, name, nested), path, parts)
  for (const step of path) parts.joins.add(step)
  const { sql: column, decode } = computed ? computedColumnOf(computed, parts) : columnOf(place, name, parts)
  const index = parts.columns.push(column) - 1
  return decode ? values => decode(values[index]) : values => values[index]
}

function readRelation(relation: Related<RelatedPlace | ListPlace>, path: Prisma.Sql[], parts: Parts): ReadValue {
  if ('from' in relation) return readList(relation, path, parts)
  const steps = relation.fromRoot ? [relation.join] : [...path, relation.join]
  const read = readObject(relation, relation.select, steps, parts)
  if (!relation.optional) return read
  const readId = readField(relation, 'id', true, steps, parts)
  return values => (readId(values) === null ? null : read(values))
}

function readList(list: Related<ListPlace>, path: Prisma.Sql[], parts: Parts): ReadValue {
  for (const step of path) parts.joins.add(step)
  const itemParts: Parts = { columns: [], joins: new Set(), inJson: true }
  const readItem = readObject(list, list.select, [], itemParts)
  const { columns, joins } = sqlOf(itemParts)
  const items = sql`(SELECT json_agg(json_build_array(${columns}) ORDER BY ${list.order})
    FROM ${list.from} ${joins} WHERE ${list.where})`
  const index = parts.columns.push(items) - 1
  // The statement builds these arrays. Without rows, their aggregate is null.
  return values => ((values[index] ?? []) as unknown[][]).map(readItem)
}

function computedColumnOf(computed: Computed, { inJson }: Parts): Column {
  if (!(computed instanceof Prisma.Sql)) return computed
  if (inJson) throw new Error('JSON may not keep the type of a computed value. In a list, give it a `decode`.')
  return { sql: computed }
}

function columnOf({ model, alias }: Place, name: string, { inJson }: Parts): Column {
  if (!(name in Prisma[`${model}ScalarFieldEnum`])) throw new Error(`The model ${model} has no column ${name}.`)
  const column = raw(`${alias}.${columnNameOf(name)}`)
  return inJson ? jsonColumnOf(model, name, column) : { sql: column }
}

/** The relation with what is selected of it. No relation takes arguments. */
function relationOf({ model, relations }: Place, name: string, nested: unknown): Related<RelatedPlace | ListPlace> {
  const relation = relations?.[name]
  const { select, ...args } = nested as { select?: Select }
  if (relation && select && Object.keys(args).length === 0) return { ...relation, select }
  throw new Error(`The statement does not read ${model}.${name} as it is selected.`)
}

function selectedOf(select: object): [string, unknown][] {
  return Object.entries(select).filter(([, selected]) => selected)
}
