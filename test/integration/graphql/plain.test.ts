// Plain requests get the answers that Yoga gives. `/graphql/` is the same endpoint, where no request is plain.

import { once } from 'node:events'
import { type IncomingMessage, request as startRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxBodyBytes } from '../../../src/http/body.ts'
import type { PlainFetch } from '../../../src/http/plain.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'
import { withSession } from '../../support/database/sessions.ts'

let app: TestApp
let server: ReturnType<typeof createHttpServer>
let port: number
let key: string
/** A key that may do nothing. */
let powerless: string
let plainAnswers = 0

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  powerless = await app.newScopedKey(key, { api: {} })
  const plain: PlainFetch = async (path, request) => {
    const result = await app.plain(path, request)
    plainAnswers += Number('answer' in result)
    return result
  }
  server = createHttpServer(app.fetch, { plain }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})

afterAll(async () => {
  server.close()
  await app.close()
})

type Sent = { key?: string | null; headers?: Record<string, string>; body: unknown }
type Answer = { status: number | undefined; headers: Record<string, unknown>; body: string; isPlain: boolean }

async function send(path: string, sent: Sent): Promise<Answer> {
  const body = sent.body instanceof Buffer ? sent.body : Buffer.from(textOf(sent.body))
  const authorization = sent.key === null ? {} : { authorization: `Bearer ${sent.key ?? key}` }
  const headers = {
    'content-type': 'application/json',
    ...authorization,
    'content-length': body.byteLength,
    'x-request-id': 'asked-for',
    ...sent.headers,
  }
  const before = plainAnswers
  const request = startRequest({ port, path, method: 'POST', headers, agent: false })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  const { date: _, 'keep-alive': __, 'transfer-encoding': ___, 'content-length': ____, ...answered } = response.headers
  return {
    status: response.statusCode,
    headers: answered,
    body: Buffer.concat(chunks).toString(),
    isPlain: plainAnswers > before,
  }
}

/** The answer, with the statements that identify and answer: a remembered key makes fewer. */
async function sendAndCapture(path: string, sent: Sent): Promise<[Answer, unknown[]]> {
  const answers: Answer[] = []
  const statements = await captureStatements(async () => void answers.push(await send(path, sent)))
  return [answers[0] as Answer, statements.filter(({ text }) => !/last_used_at/.test(text))]
}

const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body))

/** Sends the request both ways and expects equal answers. Returns whether the plain way answered it. */
async function expectEqualAnswers(sent: Sent): Promise<boolean> {
  const [{ isPlain, ...answer }, statements] = await sendAndCapture('/graphql', sent)
  const [{ isPlain: never, ...other }, statementsOfYoga] = await sendAndCapture('/graphql/', sent)
  expect(answer).toEqual(other)
  expect(statements.length).toBeLessThanOrEqual(statementsOfYoga.length)
  expect(never).toBe(false)
  return isPlain
}

const viewer = '{ viewer { account { id email } } }'
const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })

