// Several statements sent as one: they take one round trip, and read the database as of one instant.

import { Prisma } from './generated/client.ts'
import { columnNameOf, int4, json, nullable, type RowOf, type RowShape } from './row-types.ts'
import { parserOf } from './rows.ts'
import type { Statements } from './statements.ts'

const { sql, join, raw } = Prisma

/** A statement that reads, and the shape of its rows. */
export type Read<Shape extends RowShape = RowShape> = { statement: Prisma.Sql; shape: Shape }
export type RowsOf<Reads> = {
  [Name in keyof Reads]: NonNullable<Reads[Name]> extends Read<infer Shape> ? RowOf<Shape>[] : never
}

export function readOf<Shape extends RowShape>(statement: Prisma.Sql, shape: Shape): Read<Shape> {
  return { statement, shape }
}

/** The rows of several reads, by the names of the reads. None may lock rows: all would be read as of before the wait. */
export async function readTogether<Reads extends Record<string, Read>>(
  statements: Pick<Statements, 'query'>,
  reads: Reads,
): Promise<RowsOf<Reads>> {
  const names = Object.keys(reads)
  const lists = Object.entries(reads).map(([name, { statement, shape }]) => {
    const values = Object.keys(shape).map(column => raw(`r.${columnNameOf(column)}::text`))
    return sql`(SELECT json_agg(json_build_array(${join(values)})) FROM (${statement}) r) AS ${raw(columnNameOf(name))}`
  })
  const shape = Object.fromEntries(names.map(name => [name, nullable(json<TextRow[]>())]))
  const [answer] = await statements.query(sql`SELECT ${join(lists)}`, shape)
  const rows = Object.entries(reads).map(([name, read]) => [name, (answer?.[name] ?? []).map(toRow(read.shape))])
  // Safe: each list has the rows of its read, with the columns of its shape.
  return Object.fromEntries(rows) as RowsOf<Reads>
}

type TextRow = (string | null)[]

/** Values come as text, which PostgreSQL writes as in any answer. */
function toRow(shape: RowShape): (values: TextRow) => Record<string, unknown> {
  const columns = Object.entries(shape).map(([name, { oid, nullable }]) => ({
    name,
    nullable,
    parse: oid === undefined ? (text: string) => text : parserOf(oid),
  }))
  return values =>
    Object.fromEntries(
      columns.map(({ name, nullable, parse }, index) => {
        const text = values[index] ?? null
        if (text === null && !nullable) throw new Error(`The column of ${name} is null, but its type is not nullable.`)
        return [name, text === null ? null : parse(text)]
      }),
    )
}

/** Statements that write, by their names. Each ends in RETURNING. */
export type Writes = Readonly<Record<string, Prisma.Sql>>

/**
 * Runs several writes as one statement, and returns how many rows each has returned, by their names. By its name, later ones may
 * read what a write returned; they see nothing else of what it writes. No two may change one row.
 */
export async function writeTogether(
  statements: Pick<Statements, 'query'>,
  ...parts: readonly Writes[]
): Promise<Record<string, number>> {
  const entries = Object.entries(joinWrites(...parts))
  if (entries.length === 0) return {}
  const names = entries.map(([name]) => columnNameOf(name))
  const steps = entries.map(([, write], index) => sql`${raw(names[index] as string)} AS (${write})`)
  const counts = names.map(name => raw(`(SELECT count(*)::int FROM ${name}) AS ${name}`))
  const shape = Object.fromEntries(entries.map(([name]) => [name, int4]))
  const [answer] = await statements.query(sql`WITH ${join(steps)} SELECT ${join(counts)}`, shape)
  // Safe: the statement counts each write.
  return answer as Record<string, number>
}

/** All writes of the parts, in their order. Spread into one object, the last of two writes of a name would replace the first. */
export function joinWrites(...parts: readonly Writes[]): Writes {
  const all: Record<string, Prisma.Sql> = {}
  for (const part of parts) {
    for (const [name, write] of Object.entries(part)) {
      if (name in all) throw new Error(`Two writes of one statement have the name ${name}.`)
      all[name] = write
    }
  }
  return all
}

/**
 * The results of work that was begun at once: on the connection of a transaction, statements are then sent without waiting for
 * the answers of those before. Fails as the first one that failed: what is behind it in the transaction fails because of it.
 */
export async function inOrder<Results extends unknown[]>(
  work: {
    [Index in keyof Results]: Promise<Results[Index]>
  },
): Promise<Results> {
  await Promise.allSettled(work)
  const results: unknown[] = []
  for (const result of work) results.push(await result)
  // Safe: the results are in the order of the work.
  return results as Results
}
