import type pg from 'pg'
import { mapInTurns } from '../turns/in-turns.ts'
import type { Prisma } from './generated/client.ts'
import { type RowOf, type RowShape, rowReaderOf } from './row-types.ts'
import { runStatement } from './rows.ts'
import type { Reading } from './selection/reading.ts'
import type { NameOf } from './statement-names.ts'

/** Runs statements of our own: on a connection of the pool, or in a transaction. */
export type Statements = {
  /** The rows that the statement answers. The shape names each column, in camel case, with its type. */
  query<Shape extends RowShape>(statement: Prisma.Sql, shape: Shape): Promise<RowOf<Shape>[]>
  /** The rows that the statement answers with the columns of a selection. */
  read<Row>(statement: Prisma.Sql, reading: Pick<Reading<Row>, 'toRow'>): Promise<Row[]>
  /** For a statement whose rows do not matter. Returns how many rows it changed. */
  execute(statement: Prisma.Sql): Promise<number>
}

export function statementsOn(
  client: pg.Pool | pg.ClientBase,
  nameOfRepeated: NameOf,
  onError: (error: unknown) => void = () => {},
): Statements {
  const run = (statement: Prisma.Sql) =>
    runStatement(client, statement, nameOfRepeated).catch((error: unknown) => {
      onError(error)
      throw error
    })
  return {
    query: async (statement, shape) => {
      const answer = await run(statement)
      return await mapInTurns(answer.rows, rowReaderOf(answer, shape))
    },
    read: async (statement, { toRow }) => await mapInTurns((await run(statement)).rows, toRow),
    execute: async statement => (await run(statement)).rowCount ?? 0,
  }
}