describe('a plain request', () => {
  it.each<[string, Sent]>([
    ['that reads', { body: { query: viewer } }],
    ['with variables', { body: { query: 'query ($id: ID!) { offer(id: $id) { id } }', variables: { id: 'off_1' } } }],
    ['with null variables and operation name', { body: { query: viewer, variables: null, operationName: null } }],
    ['that names its operation', { body: { query: `query A ${viewer} query B { __typename }`, operationName: 'B' } }],
    ['that writes', { body: { query: 'mutation { deleteSecretVariables(input: {names: ["NONE"]}) { __typename } }' } }],
    ['that may do nothing', { key: () => powerless, body: { query: '{ instances { totalCount } }' } } as never],
    ['with an answer and a refusal', { body: { query: '{ __typename offer(id: "not an id") { id } }' } }],
    ['whose variable is missing', { body: { query: 'query ($id: ID!) { offer(id: $id) { id } }' } }],
    [
      'whose variable has another type',
      { body: { query: 'query ($n: Int) { events(first: $n) { nodes { id } } }', variables: { n: 'x' } } },
    ],
    [
      'that costs too much',
      {
        body: {
          query: `{ ${[...'abcdefghij'].map(name => `${name}: events(first: 100) { nodes { changes { field } } }`).join(' ')} }`,
        },
      },
    ],
    ['that does not parse', { body: { query: '{' } }],
    ['that is not valid', { body: { query: '{ nothing }' } }],
    ['that is not valid, for a stream', { headers: { accept: 'text/event-stream' }, body: { query: '{ nothing }' } }],
    [
      'that is not valid, for a client that takes 4xx',
      { headers: { accept: 'application/graphql-response+json' }, body: { query: '{ nothing }' } },
    ],
    ['that is too large', { body: { query: `{ ${'__typename '.repeat(1_001)} }` } }],
    ['that repeats a field', { body: { query: `{ ${'__typename '.repeat(21)} }` } }],
    ['with a cycle of fragments', { body: { query: '{ ...F } fragment F on Query { ...F }' } }],
    ['with an unknown operation', { body: { query: viewer, operationName: 'Missing' } }],
    ['with an unknown operation that is not valid', { body: { query: '{ nothing }', operationName: 'Missing' } }],
    ['with two operations and no name', { body: { query: `query A ${viewer} query B ${viewer}` } }],
    ['with deep variables', { body: { query: viewer, variables: deep(100) } }],
    ['without a key', { key: null, body: { query: viewer } }],
    ['with an invalid key', { key: 'berth_x', body: { query: viewer } }],
    ['with an unknown key', { key: `berth_unknown00001_${'x'.repeat(40)}`, body: { query: viewer } }],
    ['with an unknown key, that writes', { key: 'berth_x', body: { query: 'mutation { a }' } }],
    ['that introspects', { body: { query: '{ __schema { queryType { name } } }' } }],
    [
      'with another charset parameter',
      { headers: { 'content-type': 'application/json; charset=UTF-8' }, body: { query: viewer } },
    ],
    ['with letters beyond ASCII', { body: { query: viewer, variables: { note: 'größer 漢字 🚢' } } }],
  ])('%s is answered as by Yoga', async (_name, { key, ...sent }) => {
    const chosen = typeof key === 'function' ? (key as () => string)() : key
    expect(await expectEqualAnswers({ ...sent, ...(chosen && { key: chosen }) })).toBe(true)
    expect(await expectEqualAnswers({ ...sent, ...(chosen && { key: chosen }) })).toBe(true)
  })

  it('costs what its variables ask for, each time its text is sent', async () => {
    const query = 'query ($n: Int) { events(first: $n) { nodes { id } } }'
    const costs: number[] = []
    for (const n of [1, 100, 1]) {
      expect(await expectEqualAnswers({ body: { query, variables: { n } } })).toBe(true)
      costs.push(
        JSON.parse((await send('/graphql', { body: { query, variables: { n } } })).body).extensions.cost.requested,
      )
    }
    expect(costs).toEqual([3, 102, 3])
  })

  it('gets each media type that Yoga gives for an Accept header', async () => {
    const type = fc.constantFrom(
      ...['application/json', 'application/graphql-response+json', 'application/*', '*/*', 'text/html', 'image/*'],
      ...['text/event-stream', 'multipart/mixed', 'application/graphql+json', 'APPLICATION/JSON', '', 'json'],
    )
    const parameter = fc.constantFrom('', '', '', ';q=0.9', '; q=0', ';charset=utf-8', ';charset=latin1', ';v=1')
    const accept = fc.array(fc.tuple(type, parameter), { minLength: 1, maxLength: 4 })
    let plain = 0
    await fc.assert(
      fc.asyncProperty(accept, async parts => {
        const headers = { accept: parts.map(part => part.join('')).join(', ') }
        plain += Number(await expectEqualAnswers({ headers, body: { query: '{ __typename }' } }))
      }),
      { numRuns: 150 },
    )
    expect(plain).toBeGreaterThan(10)
  })

  it('is logged, counted and given an id', async () => {
    app.logLines.length = 0
    const { headers, isPlain } = await send('/graphql', { body: { query: '{ __typename }' } })
    expect(isPlain).toBe(true)
    expect(headers).toMatchObject({ 'x-request-id': 'asked-for', 'x-content-type-options': 'nosniff' })
    expect(app.logLines).toMatchObject([{ requestId: 'asked-for', method: 'POST', path: '/graphql', status: 200 }])
  })
})

