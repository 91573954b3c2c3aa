// What the traces of requests and of due work have, and what they must not have.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createHttpServer } from '../../../src/http/server.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { someCredit } from '../../support/instances/rentals.ts'
import { childrenOf, type Recorded, recordSpans, spansBelow, textOfSpans, traceOf } from '../../support/spans.ts'
import { openReceiver, type Receiver } from '../../support/webhooks/receiver.ts'

let recorded: Recorded
let app: TestApp
let server: ReturnType<typeof createHttpServer>
let url: string
let key: string

beforeAll(async () => {
  recorded = recordSpans()
  // Two connections for requests, so that they wait for one another.
  app = await startApp({ poolSize: 4, privateWebhooks: true })
  server = createHttpServer(app.fetch, app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  key = await app.newKey(null, someCredit)
})

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await app.close()
  await recorded.stop()
})

beforeEach(() => recorded.forget())

async function send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request
  return (await response.json()) as any
}
const gql = (query: string, variables?: object, headers?: Record<string, string>) =>
  send('POST', '/graphql', { query, variables }, headers)

const roots = () => recorded.spans().filter(({ parentSpanContext }) => parentSpanContext === undefined)

/** The spans of requests, which end right after their answers. */
async function requests(name: string, count = 1): Promise<ReadableSpan[]> {
  const found = () => recorded.spans().filter(span => span.kind === SpanKind.SERVER && span.name === name)
  await expect.poll(() => found().length).toBe(count)
  return found()
}

async function newOffers(count: number): Promise<string[]> {
  await listMachines(app.operations, Array(count).fill({}))
  const rows = await app.sql('SELECT id FROM offers WHERE rentable ORDER BY id DESC LIMIT $1', [count])
  return rows.map(row => `off_${(row as { id: string }).id}`)
}

const rentMutation = `mutation Rent($input: RentInstanceInput!) { rentInstance(input: $input) {
  ... on RentInstanceSuccess { instance { id } } ... on Error { code message } } }`
const rent = (offerId: string, more: object = {}) =>
  gql(rentMutation, { input: { offerId, spec: { source: { image: 'ubuntu' }, ...more } } })

const isStatement = ({ attributes }: ReadableSpan) => attributes['db.system.name'] === 'postgresql'

describe('a request over GraphQL', () => {
  it('is a trace: the request, its operation, and their statements', async () => {
    await gql('query Mine { instances(first: 5) { nodes { id } } }')
    const [request] = (await requests('POST /graphql')) as [ReadableSpan]
    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'url.scheme': 'http',
      'url.path': '/graphql',
      'http.route': '/graphql',
      'http.response.status_code': 200,
    })
    expect(roots()).toEqual([request])
    const [operation] = childrenOf(recorded.spans(), request).filter(({ name }) => name === 'query')
    expect(operation?.attributes).toEqual({ 'graphql.operation.type': 'query', 'graphql.operation.name': 'Mine' })
    const statements = spansBelow(recorded.spans(), operation as ReadableSpan).filter(isStatement)
    expect(statements.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^SELECT .*instances/))
    for (const { name, kind, attributes } of statements) {
      expect(kind).toBe(SpanKind.CLIENT)
      expect(attributes).toEqual({ 'db.system.name': 'postgresql', 'db.query.summary': name })
    }
  })

  it('cuts a long name of an operation', async () => {
    await gql(`query ${'A'.repeat(5_000)} { viewer { apiKey { id } } }`)
    const [request] = (await requests('POST /graphql')) as [ReadableSpan]
    const [operation] = childrenOf(recorded.spans(), request).filter(({ name }) => name === 'query')
    expect(operation?.attributes['graphql.operation.name']).toBe('A'.repeat(100))
  })

  it('says in the log which trace it is', async () => {
    await gql('{ viewer { apiKey { id } } }', {}, { 'x-request-id': 'logged' })
    const [request] = (await requests('POST /graphql')) as [ReadableSpan]
    const line = app.logLines.find(({ requestId }) => requestId === 'logged')
    expect(line).toMatchObject({ traceId: traceOf(request) })
  })

  it('keeps its statements apart from those of others that share its connections', async () => {
    const count = 6
    const ask = (index: number) =>
      gql(
        `query Own${index} { instances(first: ${index + 1}) { totalCount nodes { id } } viewer { account { email } } }`,
      )
    await Promise.all(Array.from({ length: count }, (_, index) => ask(index)))
    const all = await requests('POST /graphql', count)
    const spans = recorded.spans()
    for (const request of all) {
      const below = spansBelow(spans, request)
      expect(below.filter(({ name }) => name === 'query')).toHaveLength(1)
      expect(below.filter(isStatement).length).toBeGreaterThan(0)
    }
    // Every span of these traces hangs below its own request.
    const belongs = new Set(all.flatMap(request => [request, ...spansBelow(spans, request)]))
    expect(spans.filter(span => !belongs.has(span))).toEqual([])
  })
})

