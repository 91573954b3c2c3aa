// The rows that each statement reads in databases with a long history, whatever its plan: a statement that scans a table becomes
// slower with every rental that was ever made.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { limitsOf } from '../../support/billing/limits.ts'
import { captureStatements, type Statement } from '../../support/database/captured-statements.ts'
import { dataShapes, type FilledData, fillWithRentals } from '../../support/database/data-shapes.ts'
import {
  countRowsAnswered,
  countRowsRead,
  type Explained,
  explainStatements,
  findIndexes,
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
  await readFiltered(app, renter)
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
    'offers(first: 1) { facets(by: [CITY, DATACENTER]) { values { value } } }',
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

/** Lists that a filter of one value narrows to a few items. */
async function readFiltered(app: TestApp, key: string): Promise<void> {
  const ask = async (query: string) => {
    const { data, errors } = await app.graphql(key, `{ ${query} }`)
    expect(errors).toBeUndefined()
    return data
  }
  const { templates, instances } = await ask(
    'templates(first: 1) { nodes { id } } instances(first: 1) { nodes { id } }',
  )
  const filters = [`templateId: "${templates.nodes[0].id}"`, 'idempotencyKey: "none"']
  for (const filter of filters) await ask(`instances(first: 50, filter: { ${filter} }) { nodes { id } }`)
  await ask(`events(first: 50, filter: { subjectIds: ["${instances.nodes[0].id}"] }) { nodes { id } }`)
}

/** Leasing walks these indexes from the beginning, until it finds the next account or webhook for which something is due. */
const fairTurnIndexes = ['instance_looks_due_of_account', 'webhook_deliveries_due']

/** What a statement may read beside 20 rows for each that it returns or changes: whole tables that are small. */
const fewRows = 250

/** Statements that must read more. `rows` is a fixed number, `perRental` is multiplied by the rentals of the renter. */
const largeReads: { statement: RegExp; rows?: number; perRental?: number; reason: string }[] = [
  { statement: /^\s*WITH periods AS/, perRental: 10, reason: 'Usage and invoices sum all charges of an account.' },
  { statement: /^\s*WITH starts AS/, perRental: 10, reason: 'Spend limits sum the charges in their windows.' },
  {
    statement: /^\s*SELECT api_key_id, sum\(rate\) AS rate FROM/,
    ...{ perRental: 5, reason: 'All running meters of an account, with old versions until the next vacuum.' },
  },
  {
    statement: /^\s*SELECT count\(\*\)::int AS total FROM ledger_entries e/,
    ...{ perRental: 11, reason: 'The ledger has a total count.' },
  },
  {
    statement:
      /^\s*SELECT (count\(\*\)::int AS count FROM instances i|COUNT\(\*\) AS "_count\$_all" FROM \(SELECT "public"."volumes")/,
    ...{ perRental: 1, reason: 'Lists of instances and volumes have a total count.' },
  },
  {
    statement: /^\s*SELECT a\.id AS account_id, a\.max_instances, .*held\.instances/s,
    ...{ perRental: 1, reason: 'Quotas count the living instances of an account.' },
  },
  {
    statement: /^SELECT \(SELECT json_agg.* AS admissions$/s,
    ...{
      perRental: 2,
      reason: 'Quotas as above, after the balance of an account with all recorded ends of its meters.',
    },
  },
  {
    statement: /^SELECT \(SELECT json_agg.* AS facts$/s,
    ...{
      perRental: 3,
      reason: 'The balances of all accounts that are due, and whether their meters have ended: as below.',
    },
  },
  {
    statement: /^SELECT \(SELECT json_agg.*AS balances,.*AS secret_variables/s,
    ...{ perRental: 1, reason: 'The balance of an account, planned for any account as below.' },
  },
  {
    statement: /^\s*SELECT i\.label, count\(/,
    ...{ rows: 2_100, perRental: 1, reason: 'Labels are counted over the living instances, joined to all machines.' },
  },
  {
    statement: /^\s*SELECT count\(\*\)::int AS count FROM machines m JOIN gpu_models g/,
    ...{ rows: 2_100, reason: 'A search of volume offers counts the machines of the market.' },
  },
  {
    statement: /^\s*SELECT DISTINCT \(CASE i\.status/,
    ...{ rows: 2_100, perRental: 2, reason: 'An account that has a fifth of all instances is read by a scan.' },
  },
  {
    statement: /^\s*SELECT i\.id,\(i\.id\)::text,i\.id\s+FROM instances i .* AND i\.status = ANY/s,
    ...{ perRental: 1, reason: 'Statuses filter the living instances of an account without an index.' },
  },
  {
    statement: /^\s*SELECT i\.id, ARRAY\[i\.id::text\]::text\[\] AS position/,
    ...{ perRental: 1, reason: 'REST orders the living instances of an account without an index.' },
  },
  {
    statement:
      /^\s*(SELECT facet, value, count, price FROM|SELECT count\(\*\)::int AS count FROM \(SELECT o\.id|WITH alternative_0)/,
    ...{ rows: 17_000, reason: 'Facets of a search read all matches, and counts up to 10,000.' },
  },
  {
    statement: /^\s*WITH page AS \(\s*SELECT \* FROM \(WITH\s+probe AS/,
    ...{
      rows: 2_100,
      reason: 'A search for one model and a fact of machines looks where to stop in each index range.',
    },
  },
  {
    statement:
      /^\s*(SELECT a\.id AS account_id, .* FROM meter_ends WHERE account_id = a\.id|SELECT a\.id AS account_id, a\.low_credit_hours, |DELETE FROM meter_ends e USING meters m WHERE m\.id = e\.meter_id AND e\.account_id = \$1)/s,
    ...{ perRental: 1, reason: 'Planned for any account, where few accounts share all recorded ends of meters.' },
  },
  {
    statement: /^\s*DELETE FROM simulated_containers WHERE instance_id IN/,
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

const usedIndexes = new Set<string>()

describe.each(Object.entries(dataShapes))('with %s, the gateway', (_, shape) => {
  let app: TestApp
  let explained: Explained[]
  let sent: Statement[]

  beforeAll(async () => {
    app = await startApp()
    const data = await fillWithRentals(app, shape)
    sent = await captureStatements(async () => {
      explained = await explainStatements(() => runWorkload(app, data))
    })
    for (const index of explained.flatMap(({ plan }) => findIndexes(plan))) usedIndexes.add(index)
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
    const all = sent.map(({ text, values }) => `${text} ${values.join(' ')}`)
    expect(parts.filter(part => !all.some(each => part.test(each)))).toEqual([])
  })

  it('reads few rows with each statement, planned for known and for any values', () => {
    expect(findWidePlans(explained, shape[0].rentalsEach)).toEqual([])
  })

  it('searches each index by its first column', async () => {
    const rows = (await app.sql(
      `SELECT c.relname AS index, a.attname AS column FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
       JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[0]
       WHERE c.relname <> ALL($1) AND NOT EXISTS (
         SELECT FROM pg_partition_ancestors(c.oid) p JOIN pg_class whole ON whole.oid = p.relid WHERE whole.relname = ANY($1))`,
      [fairTurnIndexes],
    )) as { index: string; column: string }[]
    const firstColumns = new Map(rows.map(({ index, column }) => [index, column]))
    const walks = explained.flatMap(({ text, plan }) =>
      findIndexWalks(plan, firstColumns).map(index => `${index}: ${text}`),
    )
    expect([...new Set(walks)]).toEqual([])
  })
})

/** Indexes that no plan of the workload reads. */
const unreadIndexes: Record<string, string> = {
  events_xid_id_idx: 'The workload opens no stream of instances. A stream looks for claims that changed.',
  failed_starts_account_id_at_idx:
    'The workload rents no best offer. Such a rental passes over machines with failed starts.',
  failed_starts_at_idx: 'No start of the workload fails because of its machine. Old ones are deleted.',
  instance_ssh_keys_ssh_key_id_idx: 'The workload deletes no SSH key. A deletion looks for the instances that have it.',
  ...Object.fromEntries(
    [
      ...['cores_per_gpu', 'country', 'cpu_cores', 'cpu_ghz', 'cpu_ram', 'disk', 'disk_read', 'download'],
      ...['download_price', 'gpu_lanes', 'least_share', 'listed_until', 'nvlink', 'pci_generation', 'pcie', 'ports'],
      ...['reliability', 'temperature', 'upload', 'upload_price'],
    ].map(fact => [`machines_by_${fact}`, 'The workload searches by no fact of machines.']),
  ),
  machines_by_cuda_version: 'The workload searches by no version.',
  machines_by_driver_version: 'The workload searches by no version.',
  machines_by_os_version: 'The workload searches by no version.',
  machines_by_state: 'The workload reads no metrics, which count the machines.',
  machines_gpu_model_id_idx: 'All machines of the data have one GPU model.',
  samples_at_idx: 'The workload has no real machine. It finds the samples of a minute, whose means are computed.',
  market_changes_xid_idx: 'The workload opens no stream of offers. A stream looks for machines whose offers changed.',
  offers_by_bid: 'The workload searches for no bids.',
  offers_cheapest_bids: 'The workload searches for no bids.',
  offers_fastest: 'The workload orders by no performance.',
  offers_fastest_per_dollar: 'The workload orders by no performance.',
  results_account_id_expires_at_idx:
    'The workload asks for no results. A new result deletes the oldest of the account.',
  volumes_to_remove: 'The workload has no real machine, whose data of deleted volumes is looked for.',
  webhooks_failing: 'The workload reads no metrics, which count the webhooks that fail.',
}

describe('each index', () => {
  let app: TestApp

  beforeAll(async () => {
    app = await startApp()
  })

  afterAll(() => app.close())

  it('is read by a statement, or is listed with a reason', async () => {
    const rows = (await app.sql(
      `SELECT c.relname AS index, ARRAY(SELECT relname::text FROM pg_partition_tree(c.oid) JOIN pg_class p ON p.oid = relid)
         AS parts FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
       WHERE c.relnamespace = 'public'::regnamespace AND NOT x.indisunique AND NOT c.relispartition`,
    )) as { index: string; parts: string[] }[]
    // A plan reads the parts of the index of a partitioned table.
    const isRead = ({ index, parts }: (typeof rows)[number]) => [index, ...parts].some(part => usedIndexes.has(part))
    const unread = rows.filter(row => !isRead(row)).map(({ index }) => index)
    expect(unread.toSorted()).toEqual(Object.keys(unreadIndexes).toSorted())
  })

  it('leads with a column of each foreign key that a deletion of the parent follows', async () => {
    // No rows with children are deleted, and no keys change.
    const rows = (await app.sql(
      `SELECT k.conname AS name FROM pg_constraint k
       WHERE k.contype = 'f' AND k.confdeltype IN ('c', 'n') AND NOT EXISTS (
         SELECT FROM pg_index x WHERE x.indrelid = k.conrelid AND x.indpred IS NULL
         AND x.indkey[0] = ANY (k.conkey)
       )`,
    )) as { name: string }[]
    expect(rows.map(({ name }) => name)).toEqual([])
  })
})
