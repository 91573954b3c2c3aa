// A thousand subscribers of one gateway, over real sockets: each receives every change once, and no memory leaks.

import { type Client, createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startApp, type TestApp } from '../../support/app.ts'
import { rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { measureMemory } from '../../support/memory.ts'
import {
  changesOnly,
  fetchWithoutPool,
  type Subscription,
  serveApp,
  subscribeSse,
  subscribeWebSocket,
} from '../../support/streams.ts'

const [renters, streamsEach, rounds] = [40, 25, 10]
/** Streams of each renter over SSE. The renter's other streams share one WebSocket. */
const sseStreams = 13
/** What all streams may hold while nothing happens. */
const maxOpenBytes = 36_000_000

let app: TestApp
let server: Awaited<ReturnType<typeof serveApp>>
const rented: { key: string; id: number; client: Client }[] = []

beforeAll(async () => {
  app = await startApp({ poolSize: 10 })
  server = await serveApp(app)
  const url = `${server.url.replace('http', 'ws')}/graphql`
  const rentals = rentalsOf(app)
  for (let n = 1; n <= renters; n += 1) {
    const key = await app.newKey(null, someCredit)
    const connectionParams = { authorization: `Bearer ${key}` }
    const client = createClient({ url, connectionParams, webSocketImpl: WebSocket, retryAttempts: 0 })
    rented.push({ key, client, id: await rentals.rent(key, { label: 'round 0' }) })
  }
})

afterAll(async () => {
  for (const { client } of rented) await client.dispose()
  await server.close()
  await app.close()
})

type SubscriptionKind = {
  query: (id: number) => string
  labelOf: (data: never) => string | null
  initialLabels: string[]
}
const kinds: [string, SubscriptionKind][] = [
  [
    'events',
    {
      query: id =>
        `subscription { events(filter: { subjectIds: ["ins_${id}"] }) { cursor node { kind changes { after } } } }`,
      labelOf: ({ events }: { events: { node: { changes: [{ after: string }] } } }) => events.node.changes[0].after,
      initialLabels: [],
    },
  ],
  [
    'instanceChanges',
    {
      query: id =>
        `subscription { instanceChanges(filter: { ids: ["${id}"] }) {
          ... on InstanceChange { kind instance { label status pricePerHour } } } }`,
      labelOf: ({ instanceChanges }: { instanceChanges: { instance: { label: string } } }) =>
        instanceChanges.instance.label,
      initialLabels: ['round 0'],
    },
  ],
]

describe.each(kinds)('a thousand subscribers to %s', (name, { query, labelOf, initialLabels }) => {
  it('receive each change once, in little time and memory', async () => {
    const label = (text: string) =>
      Promise.all(rented.map(({ key, id }) => app.rest(key, 'PUT', `/instances/${id}/`, { label: text })))
    await label('round 0')
    const base = measureMemory()
    const streams: Omit<Subscription, 'status'>[] = []
    for (const { key, id, client } of rented) {
      const sse = () => subscribeSse(fetchWithoutPool, key, query(id), { url: `${server.url}/graphql` })
      streams.push(...(await Promise.all(Array.from({ length: sseStreams }, sse))))
      for (let n = sseStreams; n < streamsEach; n += 1) streams.push(subscribeWebSocket(client, query(id)))
    }
    await expect.poll(() => app.countStreams(), { timeout: 30_000 }).toBe(renters * streamsEach)
    const receivedLabels = streams.map(() => [] as (string | null)[])
    const reading = streams.map(changesOnly).map(async (stream, index) => {
      for (let result = await stream.next(); result; result = await stream.next()) {
        expect(result.errors).toBeUndefined()
        receivedLabels[index]?.push(labelOf(result.data as never))
      }
    })
    const countArrived = (text: string) => () => receivedLabels.filter(labels => labels.at(-1) === text).length
    const all = { timeout: 60_000, interval: 5 }
    if (initialLabels.length > 0) await expect.poll(countArrived('round 0'), all).toBe(streams.length)

    const memoryReadings = [measureMemory()]
    const times: number[] = []
    for (let round = 1; round <= rounds; round += 1) {
      const start = performance.now()
      await label(`round ${round}`)
      await expect.poll(countArrived(`round ${round}`), all).toBe(streams.length)
      times.push(performance.now() - start)
      memoryReadings.push(measureMemory())
    }
    const expectedLabels = [...initialLabels, ...Array.from({ length: rounds }, (_, index) => `round ${index + 1}`)]
    expect(receivedLabels.filter(labels => labels.join() !== expectedLabels.join())).toEqual([])

    for (const stream of streams) await stream.close()
    await Promise.all(reading.map(end => end.catch(() => {})))
    await expect.poll(() => app.countStreams(), { timeout: 30_000 }).toBe(0)
    const mb = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`
    const messages = receivedLabels.flat().length
    const ms = times.reduce((sum, time) => sum + time)
    const [opened = 0, one = 0] = memoryReadings
    process.stdout.write(
      `${name}: ${streams.length} subscribers, ${messages} messages in ${(ms / 1000).toFixed(1)} s ` +
        `(a round of ${renters} changes: ${Math.round(Math.min(...times))} to ${Math.round(Math.max(...times))} ms); ` +
        `held before ${mb(base)}, with all open ${mb(opened)}, after round 1 ${mb(one)}, ` +
        `after round ${rounds} ${mb(memoryReadings.at(-1) ?? 0)}, after closing ${mb(measureMemory())}\n`,
    )
    // With the clients' side, which runs in this process, too.
    expect(opened - base).toBeLessThan(maxOpenBytes)
    // The first round leaves data behind, such as prepared statements. Later rounds must not.
    expect((memoryReadings.at(-1) ?? 0) - one).toBeLessThan(5_000_000)
  })
})