describe('a request over REST', () => {
  it('has the name of its route, and not the ids in its path', async () => {
    await send('GET', '/api/v0/instances/4711/')
    const [request] = (await requests('GET /api/v0/instances/{id}/')) as [ReadableSpan]
    expect(request.attributes).toMatchObject({
      'http.route': '/api/v0/instances/{id}/',
      'url.path': '/api/v0/instances/4711/',
      'http.response.status_code': 404,
    })
    // A mistake of the client is no failure of the gateway.
    expect(request.status.code).toBe(SpanStatusCode.UNSET)
    expect(childrenOf(recorded.spans(), request).filter(isStatement).length).toBeGreaterThan(0)
  })

  it('has the name of its method alone if there is no route', async () => {
    await send('GET', '/api/v0/nowhere/')
    expect((await requests('GET'))[0]?.attributes).toMatchObject({ 'http.response.status_code': 404 })
  })
})

it('has no trace of what balancers ask', async () => {
  for (const path of ['/health', '/ready']) await send('GET', path)
  await send('GET', '/api/v0/instances/')
  await requests('GET /api/v0/instances/')
  expect(roots()).toHaveLength(1)
})

describe('a trace of a caller', () => {
  const caller = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }

  it('is continued if the SDK reads it from the headers', async () => {
    await gql('{ viewer { apiKey { id } } }', {}, { traceparent: `00-${caller.trace}-${caller.span}-01` })
    const [request] = (await requests('POST /graphql')) as [ReadableSpan]
    expect(traceOf(request)).toBe(caller.trace)
    expect(request.parentSpanContext?.spanId).toBe(caller.span)
  })

  it('is none if it is malformed', async () => {
    await gql('{ viewer { apiKey { id } } }', {}, { traceparent: `00-${caller.trace}-zz-01` })
    expect(traceOf((await requests('POST /graphql'))[0] as ReadableSpan)).not.toBe(caller.trace)
  })
})

describe('a rental', () => {
  it('leads from the request to the pass that carries it out, and to the calls of its machine', async () => {
    const [offer] = (await newOffers(1)) as [string]
    recorded.forget()
    const { data } = await rent(offer)
    const id = data.rentInstance.instance.id.replace('ins_', '')
    const [request] = (await requests('POST /graphql')) as [ReadableSpan]
    await app.runUntilIdle()
    const passes = recorded.spans().filter(({ name }) => name === 'due instances')
    const [pass] = passes.filter(({ attributes }) => attributes['berth.instance.id'] === id) as [ReadableSpan]
    expect(pass.parentSpanContext).toBeUndefined()
    expect(new Set(pass.links.map(({ context }) => context.traceId))).toEqual(new Set([traceOf(request)]))
    const below = spansBelow(recorded.spans(), pass)
    const calls = below.filter(({ name }) => name.startsWith('simulated '))
    expect(calls.map(({ name }) => name)).toEqual(expect.arrayContaining(['simulated observe', 'simulated ensure']))
    for (const { kind, attributes } of calls) {
      expect(kind).toBe(SpanKind.CLIENT)
      expect(attributes).toEqual({ 'berth.machine.id': pass.attributes['berth.machine.id'] })
    }
    expect(below.filter(isStatement).map(({ name }) => name)).toContainEqual(expect.stringContaining('instance_looks'))
  })

  it('is written in its own trace, or in a batch that has a link to it', async () => {
    const offers = await newOffers(4)
    recorded.forget()
    await Promise.all(offers.map(offer => rent(offer)))
    const all = await requests('POST /graphql', 4)
    const spans = recorded.spans()
    const writes = ({ name }: ReadableSpan) => name.includes('INSERT instances')
    const batches = spans.filter(span => span.name === 'batch' && spansBelow(spans, span).some(writes))
    const traces = [
      ...spans.filter(writes).map(traceOf),
      ...batches.flatMap(({ links }) => links.map(({ context }) => context.traceId)),
    ]
    expect(traces.toSorted()).toEqual(all.map(traceOf).toSorted())
  })
})