describe('a request that is not plain', () => {
  it.each<[string, Sent]>([
    ['that begins with a byte order mark', { body: `\ufeff${JSON.stringify({ query: viewer })}` }],
    ['that subscribes', { body: { query: 'subscription { events { cursor } }' } }],
    ['without a query', { body: {} }],
    ['with an unknown parameter', { body: { query: viewer, more: 1 } }],
    ['with extensions', { body: { query: viewer, extensions: {} } }],
    ['with a list of operations', { body: [{ query: viewer }] }],
    ['with variables in a list', { body: { query: viewer, variables: [] } }],
    ['with variables in a text', { body: { query: viewer, variables: '{}' } }],
    ['with a number as operation name', { body: { query: viewer, operationName: 1 } }],
    ['without JSON', { body: 'query' }],
    ['without a body', { body: '' }],
    ['that is not UTF-8', { body: Buffer.from([0x7b, 0xff, 0x7d]) }],
    ['that is too large', { body: { query: viewer, variables: { text: 'x'.repeat(maxBodyBytes) } } }],
    ['with another content type', { headers: { 'content-type': 'application/graphql' }, body: viewer }],
    [
      'with another charset',
      { headers: { 'content-type': 'application/json; charset=latin1' }, body: { query: viewer } },
    ],
    ['that is compressed', { headers: { 'content-encoding': 'gzip' }, body: { query: viewer } }],
  ])('%s is left to Yoga', async (_name, sent) => {
    expect(await expectEqualAnswers(sent)).toBe(false)
    expect(await expectEqualAnswers(sent)).toBe(false)
  })
})

describe.each(['/graphql', '/graphql/'])('a client of %s that sends half of its body', path => {
  const startHalf = (key: string | undefined) => {
    const headers = {
      ...{ 'content-type': 'application/json', 'content-length': 1_000, 'x-request-id': 'half' },
      ...(key && { authorization: `Bearer ${key}` }),
    }
    const request = startRequest({ port, path, method: 'POST', headers, agent: false })
    request.write('{')
    return request
  }

  it('is refused without a key, before it sends the rest', async () => {
    const request = startHalf(undefined)
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response.statusCode).toBe(401)
    request.destroy()
  })

  it('leaves one line with the status 499 if it disconnects', async () => {
    app.logLines.length = 0
    const request = startHalf(key)
    request.on('error', () => {})
    await sleep(100)
    request.destroy()
    await expect.poll(() => app.logLines).toMatchObject([{ level: 30, requestId: 'half', status: 499 }])
  })
})

describe.each(['/graphql', '/graphql/'])('a client of %s that disconnects while its key is read', path => {
  it.each([
    ['after half of its body', '{', 1_000],
    ['after its body', JSON.stringify({ query: 'subscription { events { cursor } } # mutation' }), undefined],
  ])('%s leaves one line with the status 499, and no stream', async (_, body, length) => {
    app.logLines.length = 0
    const headers = {
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'x-request-id': 'gone' },
      ...{ 'content-length': length ?? body.length, authorization: `Bearer ${await app.newKey()}` },
    }
    await withSession(app.database.url, async session => {
      await session.query('BEGIN; LOCK TABLE api_keys')
      const request = startRequest({ port, path, method: 'POST', headers, agent: false })
      request.on('error', () => {})
      request.write(body)
      await sleep(100)
      request.destroy()
      await sleep(50)
      await session.query('COMMIT')
    })
    await expect.poll(() => app.logLines).toMatchObject([{ level: 30, requestId: 'gone', status: 499 }])
    await sleep(50)
    expect(app.countStreams()).toBe(0)
  })
})

it('does not make a large body larger when it leaves the request to Yoga', async () => {
  const arrived = once(server, 'request')
  await send('/graphql', { body: 'x'.repeat(maxBodyBytes) })
  const [request] = (await arrived) as [IncomingMessage & { body?: object }]
  // The adapter of fetch objects makes a text of each key.
  expect(Object.keys(request.body ?? {}).length).toBeGreaterThan(0)
  expect(Object.keys(request.body ?? {}).length).toBeLessThan(50)
})

it('runs a mutation only once', async () => {
  const mutation =
    'mutation { createSpendLimit(input: {subject: {account: true}, window: DAY, amount: "1"}) { __typename } }'
  const count = async () =>
    Number(((await app.sql('SELECT count(*) FROM spend_limits')) as { count: string }[])[0]?.count)
  const before = await count()
  expect((await send('/graphql', { body: { query: mutation } })).isPlain).toBe(true)
  expect(await count()).toBe(before + 1)
  expect((await send('/graphql', { key: powerless, body: { query: mutation } })).isPlain).toBe(true)
  expect(await count()).toBe(before + 1)
})

describe('GraphQL over HTTP, as plain requests', () => {
  const audits = serverAudits({
    url: () => `http://127.0.0.1:${port}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: { ...(init.headers as object), authorization: `Bearer ${key}` } }),
  })

  it.each(audits.map(audit => [audit.id, audit.name, audit] as const))('%s %s', async (_id, _name, audit) => {
    expect((await audit.fn()).status).toBe('ok')
  })
})
