// Reads from a standby that follows by streaming replication.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { type FaultyProxy, startFaultyProxy } from '../../../support/database/faulty-proxy.ts'
import { type ReplicationPair, startReplicationPair } from '../../../support/database/replication-pair.ts'
import { listMachines } from '../../../support/factories.ts'

const maxLagMs = 3_000
const within = { timeout: 30_000, interval: 50 }

let pair: ReplicationPair
let link: FaultyProxy
let gateway: TestApp
let key: string
/** Reads from the primary alone. */
let primary: TestApp

beforeAll(async () => {
  pair = await startReplicationPair()
  link = await startFaultyProxy(pair.standbyUrl)
  gateway = await startApp({ databaseUrl: pair.primaryUrl, replica: { url: link.url, maxLagMs } })
  key = await gateway.newKey()
  primary = await startApp({ databaseUrl: pair.primaryUrl })
  await listMachines(gateway.operations, [{}])
  await pair.waitUntilCaughtUp()
})

afterAll(async () => {
  await gateway.close()
  await primary.close()
  link.close()
  await pair.close()
})

type Answer = { data?: Record<string, unknown>; extensions?: { staleness?: { seconds: number } } }
const post = (path: string, body: object) =>
  gateway.fetch(
    new Request(`http://berth.test${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
const ask = async (query: string) => (await (await post('/graphql', { query })).json()) as Answer
const grant = () => gateway.operations.accounts.grantCredit('renter-1@example.com', { amountNanos: 1n })
const get = (path: string) =>
  gateway.fetch(new Request(`http://berth.test/api/v0${path}`, { headers: { authorization: `Bearer ${key}` } }))
const page = 'nodes { id } pageInfo { endCursor }'
const readEvents = async (after: string) => {
  const { data, extensions } = await ask(`{ events(first: 5, after: "${after}") { ${page} } }`)
  const { nodes, pageInfo } = (data as Record<string, unknown>)['events'] as {
    nodes: { id: string }[]
    pageInfo: { endCursor: string }
  }
  return { ids: nodes.map(({ id }) => id), cursor: pageInfo.endCursor, staleness: extensions?.staleness }
}
/** By the primary. */
const eventsOf = async (page: string) =>
  (await primary.graphql(key, `{ events(${page}) { nodes { id } pageInfo { endCursor } } }`)).data?.events
const newestCursor = async (): Promise<string> => (await eventsOf('last: 1')).pageInfo.endCursor

describe('a read that may be stale', () => {
  it.each([
    '{ offers(first: 1) { totalCount nodes { id } } }',
    '{ events { nodes { id } } }',
    '{ viewer { account { usage { cost } } } }',
  ])('comes from a standby, and says how old it may be: %s', async query => {
    await expect.poll(async () => (await ask(query)).extensions?.staleness?.seconds, within).toBeLessThanOrEqual(3)
  })

  it('does so over REST', async () => {
    const ages = async () => [
      (await get('/audit_logs/')).headers.get('age'),
      (await post('/api/v0/bundles/', { limit: 1 })).headers.get('age'),
    ]
    await expect.poll(ages, within).toEqual([expect.stringMatching(/^[0-3]$/), expect.stringMatching(/^[0-3]$/)])
  })

  it('comes from the primary in a request that changes something, and in all other services', async () => {
    await expect
      .poll(async () => (await ask('{ events { nodes { id } } }')).extensions?.staleness, within)
      .toBeDefined()
    const mutation =
      'mutation { createTemplate(input: { name: "a", image: "b" }) { ... on CreateTemplateSuccess { template { id } } } }'
    expect((await ask(mutation)).extensions?.staleness).toBe(undefined)
    expect((await ask('{ viewer { account { credit } } }')).extensions?.staleness).toBe(undefined)
    expect((await get('/instances/')).headers.get('age')).toBe(null)
  })

  it('misses no event and repeats none, whichever server answers each page', async () => {
    let cursor = await newestCursor()
    const start = cursor
    const [read, staleness]: [string[], boolean[]] = [[], []]
    const writing = (async () => {
      for (const _ of Array(60)) await grant()
    })()
    while (read.length < 60) {
      const found = await readEvents(cursor)
      read.push(...found.ids)
      staleness.push(found.staleness !== undefined)
      cursor = found.cursor
      await sleep(5)
    }
    await writing
    const { nodes } = await eventsOf(`first: 100, after: "${start}"`)
    expect(read).toEqual(nodes.map(({ id }: { id: string }) => id))
    expect((await readEvents(start)).ids).toEqual(read.slice(0, 5))
  })

  it('comes from the primary once the standby is too far behind, and for a cursor that is ahead of the standby', async () => {
    const before = await newestCursor()
    await pair.disconnectStandby()
    await grant()
    const ahead = await newestCursor()
    await grant()
    const disconnectedMs = performance.now()
    // The standby has neither of the two events.
    expect(await readEvents(ahead)).toMatchObject({ ids: [expect.any(String)], staleness: undefined })
    const stale = await readEvents(before)
    if (stale.staleness) expect(stale.ids).toEqual([])
    else expect(stale.ids.length).toBe(2)
    await expect.poll(async () => (await readEvents(before)).ids.length, within).toBe(2)
    const newestOf = async () => (await ask('{ events(last: 1) { nodes { id } } }')).extensions?.staleness
    await expect.poll(newestOf, within).toBe(undefined)
    expect(performance.now() - disconnectedMs).toBeLessThan(within.timeout)
    expect(gateway.logLines.filter(({ msg }) => String(msg).startsWith('Replicas are passed over'))).toHaveLength(1)
  })

  it('comes from the primary if the standby does not answer', async () => {
    link.cut()
    for (const _ of Array(5)) {
      const { data, extensions } = await ask('{ events { nodes { id } } }')
      expect(data?.['events']).toBeDefined()
      expect(extensions?.staleness).toBe(undefined)
    }
  })
})
