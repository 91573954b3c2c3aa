// The rows that each statement reads in databases with a long history, whatever its plan: a statement that scans a table becomes
// slower with every rental that was ever made.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { dataShapes, type FilledData, fillWithRentals } from '../../support/database/data-shapes.ts'
import {
  countRowsAnswered,
  countRowsRead,
  type Explained,
  explainStatements,
  findIndexWalks,
} from '../../support/database/plans.ts'
import { findIds } from '../../support/faces/everything.ts'
import { rentalsOf } from '../../support/instances/rentals.ts'
import { subscribeSse } from '../../support/streams.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

/** Everything that two renters and the gateway do with the instances, volumes and charges of one machine, and all reads. */
async function runWorkload(app: TestApp, { renter, machineId }: FilledData): Promise<void> {
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
  await findIds(app, renter)
  for (const key of [renter, rival]) await readPages(app, key)
  await destroy(renter, bid)
  await converge()
  const exiting = await rent(renter)
  await exit(exiting)
  await destroy(renter, exiting)
  await volumes.remove(renter, volume)
  await limitsOf(app).set(renter, { window: 'HOUR', action: 'NOTIFY', amount: '90' })
  // The credit of the rival ends: its instance is stopped, and later destroyed because of the debt.
  await rent(rival)
  for (let count = 0; count < 3; count += 1) {
    app.clock.advance(2 * 86_400_000)
    await converge()
  }
}

/** Pages, searches and streams as clients ask for them. `findIds` asks for each field once, with pages of one item. */
async function readPages(app: TestApp, key: string): Promise<void> {
  const queries = [
    `instances(first: 50) { totalCount nodes { id label status numGpus pricePerHour offer { id numGpus price { pricePerHour } }
      machine { id country gpu { name } } template { id name } volumes { mountPath volume { id name } } } }`,
    'instances(last: 50, filter: { status: [RUNNING] }) { nodes { id } }',
    'events(last: 50) { nodes { id } }',
    'events(first: 50, filter: { kinds: [INSTANCE_CREATED] }) { nodes { id } }',
    'viewer { account { ledger(first: 50) { nodes { id } } } }',
    'volumes(first: 50) { nodes { id } }',
    'offers(first: 50, filter: { verified: true, numGpus: { gte: 2 } }) { nodes { id machine { id } } }',
    'offers(first: 50, orderBy: [{ field: SCORE, direction: DESC }]) { nodes { id } }',
    'volumeOffers(first: 50) { nodes { id } }',
  ]
  // A text that repeats gets a name, and with it a plan for any values.
  for (const query of queries)
    for (let count = 0; count < 4; count += 1)
      expect(await app.graphql(key, `{ ${query} }`)).toMatchObject({ status: 200, errors: undefined })
  const paths = ['/instances/', '/api/v1/instances/', '/api/v1/invoices/', '/instances/filters/', '/volumes/']
  for (const path of paths) expect([path, (await app.rest(key, 'GET', path)).status]).toEqual([path, 200])
  const stream = await subscribeSse(app.fetch, key, 'subscription { events { id } }')
  await stream.close()
}

/** Leasing walks these indexes from the beginning, until it finds the next account or webhook for which something is due. */
const fairTurnIndexes = ['instances_due_of_account', 'webhook_deliveries_due']

/** What a statement may read beside 20 rows for each that it returns or changes: whole tables that are small. */
const fewRows = 250

/** Statements that must read more. `rows` is a fixed number, `perRental` is multiplied by the rentals of the renter. */
const largeReads: { statement: RegExp; rows?: number; perRental?: number; reason: string }[] = [
  { statement: /WITH periods AS/, perRental: 25, reason: 'Usage and invoices sum all charges of an account.' },
  { statement: /WITH starts AS/, perRental: 10, reason: 'Spend limits sum the charges in their windows.' },
  {
    statement: /sum\(rate\)|SET stop_reason/,
    ...{
      perRental: 5,
      reason: 'They concern all running meters of an account, with old versions until the next vacuum.',
    },
  },
  { statement: /count\(\*\).* FROM ledger_entries/, perRental: 11, reason: 'The ledger has a total count.' },
  {
    statement: /^\s*SELECT (count\(|i\.label, count)|held\.instances/i,
    ...{ rows: 2_100, perRental: 1, reason: 'They count or group what an account has or the machines of the market.' },
  },
  {
    statement: /SELECT DISTINCT \(CASE i\.status/,
    ...{ rows: 2_100, perRental: 2, reason: 'An account that has a fifth of all instances is read by a scan.' },
  },
  {
    statement: /i\.status = ANY|SELECT i\.id, ARRAY/,
    ...{ perRental: 1, reason: 'They filter or order the living instances of an account without an index.' },
  },
  { statement: /GROUPING|matching\.count/, rows: 17_000, reason: 'Facets and counts of a search read all matches.' },
  { statement: /WITH front AS/, rows: 1_100, reason: 'Events are deleted in batches of 1,000.' },
  {
    statement: /DELETE FROM simulated_containers/,
    ...{ rows: 8_100, reason: 'Compares all simulated containers with their instances, once a minute.' },
  },
]

function isWide({ text, plan }: Explained, rentals: number): boolean {
  const large = largeReads.filter(({ statement }) => statement.test(text))
  const allowed = large.map(({ rows = fewRows, perRental = 0 }) => rows + perRental * rentals)
  return countRowsRead(plan) > Math.max(fewRows, ...allowed) + 20 * countRowsAnswered(plan)
}

/** The widest plan of each text. */
function findWidePlans(explained: Explained[], rentals: number): string[] {
  const wide = explained
    .filter(one => isWide(one, rentals))
    .toSorted((one, other) => countRowsRead(other.plan) - countRowsRead(one.plan))
  const widest = [...Map.groupBy(wide, ({ text }) => text).values()].map(([first]) => first as Explained)
  return widest.map(
    ({ text, mode, plan }) => `${countRowsRead(plan)} rows, ${mode} plan: ${text}\n${JSON.stringify(plan, null, 1)}`,
  )
}

describe.each(Object.entries(dataShapes))('with %s, the gateway', (_, shape) => {
  let app: TestApp
  let explained: Explained[]

  beforeAll(async () => {
    app = await startApp()
    const data = await fillWithRentals(app, shape)
    explained = await explainStatements(() => runWorkload(app, data))
  }, 120_000)

  afterAll(() => app.close())

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
    const all = explained.map(({ text, values }) => `${text} ${values.join(' ')}`)
    expect(parts.filter(part => !all.some(each => part.test(each)))).toEqual([])
  })

  it('reads few rows with each statement, planned for known and for any values', () => {
    expect(findWidePlans(explained, shape[0].rentalsEach)).toEqual([])
  })

  it('searches each index by its first column', async () => {
    const rows = (await app.sql(
      `SELECT c.relname AS index, a.attname AS column FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
       JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0] WHERE c.relname <> ALL($1)`,
      [fairTurnIndexes],
    )) as { index: string; column: string }[]
    const firstColumns = new Map(rows.map(({ index, column }) => [index, column]))
    const walks = explained.flatMap(({ text, plan }) =>
      findIndexWalks(plan, firstColumns).map(index => `${index}: ${text}`),
    )
    expect([...new Set(walks)]).toEqual([])
  })
})
