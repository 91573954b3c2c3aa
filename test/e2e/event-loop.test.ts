// Nothing holds the event loop: how long the costliest legal operation of each kind does, in processor time.

import { getIntrospectionQuery } from 'graphql'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startApp, type TestApp } from '../support/app.ts'
import { type Costly, fillForCostly } from '../support/processes/costly-data.ts'
import { type MeasuredGateway, startMeasuredGateway } from '../support/processes/measured.ts'

/** The longest that the event loop may be held, in the best of three runs. */
const limitMs = 50
/** RUNS shows more figures. */
const minRuns = Number(process.env['RUNS'] ?? 1)

vi.setConfig({ testTimeout: 300_000 })

let app: TestApp
let data: Costly
let gateway: MeasuredGateway

beforeAll(async () => {
  app = await startApp({ privateWebhooks: true })
  data = await fillForCostly(app)
  gateway = await startMeasuredGateway(app.database.url, app.clock.now())
  // To a gateway that starts, the copied data are those of another server, so it makes all instances due.
  const soon = new Date(app.clock.now().getTime() + 10 * 60_000)
  await app.sql('UPDATE instance_looks SET due_at = $1 WHERE due_at IS NOT NULL', [soon])
}, 300_000)

afterAll(async () => {
  await gateway?.stop()
  await app?.close()
})

const figures: string[] = []
afterAll(() => void process.stdout.write(`${figures.join('\n')}\n`))

async function checkSteps(name: string, run: () => Promise<unknown>): Promise<void> {
  const runs: number[] = []
  while (runs.length < minRuns || (runs.length < 3 && Math.min(...runs) >= limitMs)) {
    const { ms, collectionMs } = await gateway.longestStep(run)
    runs.push(ms)
    figures.push(`${name}: ${ms.toFixed(1)} ms, collection ${collectionMs.toFixed(1)} ms`)
  }
  expect(Math.min(...runs)).toBeLessThan(limitMs)
}

/** The text of an answer, which must be a success. */
async function read(path: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(`${gateway.url}${path}`, init)
  const text = await response.text()
  expect(response.status, text.slice(0, 500)).toBe(200)
  return text
}

const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })

async function rest(method: string, path: string, body?: object, key = data.renter) {
  const sent = body ? { body: JSON.stringify(body) } : {}
  return JSON.parse(await read(`/api/${path}`, { method, headers: headersOf(key), ...sent }))
}

/** The codes of its errors. */
async function graphql(query: string, variables: object = {}, key = data.renter): Promise<string[]> {
  // A text of its own: remembered documents cost less.
  const body = JSON.stringify({ query: `${query} # ${performance.now()}`, variables })
  const { errors = [] } = JSON.parse(await read('/graphql', { method: 'POST', headers: headersOf(key), body }))
  return errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code)
}

const repeat = (count: number, one: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => one(index)).join(' ')
const instanceFields =
  'id label status targetState gpuName numGpus diskGb pricePerHour costPerHour createdAt endsAt statusChangedAt'
const machineFields = `city country cpuArch cpuCores cpuGhz cpuName cpuRamMb cudaVersion datacenter diskName downloadMbps driverVersion
  freeDiskGb freePorts gpuLanes hasAvx id listedUntil motherboard numGpus osVersion publicIp region reliability staticIp`
const day = (at: number) => JSON.stringify({ day: { gte: at, lte: at + 700 * 86_400 } })
const usage = (args: string, selection: string, key = data.renter) =>
  graphql(
    `{ viewer { account { usage(${args}) { cost totals { ${selection} } buckets { startsAt cost groups { ${selection} } } } } } }`,
    {},
    key,
  )
const month = 'startsAt: "2026-10-15T00:00:00Z", endsAt: "2026-12-01T00:00:00Z"'
const command = (name: string, more = '') =>
  graphql(
    `mutation M($ids: [ID!]!) { done: ${name}(input: { target: { ids: $ids } ${more} }) {
      __typename ... on ${name[0]?.toUpperCase()}${name.slice(1)}Success { items { outcome instance { ${instanceFields} machine { id } } } } } }`,
    { ids: data.living.slice(0, 1_000) },
  )
/** Offers of any size, priced as bids with a disk that no index knows. */
const oddBids = { num_gpus: { gte: 1 }, allocated_storage: 777.7, type: 'bid', limit: 5_000, disable_bundling: true }

