// Subscriptions as plain requests get the answers that Yoga gives. `/graphql/` is the same endpoint, where no request is plain.

import { once } from 'node:events'
import { type IncomingMessage, request as startRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { streamLimits } from '../../../src/domain/streams.ts'
import type { PlainFetch } from '../../../src/http/plain.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp
let server: ReturnType<typeof createHttpServer>
let port: number
let key: string
let powerless: string
let cursor: string
let plainAnswers = 0

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  powerless = await app.newScopedKey(key, { api: {} })
  const createTemplate = (name: string) =>
    app.graphql(key, `mutation { createTemplate(input: { name: "${name}", image: "ubuntu" }) { __typename } }`)
  for (const name of ['first', 'größer 漢字 🚢']) await createTemplate(name)
  const { data } = await app.graphql(key, '{ events(last: 1) { pageInfo { endCursor } } }')
  cursor = data.events.pageInfo.endCursor
  await createTemplate('third')
  const plain: PlainFetch = async (path, request) => {
    const result = await app.plain(path, request)
    plainAnswers += Number('answer' in result)
    return result
  }
  server = createHttpServer(app.fetch, { plain }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})

const allClosed = () => expect.poll(() => app.countStreams(), { timeout: 5_000 }).toBe(0)
afterEach(allClosed)

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await app.close()
})

type Sent = {
  method: 'GET' | 'POST' | 'HEAD'
  query: string
  variables?: object
  more?: Record<string, string>
  key?: string | null
  headers?: Record<string, string>
}

function start(path: string, { method, query, variables, more, ...sent }: Sent) {
  const parameters = { query, ...more, ...(variables && { variables }) }
  const body = method === 'POST' ? Buffer.from(JSON.stringify(parameters)) : undefined
  const search = body
    ? ''
    : `?${new URLSearchParams({ query, ...more, ...(variables && { variables: JSON.stringify(variables) }) })}`
  const headers = {
    accept: 'text/event-stream',
    ...(sent.key === null ? {} : { authorization: `Bearer ${sent.key ?? key}` }),
    ...(body && { 'content-type': 'application/json', 'content-length': body.byteLength }),
    'x-request-id': 'asked-for',
    ...sent.headers,
  }
  const request = startRequest({ port, path: path + search, method, headers, agent: false })
  request.on('error', () => {})
  request.end(body)
  return request
}

/** The answer: all of it, or for an endless stream as far as its last expected event. */
async function answerTo(path: string, sent: Sent, events: number) {
  app.logLines.length = 0
  const before = plainAnswers
  const request = start(path, sent)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let body = ''
  response.setEncoding('utf8')
  for await (const text of response) {
    body += text
    if (events > 0 && body.split('event: next\n').length > events && body.endsWith('\n\n')) break
  }
  request.destroy()
  const { date: _, 'keep-alive': __, 'transfer-encoding': ___, 'content-length': ____, ...headers } = response.headers
  const log = app.logLines.map(({ time: _, ms: __, path: ___, ...line }) => line)
  return { status: response.statusCode, headers, body, log, isPlain: plainAnswers > before }
}

async function expectEqualAnswers(sent: Sent, events = 0) {
  const { isPlain, ...answer } = await answerTo('/graphql', sent, events)
  const { isPlain: never, ...other } = await answerTo('/graphql/', sent, events)
  expect(answer).toEqual(other)
  expect(never).toBe(false)
  return { isPlain, ...answer }
}

const changes = 'subscription ($after: String) { events(after: $after) { cursor node { kind subjectId } } }'

