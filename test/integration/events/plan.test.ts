// The query for events about some items, in an account with a long history among others.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'

const [subjects, eventsPerSubject] = [5_000, 30]
/** The last id of a subject with events, above all ids that tests use. */
const lastSubject = 1_000_000 + subjects

let app: TestApp
let key: string
let client: pg.Client

/**
 * Events about instances, in the order in which a fleet works: all instances have their first event, then their second. The
 * transaction ids are lower than those of open transactions.
 */
async function addHistory(accountId: number, count: number): Promise<void> {
  await app.sql(`SET session_replication_role = replica;
    INSERT INTO events (xid, kind, account_id, instance_id, actor_kind, subject_type, subject_id, created_at)
    SELECT (3 + n / 400)::text::xid8, 'INSTANCE_STATUS_CHANGED', ${accountId}, 1000000 + n % ${subjects} + 1, 'system', 'Instance',
      1000000 + n % ${subjects} + 1, '2026-01-01Z'::timestamptz + n * interval '1 second'
    FROM generate_series(1, ${count}) n;
    RESET session_replication_role`)
}

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  const accountOf = async (one: string) => (await app.rest(one, 'GET', '/users/current/')).body.id as number
  // No ids of other events are taken.
  await app.sql(`SELECT setval('events_id_seq', 1000)`)
  await addHistory(await accountOf(key), subjects * eventsPerSubject)
  await addHistory(await accountOf(await app.newKey()), subjects * 4)
  await app.sql('VACUUM ANALYZE events')
  client = new pg.Client({ connectionString: app.database.url })
  await client.connect()
}, 120_000)

afterAll(async () => {
  await client.end()
  await app.close()
})

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

const scansOf = (plan: Plan): Plan[] => [
  ...(plan['Relation Name'] === 'events' ? [plan] : []),
  ...(plan.Plans ?? []).flatMap(scansOf),
]

/** Lists the events about the instances, and reads how many rows the statement has read. */
async function explain(ids: number[], page: string) {
  const subjectIds = ids.map(id => `"ins_${id}"`)
  let found = 0
  const statements = await captureStatements(async () => {
    const query = `{ events(${page}, filter: { subjectIds: [${subjectIds}] }) { nodes { id } } }`
    const { data, errors } = await app.graphql(key, query)
    expect(errors).toBeUndefined()
    found = data.events.nodes.length
  })
  const { text, values } = statements.find(one => one.text.includes('WITH kept')) ?? expect.fail('No event was read.')
  const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  const scans = scansOf((rows[0]['QUERY PLAN'][0] as { Plan: Plan }).Plan)
  const read = scans.reduce((sum, scan) => {
    const removed = (scan['Rows Removed by Filter'] ?? 0) + (scan['Rows Removed by Index Recheck'] ?? 0)
    return sum + (scan['Actual Rows'] + removed) * scan['Actual Loops']
  }, 0)
  return { found, read, whole: scans.filter(scan => scan['Node Type'] === 'Seq Scan') }
}

describe(`the events about some items, among ${subjects * eventsPerSubject} of the account`, () => {
  const some = (count: number) => Array.from({ length: count }, (_, index) => lastSubject - index)

  it.each([
    ['one item, oldest first', some(1), 'first: 25', 25],
    ['one item, newest first', some(1), 'last: 25', 25],
    ['an item without events', [lastSubject + 1], 'first: 25', 0],
    ['an item without events, newest first', [lastSubject + 1], 'last: 25', 0],
    ['ten items', some(10), 'last: 100', 100],
  ])('are read through the index of their subjects: %s', async (_what, ids, page, expected) => {
    const { found, read, whole } = await explain(ids, page)
    expect([found, whole]).toEqual([expected, []])
    expect(read).toBeLessThanOrEqual(2 * ids.length * eventsPerSubject + 1)
  })

  it('are read up to the end of the page, at most all events of 100 items', async () => {
    const { found, read, whole } = await explain(some(100), 'first: 100')
    expect([found, whole]).toEqual([100, []])
    expect(read).toBeLessThanOrEqual(100 * eventsPerSubject + 5_000)
  })
})
