// How PostgreSQL executes the statements of some work, each explained just before it is sent.

import { createRequire } from 'node:module'
import pg from 'pg'
import { type Ask, previewStatements, type Statement } from './captured-statements.ts'

export type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Total Cost': number
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** `generic`: planned for any values, as for named statements. `custom`: planned for the values that were sent. */
export type Explained = Statement & { mode: 'generic' | 'custom'; plan: Plan }

/**
 * The plans with which the statements of the work were executed, in each mode. The 1st, 2nd, 4th, 8th and so on of
 * statements with the same text are explained.
 */
export async function explainStatements(work: () => Promise<unknown>): Promise<Explained[]> {
  const explained: Explained[] = []
  const counts = new Map<string, number>()
  await previewStatements(work, async (statement, ask, inTransaction) => {
    const { text, name } = statement
    const count = (counts.get(text) ?? 0) + 1
    counts.set(text, count)
    if (!Number.isInteger(Math.log2(count))) return
    for (const mode of name === undefined ? (['custom'] as const) : (['custom', 'generic'] as const))
      explained.push({ ...statement, mode, plan: await explain(statement, mode, ask, inTransaction) })
  })
  return explained
}

/** Executes the statement and takes back what it changed. */
async function explain(
  { text, values }: Statement,
  mode: Explained['mode'],
  ask: Ask,
  inTransaction: boolean,
): Promise<Plan> {
  await ask(inTransaction ? 'SAVEPOINT explained' : 'BEGIN')
  try {
    await ask(`SET LOCAL plan_cache_mode = force_${mode}_plan`)
    await ask(`PREPARE explained AS ${text}`)
    const execute = `EXECUTE explained${values.length > 0 ? `(${values.map(literalOf).join(', ')})` : ''}`
    const { rows } = await ask(`EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF, FORMAT JSON) ${execute}`)
    return rows[0]['QUERY PLAN'][0].Plan
  } finally {
    await ask(inTransaction ? 'ROLLBACK TO explained' : 'ROLLBACK')
    await ask('DEALLOCATE explained')
  }
}

const { prepareValue } = createRequire(import.meta.url)('pg/lib/utils.js') as { prepareValue(value: unknown): unknown }

/** The value as pg sends it, in SQL. */
function literalOf(value: unknown): string {
  const sent = prepareValue(value)
  if (sent === null) return 'NULL'
  return pg.escapeLiteral(Buffer.isBuffer(sent) ? `\\x${sent.toString('hex')}` : String(sent))
}

/** Rows that a plan reads from tables and indexes, including rows that a filter removes. */
export function countRowsRead(plan: Plan): number {
  const below = (plan.Plans ?? []).reduce((sum, one) => sum + countRowsRead(one), 0)
  if (!/ Scan$/.test(plan['Node Type']) || !(plan['Relation Name'] ?? plan['Index Name'])) return below
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const read = (plan['Actual Rows'] + removed) * plan['Actual Loops']
  // The rows of a bitmap are read again from the table.
  return plan['Node Type'] === 'Bitmap Heap Scan' ? Math.max(below, read) : below + read
}

/** Rows that a statement returns or changes. */
export function countRowsAnswered(plan: Plan): number {
  const rows = plan['Actual Rows'] * plan['Actual Loops']
  if (plan['Node Type'] !== 'ModifyTable') return rows
  return Math.max(rows, ...(plan.Plans ?? []).map(countRowsAnswered))
}

/**
 * The indexes that a plan searches by later columns only: such a search may walk the whole index, and the rows that it passes are
 * not counted. `firstColumns` maps each index to its first column.
 */
export function findIndexWalks(plan: Plan, firstColumns: ReadonlyMap<string, string>): string[] {
  const { 'Index Name': index = '', 'Index Cond': condition } = plan
  const below = (plan.Plans ?? []).flatMap(one => findIndexWalks(one, firstColumns))
  const column = firstColumns.get(index)
  if (column === undefined || condition === undefined || new RegExp(`\\b${column}\\b`).test(condition)) return below
  return [...below, index]
}

/** The indexes that a plan reads. */
export function findIndexes(plan: Plan): string[] {
  const { 'Index Name': index, Plans: below = [] } = plan
  return [...(index === undefined ? [] : [index]), ...below.flatMap(findIndexes)]
}
