import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Client, createClient } from 'graphql-ws'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type GatewayProcess, makeDataDir, startGateway, stopProgram } from '../support/processes/programs.ts'
import { changesOnly, type Subscription, subscribeSse, subscribeWebSocket } from '../support/streams.ts'

let dataFolder: Awaited<ReturnType<typeof makeDataDir>>
let gateway: GatewayProcess
let key: string
let client: Client

beforeAll(async () => {
  dataFolder = await makeDataDir()
})

beforeEach(async () => {
  // With NODE_ENV "test", the GraphQL server sends comments more often than in production.
  const NODE_ENV = 'production'
  gateway = await startGateway({ BERTH_DATA_DIR: dataFolder.dataDir, SIMULATED_DELAY: '0.1', NODE_ENV })
  key = readFileSync(join(dataFolder.dataDir, 'demo-key'), 'utf8').trim()
  const connectionParams = { authorization: `Bearer ${key}` }
  const url = `${gateway.url.replace('http', 'ws')}/graphql`
  client = createClient({ url, connectionParams, webSocketImpl: WebSocket, retryAttempts: 0 })
})

afterEach(async () => {
  await client.dispose()
  if (gateway.child.exitCode === null) await stopProgram(gateway)
})

afterAll(() => dataFolder.remove())

const transports: [string, (query: string) => Promise<Omit<Subscription, 'status'>>][] = [
  ['Server-Sent Events', query => subscribeSse(fetch, key, query, { url: `${gateway.url}/graphql` })],
  ['a WebSocket', async query => subscribeWebSocket(client, query)],
]

async function ask(query: string) {
  const response = await fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the kind depends on the query
  return ((await response.json()) as any).data
}

it('keeps idle streams alive through proxies by sending data every 15 seconds', async () => {
  const { port } = new URL(gateway.url)
  const query = encodeURIComponent('subscription { events { cursor } }')
  const head = [`GET /graphql?query=${query} HTTP/1.1`, 'Host: berth', 'Accept: text/event-stream']
  const sse = connect(Number(port), '127.0.0.1').setEncoding('utf8')
  const received: { text: string; at: number }[] = []
  sse.on('data', text => received.push({ text: String(text), at: performance.now() }))
  const start = performance.now()
  sse.write(`${head.join('\r\n')}\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  const ws = new WebSocket(`${gateway.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws', {
    headers: { authorization: `Bearer ${key}` },
  })
  ws.on('open', () => ws.send('{"type":"connection_init"}'))
  const pinged = once(ws, 'ping').then(() => performance.now())
  const comments = () => received.filter(({ text }) => /(^|\n):\r?\n/.test(text))
  await expect.poll(comments, { timeout: 16_000 }).toHaveLength(2)
  const [first, second] = comments()
  // A proxy forwards nothing before the answer begins.
  expect((first?.at ?? 0) - start).toBeLessThan(2_000)
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(15_000)
  expect((await pinged) - start).toBeLessThan(15_000)
  expect(received[0]?.text.toLowerCase()).toMatch(/^http\/1\.1 200 ok\r\n(.*\r\n)?x-accel-buffering: no\r\n/s)
  sse.destroy()
  ws.terminate()
})

describe.each(transports)('a running gateway, over %s', (_name, subscribe) => {
  it('streams a rental from start to end, and ends its streams when it stops', async () => {
    await ask('mutation { createTemplate(input: { name: "before", image: "ubuntu" }) { __typename } }')
    const { events: before } = await ask('{ events(last: 1) { pageInfo { endCursor } } }')
    const after = before.pageInfo.endCursor
    const events = await subscribe(
      `subscription { events(after: "${after}") { cursor node { kind subjectId status } } }`,
    )
    const { offers } = await ask('{ offers(first: 1) { nodes { id } } }')
    const { rentInstance } = await ask(
      `mutation { rentInstance(input: { offerId: "${offers.nodes[0].id}", spec: { source: { image: "ubuntu" } } }) {
        ... on RentInstanceSuccess { instance { id } } } }`,
    )
    const { id } = rentInstance.instance
    const watched = changesOnly(
      await subscribe(
        `subscription { instanceChanges(filter: { ids: ["${id}"] }) { ... on InstanceChange { instance { status } } } }`,
      ),
    )
    const seen: string[] = []
    while (seen.at(-1) !== 'RUNNING') seen.push((await watched.next())?.data.instanceChanges.instance.status)
    const order = ['CREATED', 'SCHEDULING', 'LOADING', 'RUNNING']
    expect(seen).toEqual(seen.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)))

    await ask(`mutation { destroyInstances(input: { target: { ids: ["${id}"] } }) { __typename } }`)
    while (seen.at(-1) !== 'DESTROYED') seen.push((await watched.next())?.data.instanceChanges.instance.status)

    const eventStatuses: string[] = []
    while (eventStatuses.at(-1) !== 'INSTANCE_REMOVED') {
      const { node } = (await events.next())?.data.events ?? {}
      expect(node.subjectId).toBe(id)
      eventStatuses.push(node.kind === 'INSTANCE_STATUS_CHANGED' ? node.status : node.kind)
    }
    const steps = eventStatuses.filter((step, index) => step !== eventStatuses[index - 1])
    expect(steps.slice(0, 4)).toEqual(['INSTANCE_CREATED', 'INSTANCE_GRANTED', 'LOADING', 'RUNNING'])

    const ending = Promise.all([events.readToEnd(), watched.readToEnd()])
    const start = performance.now()
    expect(await stopProgram(gateway)).toBe(0)
    expect(performance.now() - start).toBeLessThan(5_000)
    const stopped = { errors: [{ extensions: { code: 'STREAM_ENDED', reason: 'GATEWAY_STOPS' } }] }
    const [lastEvents, lastChanges] = await ending
    expect([lastEvents, lastChanges.at(-1)]).toMatchObject([[stopped], stopped])
  })
})
