// Prints the answer of a command: for people on a terminal, and as JSON for programs.

import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { LineOf, OperatorCommand, OperatorResult } from './command.ts'
import { printBlock, printTable, withoutControls } from './table.ts'

/** Rows of one table on a terminal. A longer list is in several tables, so that it begins at once. */
const rowsOfTable = 1_000

type Display = Pick<OperatorCommand, 'lineOf' | 'columns'>
type Terminal = { isTTY?: boolean; columns?: number }

export async function printResult(
  answer: OperatorResult,
  output: Writable & Terminal,
  display: { [Part in keyof Display]: Display[Part] | undefined } = {},
): Promise<void> {
  let failure: Error | undefined
  output.on('error', error => {
    failure = error
  })
  for await (const text of textsOf(answer, output, display)) {
    if (failure) throw failure
    if (!output.write(text)) await once(output, 'drain')
  }
}

async function* textsOf(
  answer: OperatorResult,
  { isTTY, columns = 80 }: Terminal,
  { lineOf, columns: names }: Parameters<typeof printResult>[2] = {},
): AsyncGenerator<string> {
  const isList = Symbol.asyncIterator in answer
  if (!isTTY) {
    for await (const row of isList ? answer : [answer]) yield `${JSON.stringify(row)}\n`
    return
  }
  if (!isList) return yield printBlock(answer)
  let isEmpty = true
  for await (const text of lineOf ? linesOf(answer, lineOf) : tablesOf(answer, columns, names)) {
    isEmpty = false
    yield text
  }
  if (isEmpty) yield 'There are none.\n'
}

type Rows = AsyncIterable<Record<string, unknown>>

async function* linesOf(answer: Rows, lineOf: LineOf): AsyncGenerator<string> {
  for await (const row of answer) for (const line of [lineOf(row)].flat()) yield `${withoutControls(line)}\n`
}

async function* tablesOf(answer: Rows, width: number, names?: readonly string[]): AsyncGenerator<string> {
  let rows: Record<string, unknown>[] = []
  for await (const row of answer) {
    if (rows.push(row) < rowsOfTable) continue
    yield printTable(rows, width, names)
    rows = []
  }
  if (rows.length > 0) yield printTable(rows, width, names)
}