describe('REST', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['search of 5,000 offers', () => rest('POST', 'v0/bundles/', { limit: 5_000, disable_bundling: true })],
    ['search of 5,000 bids with an odd disk', () => rest('POST', 'v0/bundles/', oddBids)],
    ['search of two columns', () => rest('POST', 'v0/bundles/', { ...oddBids, select_cols: ['id', 'dph_total'] })],
    ['list of 5,000 instances', () => rest('GET', 'v0/instances/')],
    ['page of instances', () => rest('GET', 'v1/instances/?limit=25')],
    ['filters of instances', () => rest('GET', 'v0/instances/filters/')],
    ['list of 5,000 volumes', () => rest('GET', 'v0/volumes/')],
    ['search of storage', () => rest('POST', 'v0/volumes/search/', { limit: 5_000 })],
    ['charges', () => rest('GET', `v0/charges/?limit=500&select_filters=${encodeURIComponent(day(1_735_000_000))}`)],
    ['ledger', () => rest('GET', 'v0/invoices/', undefined, data.stated)],
    ['statement', () => rest('GET', 'v0/users/me/invoices/', undefined, data.stated)],
    ['templates with long readmes', () => rest('GET', 'v0/template/')],
    ['own templates', async () => rest('GET', `v0/users/${(await rest('GET', 'v0/users/current/')).id}/templates/`)],
    ['audit log', () => rest('GET', 'v0/audit_logs/')],
  ])('%s', checkSteps)
})

describe('GraphQL', () => {
  it.each<[string, () => Promise<unknown>]>([
    [
      'introspection',
      () => graphql(getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true, schemaDescription: true })),
    ],
    [
      'costliest page of instances',
      () =>
        graphql(`{ instances(first: 100) { nodes { ${instanceFields}
        ${repeat(30, index => `a${index}: statusChangedAt`)} machine { ${machineFields} } offer { id rentable price { pricePerHour } } } } }`),
    ],
    [
      'costliest page of offers',
      () =>
        graphql(`{ offers(first: 100, filter: { availability: ANY }) { totalCount nodes { id gpuName
        ${repeat(30, index => `a${index}: minimumBidPerHour`)} machine { ${machineFields} host { id } } price { pricePerHour } } } }`),
    ],
    [
      'facets',
      () =>
        graphql(`{ offers(first: 1, filter: { availability: ANY }, pricing: { rentalKind: INTERRUPTIBLE, diskGb: 777.7 }) {
        totalCount facets(by: [GPU_NAME, REGION, CITY, COUNTRY, CPU_ARCH, NUM_GPUS, VERIFICATION]) { field values { value count } } } }`),
    ],
    [
      'quotes',
      () =>
        graphql(
          `{ ${repeat(
            30,
            index => `q${index}: rentQuote(input: { offerId: "${100_000_005 + 100 * index}",
        spec: { source: { image: "ubuntu" } } }) { rentable pricePerHour blockers { message } warnings offer { id } launch { image } }`,
          )} }`,
        ),
    ],
    [
      'nodes',
      () =>
        graphql(
          `query N($ids: [ID!]!) { nodes(ids: $ids) { id ... on Instance { label machine { ${machineFields} } } } }`,
          { ids: data.living.slice(0, 100).map(id => `ins_${id}`) },
        ),
    ],
    [
      'events',
      () =>
        graphql(`{ events(last: 100) { nodes { id kind message createdAt changes { field before after } actor { __typename }
        reason { code message } subject { __typename ... on Instance { ${instanceFields} machine { ${machineFields} } } } } } }`),
    ],
    [
      'ledger',
      () =>
        graphql(`{ viewer { account { ledger(last: 100) { totalCount nodes { id kind amount balanceAfter costPerHour postedAt
        startsAt endsAt note actor { __typename } subject { id ... on Instance { ${instanceFields} machine { ${machineFields} } } } } } } } }`),
    ],
    [
      'usage by hour',
      () =>
        usage(
          'startsAt: "2026-10-22T00:00:00Z", endsAt: "2026-11-22T00:00:00Z", bucket: HOUR',
          'cost keys { __typename value }',
        ),
    ],
    [
      'usage by day of 9,900 instances',
      () =>
        usage(
          `${month}, groupBy: [INSTANCE, LABEL, API_KEY]`,
          'cost keys { __typename dimension value }',
          data.grouped,
        ),
    ],
    [
      'usage with what 9,900 instances are',
      () =>
        usage(
          `${month}, bucket: MONTH, groupBy: [INSTANCE]`,
          `cost keys { value ... on InstanceUsageKey { instance { ${instanceFields} machine { ${machineFields} } } } }`,
          data.grouped,
        ),
    ],
    ['templates with long readmes', () => graphql('{ templates(first: 60) { nodes { id name readme } } }')],
    ['labels of 1,000 instances', () => command('updateInstances', `, label: "${performance.now()}"`)],
    ['stop of 1,000 instances', () => command('stopInstances')],
    ['start of 1,000 instances', () => command('startInstances')],
    [
      'largest filter',
      () =>
        graphql('query Q($or: [OfferFilter!]) { offers(first: 1, filter: { or: $or }) { totalCount } }', {
          or: Array.from({ length: 12 }, (_, at) => ({
            gpuName: { in: Array.from({ length: 200 }, (_, index) => `model ${at} ${index}`) },
            city: { nin: Array.from({ length: 200 }, (_, index) => `city ${at} ${index}`) },
          })),
        }),
    ],
  ])('%s', checkSteps)
})

