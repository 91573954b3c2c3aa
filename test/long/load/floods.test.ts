// One client asks as much as it can, sixty requests at a time. Another client's small request must stay quick meanwhile.

import { setTimeout as sleep } from 'node:timers/promises'
import { getIntrospectionQuery } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadRequest } from '../../support/load/client.ts'
import { describeLoad, type LoadReport, sendLoad } from '../../support/load/load.ts'
import { startLoadSite } from '../../support/load/site.ts'

const seconds = Number(process.env['FLOOD_SECONDS'] ?? 8)
/** What the small request may take in 99 of 100 cases. */
const quickMs = 300
/** The client of the small request starts before the flood, so that the start of its process is no part of its waiting. */
const calmSeconds = 1
/** On a machine that is busy with other things, the small request takes long even alone. */
const timesAlone = 5

let site: Awaited<ReturnType<typeof startLoadSite>>
let aloneMs: number
/** The offers that quotes ask for. */
let offers: number[]

beforeAll(async () => {
  site = await startLoadSite({ machines: 2_000, accounts: 1 + floods.length, env: { GRAPHIQL: 'true' } })
  offers = (await site.sql('SELECT id FROM offers WHERE rentable ORDER BY id LIMIT 50')).map(({ id }) => Number(id))
  await askLittle(2)
  aloneMs = describeLoad(await askLittle(seconds)).p99
  process.stdout.write(`alone: p99 ${aloneMs} ms\n`)
})

afterAll(async () => {
  await site.stop()
})

const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })
const graphql = (key: string, query: string): LoadRequest => ({
  method: 'POST',
  path: '/graphql',
  headers: headersOf(key),
  body: JSON.stringify({ query }),
})
const search = (key: string, body: object): LoadRequest => ({
  method: 'POST',
  path: '/api/v0/bundles/',
  headers: headersOf(key),
  body: JSON.stringify(body),
})

/** The small request of another client, 20 times a second. */
function askLittle(lasting: number): Promise<LoadReport> {
  const requests = [graphql(site.keys[0] as string, '{ viewer { account { credit } } }')]
  return sendLoad({ url: site.url, from: '127.0.0.2', requests, seconds: lasting, pace: { rate: 20 } })
}

/** A word of 40 characters that looks like the secret of a key. */
const guess = (n: number) => `berth_${String(n).padStart(12, '0')}_${'0123456789'.repeat(4)}`
const oddDisk = (n: number) => 5 + n * 1.37

const floods: [string, (key: string) => LoadRequest[]][] = [
  ['the page of GraphiQL', () => [{ method: 'GET', path: '/graphql', headers: { accept: 'text/html' } }]],
  ['5,000 offers over REST', key => [search(key, { limit: 5_000 })]],
  ['introspection', key => [graphql(key, getIntrospectionQuery())]],
  [
    'twenty introspections in one operation',
    key => {
      const fields = Array.from(
        { length: 20 },
        (_, n) => `a${n}: __schema { types { name fields { name type { name } } } }`,
      )
      return [graphql(key, `{ ${fields.join(' ')} }`)]
    },
  ],
  [
    'searches at a bid with odd disks',
    key =>
      Array.from({ length: 50 }, (_, n) =>
        search(key, { type: 'bid', allocated_storage: oddDisk(n), limit: 64, order: [['dph_total', 'asc']] }),
      ),
  ],
  [
    'counts of offers',
    key =>
      Array.from({ length: 50 }, (_, n) =>
        graphql(
          key,
          `{ offers(first: 1, pricing: { diskGb: ${oddDisk(n)} }, filter: { pricePerHour: { gte: "0.0${n}" } }) { totalCount } }`,
        ),
      ),
  ],
  [
    'quotes',
    key =>
      offers.map(id =>
        graphql(key, `{ rentQuote(input: { offerId: "${id}", launch: { image: "ubuntu" } }) { __typename } }`),
      ),
  ],
  [
    'guesses of keys',
    () => Array.from({ length: 500 }, (_, n) => graphql(guess(n), '{ viewer { account { credit } } }')),
  ],
  ['health checks', () => [{ method: 'GET', path: '/health' }]],
]

describe('a small request is answered soon while another client floods the gateway with', () => {
  // Each flood has an account of its own, with all points.
  it.each(floods.map((flood, n) => [...flood, n + 1] as const))('%s', async (name, requestsOf, account) => {
    const requests = requestsOf(site.keys[account] as string)
    const asking = askLittle(calmSeconds + seconds)
    await sleep(calmSeconds * 1_000)
    const flood = sendLoad({ url: site.url, from: '127.0.0.3', requests, seconds, pace: { clients: 60 } })
    const { outcomes, ...asked } = await asking
    const flooded = outcomes.filter(({ atMs }) => atMs >= calmSeconds * 1_000)
    const little = describeLoad({ ...asked, outcomes: flooded })
    const { perSecond, p99, statuses, failures } = describeLoad(await flood)
    process.stdout.write(
      `${name}: ${perSecond}/s, p99 ${p99} ms, ${JSON.stringify({ statuses, failures })}; ` +
        `the small request: p50 ${little.p50} ms, p99 ${little.p99} ms, ${JSON.stringify(little.statuses)}\n`,
    )
    expect(little).toMatchObject({ statuses: { 200: flooded.length }, failures: {} })
    expect(little.p99).toBeLessThan(Math.max(quickMs, timesAlone * aloneMs))
  })
})