describe('a stream', () => {
  // The second path is answered by Yoga.
  it.each(['/graphql', '/graphql/'])('at %s ends its trace when it has begun', async path => {
    const closing = new AbortController()
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      signal: closing.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription Watch { events { cursor } }' }),
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    const [request] = (await requests('POST /graphql')) as [ReadableSpan]
    expect(childrenOf(recorded.spans(), request).map(({ name }) => name)).toContain('subscription')
    recorded.forget()
    const [offer] = (await newOffers(1)) as [string]
    await rent(offer)
    let text = ''
    while (!text.includes('"cursor"')) text += new TextDecoder().decode((await reader.read()).value)
    closing.abort()
    await expect.poll(() => app.countStreams()).toBe(0)
    expect(recorded.spans().filter(span => traceOf(span) === traceOf(request))).toEqual([])
  })
})

describe('a delivery to a webhook', () => {
  let receiver: Receiver
  beforeEach(async () => {
    receiver = await openReceiver()
    return () => receiver.close()
  })

  it('tells the receiver nothing of the trace, and the trace nothing of the receiver', async () => {
    const path = 'a-secret-path'
    const input = { url: `${receiver.url}/${path}`, kinds: ['TEMPLATE_CREATED'] }
    await gql('mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { __typename } }', { input })
    await gql('mutation { createTemplate(input: { name: "traced", image: "ubuntu" }) { __typename } }')
    await requests('POST /graphql', 2)
    await app.runUntilIdle()
    await app.runUntilIdle()
    expect(receiver.received.map(({ path }) => path)).toEqual([`/${path}`])
    expect(receiver.received[0]?.headers).not.toHaveProperty('traceparent')
    const [due] = recorded.spans().filter(({ name }) => name === 'due webhooks') as [ReadableSpan]
    const [sent] = childrenOf(recorded.spans(), due).filter(({ name }) => name === 'POST')
    expect(sent?.attributes).toEqual({ 'http.request.method': 'POST', 'http.response.status_code': 204 })
    expect(textOfSpans(recorded.spans())).not.toMatch(/a-secret-path|127\.0\.0\.1/)
  })
})

it('says nothing of what clients send', async () => {
  const [offer] = (await newOffers(1)) as [string]
  const env = [{ name: 'TOKEN', value: 'canary-value', secret: true }]
  await rent(offer, { env, onStart: 'echo canary-start', registry: { host: 'r', username: 'u', password: 'canary-p' } })
  await gql('{ instance(id: "ins_canary-id") { id } }')
  await gql('{ canary-syntax ')
  await send('GET', '/api/v0/users/current/?api_key=canary-key', undefined, { authorization: '' })
  await send('PUT', '/api/v0/asks/1/', { image: 'canary-image', env: { '-x': 'canary-flag' } })
  await send('GET', '/api/v0/instances/', undefined, { 'user-agent': 'canary-agent', cookie: 'canary-cookie' })
  await requests('GET /api/v0/instances/')
  await app.runUntilIdle()
  const text = textOfSpans(recorded.spans())
  expect(text).toContain('PUT /api/v0/asks/{id}/')
  expect(text).not.toMatch(/canary|berth_\w+_|@example\.com|127\.0\.0\.1/)
})

it('marks a pass as failed that is tried again', async () => {
  const [offer] = (await newOffers(1)) as [string]
  await app.sql(`ALTER TABLE instances ADD CONSTRAINT no_loading CHECK (status <> 'loading') NOT VALID`)
  const { data } = await rent(offer)
  const id = data.rentInstance.instance.id.replace('ins_', '')
  await app.runUntilIdle()
  await app.sql('ALTER TABLE instances DROP CONSTRAINT no_loading')
  const passes = recorded.spans().filter(({ attributes }) => attributes['berth.instance.id'] === id)
  expect(passes.map(({ status }) => status.code)).toContain(SpanStatusCode.ERROR)
  expect(passes.map(({ attributes }) => attributes['error.type'])).toContain('23514')
})

it('says what kind of error a statement had, and not its message', async () => {
  await app.sql('ALTER TABLE templates ADD CONSTRAINT no_canary CHECK (name <> $$canary-row$$)')
  await gql('mutation { createTemplate(input: { name: "canary-row", image: "ubuntu" }) { __typename } }')
  await requests('POST /graphql')
  const failed = recorded.spans().filter(({ status }) => status.code === SpanStatusCode.ERROR)
  expect(failed.filter(isStatement).map(({ attributes }) => attributes['error.type'])).toEqual(['23514'])
  expect(textOfSpans(recorded.spans())).not.toMatch(/canary|no_canary/)
})
