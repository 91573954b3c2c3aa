// The rows that statements read in a database with a long history. Statements that run while a machine or an account is
// locked must not become slower with the number of past rentals.

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { fillWithAgedData } from '../../support/database/aged-data.ts'
import { captureStatements, type Statement } from '../../support/database/captured-statements.ts'
import { withSession } from '../../support/database/sessions.ts'
import { rentalsOf } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let renter: string
let machineId: number
let sent: Statement[]
/** The sent statements, each text once. */
let statements: Statement[]

beforeAll(async () => {
  app = await startApp()
  ;({ renter, machineId } = await fillWithAgedData(app))
  sent = await captureStatements(runWorkload)
  const texts = sent.filter(({ text }) => /^\s*(WITH|SELECT|UPDATE|INSERT|DELETE)\b/.test(text))
  statements = [...new Map(texts.map(statement => [statement.text, statement])).values()]
}, 240_000)

afterAll(() => app.close())

/** Everything that two renters and the gateway do with the instances, volumes and charges of one machine. */
async function runWorkload(): Promise<void> {
  const { converge, exit } = rentalsOf(app)
  const volumes = volumesOf(app)
  const rival = await app.newKey(null, { creditNanos: 100_000_000_000n })
  const rent = async (key: string, body: object = {}): Promise<number> => {
    const search = { machine_id: { eq: machineId }, order: [['num_gpus', 'desc']] }
    const { offers } = (await app.rest(key, 'POST', '/bundles/', search)).body
    const answer = await app.rest(key, 'PUT', `/asks/${offers[0].id}/`, { image: 'ubuntu', ...body })
    expect(answer).toMatchObject({ status: 200 })
    await converge()
    return answer.body.new_contract
  }
  const set = (key: string, id: number, body: object) => app.rest(key, 'PUT', `/instances/${id}/`, body)
  const destroy = (key: string, id: number) => app.rest(key, 'DELETE', `/instances/${id}/`)
  const mutate = async (name: string, type: string, input: object) => {
    const text = `mutation ($input: ${type}!) { ${name}(input: $input) { __typename } }`
    expect((await app.graphql(renter, text, { input })).errors).toBeUndefined()
  }

  await limitsOf(app).set(renter, { window: 'DAY', action: 'STOP_RUNNING', amount: '90' })
  const bid = await rent(renter, { price: 1.7 })
  const volume = await volumes.make(renter, machineId)
  // The taker displaces the bid. The bid waits, gets its GPUs back, and its instance is stopped and started.
  const taker = await rent(rival)
  await set(rival, taker, { state: 'stopped' })
  await converge()
  await mutate('updateInstanceBid', 'UpdateInstanceBidInput', { id: String(bid), bidPerHour: '1.9' })
  await mutate('updateInstancePolicy', 'UpdateInstancePolicyInput', { id: String(bid), stopAtCost: '50' })
  await set(renter, bid, { state: 'stopped', label: 'later' })
  await converge()
  await set(renter, bid, { state: 'running' })
  await converge()
  // The machine does not answer while the renter stops the instance.
  await app.operations.machines.unplug(machineId)
  await set(renter, bid, { state: 'stopped' })
  for (let count = 0; count < 10; count += 1) await converge()
  await app.operations.machines.plug(machineId)
  for (let count = 0; count < 5; count += 1) await converge()
  await destroy(renter, bid)
  await converge()
  const exiting = await rent(renter)
  await exit(exiting)
  await destroy(renter, exiting)
  await volumes.remove(renter, volume)
  // The credit ends: running instances are stopped, and later destroyed because of the debt.
  await limitsOf(app).set(renter, { window: 'HOUR', action: 'NOTIFY', amount: '90' })
  await rent(renter)
  for (let days = 0; days < 6; days += 1) {
    app.clock.advance(86_400_000)
    await converge()
  }
}

