// The status of each kind of answer, by what the client accepts: the table in docs/graphql.md, and GraphQL over HTTP.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { plainRequest, textOf } from '../../support/plain-request.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
})

afterAll(() => app.close())

type Sent = { body?: unknown; method?: string; search?: string; headers?: Record<string, string> }
const post = (body: unknown, headers: Record<string, string> = {}): Sent => ({ body, headers })
const ask = (query: string, more: object = {}): Sent => post({ query, ...more })
const mediaTypes = ['application/json', 'application/graphql-response+json']

const deep = JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`)

/** Kinds of requests, with the statuses in each media type. */
const answered: [string, Sent, number, number][] = [
  ['runs', ask('{ __typename }'), 200, 200],
  ['runs, but fails in a field', ask('{ offers(first: 0) { totalCount } }'), 200, 200],
  ['runs, but has no data', ask('{ nodes(ids: ["x"]) { id } }'), 200, 200],
  ['does not parse', ask('{'), 200, 400],
  ['has an empty query', ask(''), 200, 400],
  ['is not valid', ask('{ none }'), 200, 400],
  ['is too large', ask(`{ ${'__typename '.repeat(1_001)} }`), 200, 400],
  ['costs too much', ask('{ instances { nodes { logs(tail: 1000) { text } } } }'), 200, 400],
  ['does not name one of its operations', ask('query A { __typename } query B { __typename }'), 200, 400],
  [
    'has a variable of another type',
    ask('query ($n: Int) { offers(first: $n) { totalCount } }', { variables: { n: 'x' } }),
    200,
    400,
  ],
  ['lacks a variable', ask('query ($id: ID!) { offer(id: $id) { id } }'), 200, 400],
  ['has deep variables', ask('{ __typename }', { variables: deep }), 200, 400],
  ['has no query', post({}), 400, 400],
  ['has no query, over GET', { method: 'GET', search: '?query=' }, 400, 400],
  ['is a form, as curl sends', post('{}', { 'content-type': 'application/x-www-form-urlencoded' }), 400, 400],
  ['is no JSON', post('{'), 400, 400],
  ['has a list of variables', ask('{ __typename }', { variables: [7] }), 400, 400],
  ['has a number for a query', post({ query: 1 }), 400, 400],
  ['has a number for an operation name', ask('{ __typename }', { operationName: 1 }), 400, 400],
  ['has an unknown parameter', ask('{ __typename }', { surprise: 1 }), 400, 400],
  ['has no key', post({ query: '{ __typename }' }, { authorization: '' }), 401, 401],
  ['subscribes without a stream', ask('subscription { events { cursor } }'), 406, 406],
  ['mutates over GET', { method: 'GET', search: '?query=mutation{none}' }, 405, 405],
  ['has a body of another type', post({}, { 'content-type': 'text/xml' }), 415, 415],
  ['has a large body', post('x'.repeat(200_000)), 413, 413],
]

describe.each(answered)('a request that %s', (_, sent, ...statuses) => {
  it(`has the statuses ${statuses.join(' and ')}`, async () => {
    for (const [index, accept] of mediaTypes.entries()) {
      const { status, errors } = await send(sent, accept)
      expect([accept, status]).toEqual([accept, statuses[index]])
      if (status !== 200) expect(errors).not.toHaveLength(0)
    }
  })
})

it('is answered as application/json without an Accept header', async () => {
  expect((await send(ask('{ none }'), '*/*')).status).toBe(200)
})

it('says which operations there are, however it was sent', async () => {
  const query = 'query A { __typename } query B { __typename }'
  const message = '"operationName" must name an operation of the document: "A", "B".'
  for (const sent of [ask(query), { method: 'GET', search: `?query=${encodeURIComponent(query)}` }])
    expect((await send(sent, 'application/json')).errors).toMatchObject([{ message }])
})

/** Sends the request as programs do, and to Yoga alone. Expects the same status. */
async function send({ body, method = 'POST', search = '', headers: more }: Sent, accept: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept, ...more }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const init = body === undefined ? { method, headers } : { method, headers, body: text }
  const answer = await app.fetch(new Request(`http://berth.test/graphql${search}`, init))
  const { errors } = await answer.json()
  if (headers['content-type'] === 'application/json' && body !== undefined) {
    const plain = await app.plain('/graphql', plainRequest(headers, text))
    if ('answer' in plain) {
      expect(plain.answer.status).toBe(answer.status)
      expect(JSON.parse(textOf(plain.answer)).errors).toEqual(errors)
    }
  }
  return { status: answer.status, errors }
}
