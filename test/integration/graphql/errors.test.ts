// What every error says, whatever code it has and however it leaves the GraphQL face, and how many errors an answer has.

import { GraphQLError } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { retryAdvice } from '../../../src/domain/retry.ts'
import { nameOf } from '../../../src/graphql/enum.ts'
import { type FaceErrorCode, faceErrors } from '../../../src/graphql/errors/codes.ts'
import { completeError } from '../../../src/graphql/errors/face-errors.ts'
import { maxAnswerBytes } from '../../../src/graphql/limits/answer-size.ts'
import { limitErrors, maxErrorsPerCode } from '../../../src/graphql/limits/error-count.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { openRawSocket, serveApp } from '../../support/streams.ts'

let app: TestApp
let broken: TestApp
let key: string
let brokenKey: string

beforeAll(async () => {
  app = await startApp()
  broken = await startApp()
  key = await app.newKey()
  brokenKey = await broken.newKey()
  for (const name of ['one', 'two', 'three'])
    await app.rest(key, 'POST', '/template/', { name, image: 'ubuntu', readme: 'é'.repeat(40_000), private: true })
  await broken.sql('ALTER TABLE offers RENAME COLUMN price_nanos TO other_column')
})

afterAll(async () => {
  await app.close()
  await broken.close()
})

type Errors = { path?: unknown[]; message: string; extensions: Record<string, unknown> }[]

async function post(body: unknown, headers: Record<string, string> = {}, to = app, by = key): Promise<Errors> {
  const answer = await to.fetch(
    new Request('http://berth.test/graphql', {
      method: 'POST',
      headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  )
  const text = await answer.text()
  return JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text).errors
}

const ask = (query: string, variables?: object) => ({ query, variables })
const expensive = `{ nodes { logs(tail: 1000) { text } } }`
const stream = { accept: 'text/event-stream' }

/** Requests that are answered with each code. */
const provoked: Record<FaceErrorCode, () => Promise<Errors>[]> = {
  BAD_REQUEST: () => [
    post('{'),
    post('[]'),
    post({}),
    post({ query: 1 }),
    post({ query: '{ __typename }', surprise: 1 }),
    post({ query: '{ __typename }' }, { accept: 'text/html' }),
    post({ query: '{ __typename }' }, { 'content-type': 'text/xml' }),
    post('x'.repeat(200_000)),
    post(ask('subscription { events { __typename } }')),
  ],
  GRAPHQL_PARSE_FAILED: () => [post(ask('{')), post(ask('{'), stream)],
  GRAPHQL_VALIDATION_FAILED: () => [
    post(ask('{ none }')),
    post(ask('subscription { none }'), stream),
    post(ask('subscription { events @skip(if: true) { kind } }'), stream),
    post(ask(`{ ${'__typename '.repeat(1_001)} }`)),
  ],
  OPERATION_RESOLUTION_FAILURE: () => [post(ask('query A { __typename } query B { __typename }'))],
  BAD_USER_INPUT: () => [
    post(ask('query ($n: Int) { offers(first: $n) { totalCount } }', { n: 'x' })),
    post(ask('query ($n: DateTime) { viewer { account { usage(startsAt: $n) { cost } } } }', { n: 'x' })),
    post(ask('{ offers(first: 0) { totalCount } }')),
    post({ query: '{ __typename }', variables: JSON.parse(`${'{"a":'.repeat(200)}1${'}'.repeat(200)}`) }),
    post(ask('subscription ($n: Int!) { instanceLogs(id: 1, tail: $n) { text } }', { n: 'x' }), stream),
    post(ask('subscription { instanceLogs(id: "x") { text } }'), stream),
  ],
  COST_LIMIT_EXCEEDED: () => [
    post(ask(`{ instances ${expensive} }`)),
    post(
      ask(
        `subscription { instanceChanges { ... on InstanceChange { instance { logs(tail: 1000) { ${'text '.repeat(11)} } } } } }`,
      ),
      stream,
    ),
  ],
  ANSWER_TOO_LARGE: () => [post(ask(`{ templates { nodes { ${aliases('readme')} } } }`))],
  INTERNAL_SERVER_ERROR: () => [post(ask('{ offers { nodes { id } } }'), {}, broken, brokenKey)],
}
const aliases = (field: string) => Array.from({ length: 30 }, (_, index) => `a${index}: ${field}`).join(' ')

describe('an error of the GraphQL face', () => {
  it.each(Object.keys(faceErrors) as FaceErrorCode[])('says what to do: %s', async code => {
    for (const errors of await Promise.all(provoked[code]())) {
      expect(errors.length).toBeGreaterThan(0)
      for (const { extensions } of errors) expect(extensions).toMatchObject({ code, retry: nameOf(faceErrors[code]) })
    }
  })

  it('says what to do over a WebSocket', async () => {
    const server = await serveApp(app)
    const raw = await openRawSocket(server.url)
    raw.say({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } })
    await expect.poll(() => raw.heard).toHaveLength(1)
    const operations = {
      GRAPHQL_PARSE_FAILED: ask('{'),
      GRAPHQL_VALIDATION_FAILED: ask('{ none }'),
      OPERATION_RESOLUTION_FAILURE: ask('query A { __typename } query B { __typename }'),
      BAD_USER_INPUT: ask('query ($n: Int) { offers(first: $n) { totalCount } }', { n: 'x' }),
      COST_LIMIT_EXCEEDED: ask(`{ instances ${expensive} }`),
      NOT_FOUND: ask('subscription { instanceLogs(id: "1") { text } }'),
    }
    for (const [id, payload] of Object.entries(operations)) raw.say({ type: 'subscribe', id, payload })
    const errorsOf = (id: string) =>
      raw.heard.flatMap(message => {
        const { payload, ...rest } = message as { id?: string; payload?: Errors & { errors?: Errors } }
        return rest.id === id && payload ? [payload.errors ?? payload] : []
      })[0]
    for (const id of Object.keys(operations)) {
      await expect.poll(() => errorsOf(id)?.[0]?.extensions['code']).toBe(id)
      expect(errorsOf(id)?.[0]?.extensions['retry']).toBe(id === 'NOT_FOUND' ? 'NEVER' : 'AFTER_FIX')
    }
    raw.socket.close()
    await server.close()
  })

  it('has a code of the documentation, also if a library gave another', () => {
    const foreign = new GraphQLError('No.', { extensions: { code: 'SOMETHING_ELSE' } })
    expect(completeError(foreign).extensions).toEqual({ code: 'BAD_REQUEST', retry: 'AFTER_FIX' })
    expect(completeError(new GraphQLError('No.')).extensions).toEqual({ code: 'BAD_REQUEST', retry: 'AFTER_FIX' })
    for (const code of Object.keys(retryAdvice)) expect(Object.keys(faceErrors)).not.toContain(code)
  })
})

