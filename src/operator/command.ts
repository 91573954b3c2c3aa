import type { Operations } from '../services/operations.ts'
import { type OptionTable, type OptionValues, parseOptions } from './options.ts'

/** What a command answers: one record, or one for each row of a list. */
export type CommandResult = Record<string, unknown> | AsyncIterable<Record<string, unknown>>

export type Command = {
  summary: string
  options: OptionTable
  /** What else there is to know, below its options in the help. */
  notes?: () => string
  /** Nobody else adds machines to the market while it runs. */
  lock?: 'market'
  /** What it will do, once the options are read: nothing of it needs a database. */
  read: (args: string[]) => RunCommand
}
type RunCommand = (operations: Operations) => Promise<CommandResult> | CommandResult

export function defineCommand<const Table extends OptionTable>(
  { options, ...about }: { options: Table } & Omit<Command, 'options' | 'read'>,
  plan: (given: OptionValues<Table>) => RunCommand,
): Command {
  return { ...about, options, read: args => plan(parseOptions(options, args)) }
}

const pageSize = 1_000

/** Every row of a list that is read page by page, each after the id that the last one ended with. */
export async function* readAllRows<Row extends { id: number }>(
  readPage: (after: number, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row> {
  let after = 0
  for (;;) {
    const rows = await readPage(after, pageSize)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    after = last.id
  }
}