describe('documents', () => {
  const refused = 'GRAPHQL_VALIDATION_FAILED'
  it.each<[string, string, string[]]>([
    [
      'of 1,000 fields',
      `{ ${repeat(25, index => `a${index % 2}: instances(first: 1) { nodes { ${instanceFields} machine { ${machineFields} } } }`)} }`,
      [],
    ],
    [
      'of fragments',
      `{ instances(first: 1) { nodes { ...F0 } } } ${repeat(200, index => `fragment F${index} on Instance { ...F${index + 1} label }`)}
      fragment F200 on Instance { id }`,
      [refused],
    ],
    [
      'that spread each fragment many times',
      `{ instances { nodes { ...F0 } } } ${repeat(25, index => `fragment F${index} on Instance { ...F${index + 1} ...F${index + 1} label }`)}
      fragment F25 on Instance { id }`,
      [refused],
    ],
    [
      'with many unknown fields',
      `{ instances(first: 1) { nodes { ${repeat(900, index => `nam${index}`)} } } }`,
      Array(6).fill(refused),
    ],
    [
      'with many unknown arguments',
      `{ instances(filter: { ${repeat(600, index => `x${index}: 1`)} }) { nodes { id } } }`,
      Array(6).fill(refused),
    ],
    ['that never close', '{ a '.repeat(24_000), ['GRAPHQL_PARSE_FAILED']],
    ['of one long comment', `{ __typename } # ${'x'.repeat(95_000)}`, []],
  ])('%s', async (name, query, codes) => {
    await checkSteps(name, async () => expect(await graphql(query)).toEqual(codes))
  })
})

describe('pages', () => {
  const html = { headers: { accept: 'text/html' } }
  it.each<[string, () => Promise<unknown>]>([
    ['OpenAPI document', () => read('/api/v0/openapi.json')],
    ['REST documentation', () => read('/api/v0/docs/')],
    ['metrics', () => read('/metrics')],
    ['GraphiQL with its program', async () => read(/src="([^"]+)"/.exec(await read('/graphql', html))?.[1] as string)],
  ])('%s', checkSteps)
})

it('a stream that catches up with 1,000 events', async () => {
  const fields = `id kind message createdAt changes { field before after } subject { ... on Instance { ${instanceFields} } }`
  const cursor = 'query { events(first: 1) { edges { cursor } } }'
  const body = JSON.stringify({ query: cursor })
  const { data: found } = JSON.parse(await read('/graphql', { method: 'POST', headers: headersOf(data.renter), body }))
  const query = `subscription { events(after: "${found.events.edges[0].cursor}") { cursor node { ${fields} } } }`
  await checkSteps('a stream that catches up', async () => {
    const headers = { ...headersOf(data.renter), accept: 'text/event-stream' }
    const { body } = await fetch(`${gateway.url}/graphql?query=${encodeURIComponent(query)}`, { headers })
    let count = 0
    for await (const part of body as ReadableStream<Uint8Array>) {
      count += Buffer.from(part).toString().split('event: next').length - 1
      if (count >= 1_000) break
    }
  })
})

describe('due work', () => {
  const now = () => `'${app.clock.now().toISOString()}'::timestamptz`
  const some = (count: number) => `instance_id = ANY('{${data.living.slice(0, count)}}')`
  it.each<[string, () => string]>([
    ['passes over 300 instances', () => `UPDATE instance_looks SET due_at = ${now()} WHERE ${some(300)}`],
    ['bills of all accounts', () => `UPDATE accounts SET billing_due_at = ${now()}`],
    [
      'policies of 300 instances',
      () => `UPDATE instances SET policy_due_at = ${now()} WHERE id = ANY('{${data.living.slice(0, 300)}}')`,
    ],
    ['deletion of expired rows', () => `UPDATE idempotency_keys SET created_at = ${now()} - interval '30 days'`],
    [
      'deliveries of 500 events',
      () => `UPDATE webhook_deliveries SET due_at = ${now()}, leased_until = NULL, delivered_at = NULL
      WHERE event_id IN (SELECT event_id FROM webhook_deliveries LIMIT 500)`,
    ],
  ])('%s', async (name, makeDue) => {
    await checkSteps(name, async () => {
      await app.sql(makeDue())
      await gateway.work()
    })
  })
})