describe('many errors in an answer', () => {
  const failures = (code: string, count: number, message: (index: number) => string) =>
    Array.from(
      { length: count },
      (_, index) => new GraphQLError(message(index), { path: ['nodes', index], extensions: { code, retry: 'LATER' } }),
    )
  const silent = (count: number) => failures('UNAVAILABLE', count, () => 'Silent.')

  it('are all shown up to 25 of one code', () => {
    expect(limitErrors(silent(25))).toEqual(silent(25))
    const mixed = [...silent(25), ...failures('FORBIDDEN', 25, () => 'No.')]
    expect(limitErrors(mixed)).toEqual(mixed)
  })

  it('end with the number of further errors of the same code', () => {
    const shown = limitErrors([...silent(40), ...failures('FORBIDDEN', 2, () => 'No.')])
    expect(shown.map(({ extensions }) => extensions['code'])).toEqual([
      ...Array(maxErrorsPerCode + 1).fill('UNAVAILABLE'),
      ...Array(2).fill('FORBIDDEN'),
    ])
    expect(shown[maxErrorsPerCode]?.toJSON()).toEqual({
      message: '15 more errors have the code UNAVAILABLE. Their fields are null, too.',
      extensions: { code: 'UNAVAILABLE', retry: 'LATER' },
    })
  })

  it('show each message before one is repeated', () => {
    const [first, ...rest] = failures('FORBIDDEN', 60, index => (index < 59 ? 'No logs.' : 'No events.'))
    const messages = limitErrors([first as GraphQLError, ...rest]).map(({ message }) => message)
    expect(messages).toContain('No events.')
  })

  it('do not make an answer too large', async () => {
    const nodes = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Template { id } } viewer { account { id ${aliases('ledger(first: 0) { totalCount }')} } } }`
    const { data, errors } = await app.graphql(key, nodes, { ids: Array(100).fill('tpl_99') })
    expect(data.nodes).toEqual(Array(100).fill(null))
    expect(errors).toHaveLength(maxErrorsPerCode + 1)
    expect(errors?.at(-1)?.message).toMatch(/^5 more errors have the code BAD_USER_INPUT/)
    expect(JSON.stringify(errors).length).toBeLessThan(maxAnswerBytes / 100)
  })
})