describe.each(['GET', 'POST'] as const)('a subscription by %s', method => {
  it('is streamed as by Yoga', async () => {
    const sent = { method, query: changes, variables: { after: cursor } }
    const { isPlain, status, headers, body, log } = await expectEqualAnswers(sent, 1)
    expect([isPlain, status]).toEqual([true, 200])
    expect(headers).toEqual({
      ...{ 'content-type': 'text/event-stream', 'content-encoding': 'none', 'x-accel-buffering': 'no' },
      ...{ 'cache-control': 'no-store, no-transform', connection: 'close' },
      ...{ 'x-request-id': 'asked-for', 'x-content-type-options': 'nosniff' },
    })
    expect(body).toMatch(/^:\n\nevent: next\ndata: {"data":{"events":{.*}}}\n\n$/)
    expect(log).toMatchObject([{ requestId: 'asked-for', method, status: 200, msg: 'request' }])
  })

  it.each<[string, Partial<Sent>]>([
    ['for a cursor of no stream', { variables: { after: 'x' } }],
    ['for a variable of another type', { variables: { after: 1 } }],
    ['to a key without the permission', { key: () => powerless } as never],
    ['for an unknown instance of logs', { query: 'subscription { instanceLogs(id: "ins_999999") { text } }' }],
    [
      'that costs too much',
      {
        query: `subscription { instanceChanges { ... on InstanceChange { instance { ${[...'abcdefghij'].map(name => `${name}: events(first: 100) { nodes { changes { field } } }`).join(' ')} } } } }`,
      },
    ],
    ['without a key', { key: null }],
    ['with an unknown key', { key: `berth_unknown00001_${'x'.repeat(40)}` }],
  ])('is refused as by Yoga, %s', async (_name, { key, ...sent }) => {
    const chosen = typeof key === 'function' ? (key as () => string)() : key
    const all = { method, query: changes, ...sent, ...(chosen !== undefined && { key: chosen }) }
    for (const accept of ['text/event-stream', ...(method === 'POST' ? ['text/event-stream, application/json'] : [])])
      expect((await expectEqualAnswers({ ...all, headers: { accept } })).isPlain).toBe(true)
  })

  it.each<[string, Partial<Sent>]>([
    ['that does not parse', { query: 'subscription {' }],
    ['that is not valid', { query: 'subscription { nothing }' }],
    ['with a directive that the schema lacks', { query: 'subscription { events { ... @defer { cursor } } }' }],
    ['with two fields', { query: 'subscription { a: events { cursor } b: events { cursor } }' }],
    ['with an unknown operation name', { more: { operationName: 'Missing' } }],
    ['without a query', { query: '' }],
  ])('%s is refused as by Yoga', async (_name, sent) => {
    // Yoga has other refusals of a GET.
    expect((await expectEqualAnswers({ method, query: changes, ...sent })).isPlain).toBe(method === 'POST')
  })

  it.each<[string, Partial<Sent>]>([
    ['that is a query', { query: '{ __typename }' }],
    ['that is a mutation', { query: 'mutation { deleteSecretVariables(input: {names: ["NONE"]}) { __typename } }' }],
    ['with an Accept header of another charset', { headers: { accept: 'text/event-stream;charset=latin1' } }],
    ['that is compressed', { headers: { 'content-encoding': 'gzip' } }],
  ])('%s is left to Yoga', async (_name, sent) => {
    expect((await expectEqualAnswers({ method, query: changes, ...sent })).isPlain).toBe(false)
  })

  it('is refused as by Yoga to a key with too many streams', async () => {
    const full = await app.newKey()
    const sent = { method, query: changes, key: full }
    const open = Array.from({ length: streamLimits.perKey }, () => start('/graphql', sent))
    await Promise.all(open.map(request => once(request, 'response')))
    const { status, body } = await expectEqualAnswers(sent).finally(() => open.map(request => request.destroy()))
    expect([status, body]).toEqual([429, expect.stringContaining('TOO_MANY_STREAMS')])
  })
})

it('answers HEAD without a stream', async () => {
  const { status, body } = await expectEqualAnswers({ method: 'HEAD', query: changes })
  expect([status, body]).toEqual([200, ''])
})

it('streams over HTTP/1.0, and ends the streams of a connection that sent several requests at once', async () => {
  const path = `/graphql?${new URLSearchParams({ query: changes, variables: JSON.stringify({ after: cursor }) })}`
  const head = `Host: a\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${key}\r\n\r\n`
  const old = connect(port, '127.0.0.1').setEncoding('utf8')
  old.write(`GET ${path} HTTP/1.0\r\n${head}`)
  let text = ''
  for await (const part of old) {
    text += part
    if (text.includes('event: next')) break
  }
  expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n.*connection: close\r\n.*\r\n:\n\nevent: next\n/is)
  expect(text).not.toMatch(/transfer-encoding/i)
  old.destroy()

  const hasty = connect(port, '127.0.0.1')
  hasty.write(`GET ${path} HTTP/1.1\r\n${head}`.repeat(3))
  await expect.poll(() => app.countStreams()).toBe(3)
  hasty.destroy()
  await allClosed()
})