/** Rows of large tables that a plan has read, including rows that a filter removed. */
function countRowsRead(plan: Plan): number {
  const below = (plan.Plans ?? []).reduce((sum, one) => sum + countRowsRead(one), 0)
  if (!largeTables.includes(plan['Relation Name'] ?? '') || !/ Scan$/.test(plan['Node Type'])) return below
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  return below + ((plan['Actual Rows'] ?? 0) + removed) * (plan['Actual Loops'] ?? 0)
}

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** Leasing walks this index from its beginning, until it finds the next account with a due instance. */
const fairTurnIndex = 'instances_due_of_account'

const largeTables = ['instances', 'meters', 'ledger_entries', 'events', 'gpus', 'machines', 'offers', 'accounts']

/** The plan nodes that read a whole large table or index. `firstColumns` maps each index to its first column. */
function findFullScans(plan: Plan, firstColumns: Map<string, string>): string[] {
  const {
    'Node Type': type,
    'Relation Name': table = '',
    'Index Name': index = '',
    'Index Cond': condition = '',
  } = plan
  const below = (plan.Plans ?? []).flatMap(one => findFullScans(one, firstColumns))
  if (type === 'Seq Scan' && largeTables.includes(table)) return [...below, `${type} on ${table}`]
  const column = firstColumns.get(index)
  if (column !== undefined && !new RegExp(`\\b${column}\\b`).test(condition)) return [...below, `${type} on ${index}`]
  return below
}

async function explainFullScans(
  statement: Statement,
  firstColumns: Map<string, string>,
  generic: boolean,
): Promise<string[]> {
  const { text, values } = statement
  const options = generic ? 'FORMAT JSON, GENERIC_PLAN' : 'FORMAT JSON'
  const [row] = await app.sql(`EXPLAIN (${options}) ${text}`, generic ? undefined : values)
  const { 'QUERY PLAN': plans } = row as { 'QUERY PLAN': { Plan: Plan }[] }
  return plans.flatMap(({ Plan }) => findFullScans(Plan, firstColumns))
}

describe('with thousands of running and destroyed instances, the gateway', () => {
  it('runs the statements for outbidding, outages, limits, the end of credit, and debt', () => {
    const parts = [
      /UPDATE gpus SET occupant_id = NULL/,
      /min\(unconfirmed_at\)/,
      /r\.kind = 'refund'/,
      /WITH starts/,
      /sum\(rate\)/,
      /SET stop_reason = \$/,
      /\bDEBT\b/,
    ]
    const all = sent.map(({ text, values }) => `${text} ${values.join(' ')}`)
    expect(parts.filter(part => !all.some(each => part.test(each)))).toEqual([])
  })

  it.each([
    ['known values', false],
    ['any values', true],
  ])('needs no full scan of a large table or index, planned for %s', async (_, generic) => {
    const rows = (await app.sql(
      `SELECT c.relname AS index, a.attname AS column FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
       JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
       WHERE x.indrelid::regclass::text = ANY($1) AND c.relname <> $2`,
      [largeTables, fairTurnIndex],
    )) as { index: string; column: string }[]
    const firstColumns = new Map(rows.map(({ index, column }) => [index, column]))
    const scans = []
    for (const statement of statements) {
      const found = await explainFullScans(statement, firstColumns, generic)
      if (found.length > 0) scans.push(`${found.join(', ')}: ${statement.text}`)
    }
    expect(scans).toEqual([])
  })

  it('reads few rows with each statement, whatever the history of the account and the machine', async () => {
    const wide: string[] = []
    await withSession(app.database.url, async session => {
      for (const { text, values } of statements) {
        await session.query('BEGIN')
        const options = 'ANALYZE, TIMING OFF, FORMAT JSON'
        const answer = await session.query(`EXPLAIN (${options}) ${text}`, values).catch((error: pg.DatabaseError) => {
          // The workload has already inserted this row.
          if (!['23505', '23514'].includes(error.code ?? '')) throw error
        })
        const plans = (answer?.rows[0]['QUERY PLAN'] ?? []) as { Plan: Plan }[]
        const read = plans.reduce((sum, { Plan }) => sum + countRowsRead(Plan), 0)
        // Housekeeping deletes in batches of 1,000.
        if (read > 1_000) wide.push(`${read} rows: ${text}`)
        await session.query('ROLLBACK')
      }
    })
    expect(wide).toEqual([])
  })
})
