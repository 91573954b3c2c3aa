// What requests take of the points of their callers, on both faces.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { textPoints } from '../../../src/graphql/limits/points.ts'
import { changePoints, limitRules, queryPoints, requestPoints, rowPoints } from '../../../src/http/limits/points.ts'
import { maxRows } from '../../../src/rest/offers/input.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureStatements } from '../../support/database/captured-statements.ts'
import { someCredit } from '../../support/instances/rentals.ts'
import { plainRequest, textOf } from '../../support/plain-request.ts'

const pointsPerSecond = 1_000
const capacity = pointsPerSecond * limitRules.windowSeconds
let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp({ pointsPerSecond, publicSearch: true, graphiql: true, metrics: true })
  // As a gateway that is told of changes: it remembers keys.
  app.startWork()
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Everything is refilled. */
afterEach(() => app.clock.advance(60_000_000))

const headersOf = (by: string | undefined) => ({
  'content-type': 'application/json',
  ...(by && { authorization: `Bearer ${by}` }),
})

async function askGraphql(by: string | undefined, query: string, address = '192.0.2.1') {
  const request = { ...plainRequest(headersOf(by), JSON.stringify({ query })), client: { address } }
  const plain = await app.plain('/graphql', request)
  if ('answer' in plain)
    return { ...plain.answer, headers: new Headers(plain.answer.headers), body: JSON.parse(textOf(plain.answer)) }
  const init = { method: 'POST', headers: headersOf(by), body: JSON.stringify({ query }) }
  const answer = await app.fetch(new Request('http://berth.test/graphql', init), plain)
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

async function askRest(by: string | undefined, method: string, path: string, body?: object, address = '192.0.2.1') {
  const init = { method, headers: headersOf(by), ...(body && { body: JSON.stringify(body) }) }
  const answer = await app.fetch(new Request(`http://berth.test${path}`, init), { client: { address } })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text.startsWith('{') ? JSON.parse(text) : text }
}

const currentUser = (by: string, address?: string) => askRest(by, 'GET', '/api/v0/users/current/', undefined, address)
const small = '{ viewer { apiKey { id } } }'
/** Adds a comment, so that the gateway has not seen the text before. */
let texts = 0
function unseen(query: string): string {
  texts += 1
  return `${query} # ${texts}`
}

/** Asks until it is refused. Returns how many requests were answered, and the refusal. */
async function exhaust<Answer extends { status: number }>(ask: () => Promise<Answer>) {
  for (let answered = 0; answered < 10_000; answered += 1) {
    const answer = await ask()
    if (answer.status === 429) return { answered, refusal: answer }
  }
  throw new Error('Nothing was refused.')
}

describe('a key', () => {
  it('takes the points of both faces from one bucket, and shows what is left', async () => {
    const over = await currentUser(key)
    expect(over.headers.get('ratelimit-policy')).toBe(
      `"key";q=${capacity};qu="points";w=10, "account";q=${capacity * limitRules.keysPerAccount};qu="points";w=10`,
    )
    expect(over.headers.get('ratelimit')).toBe(`"key";r=${capacity - requestPoints};t=10`)
    const query = unseen(small)
    const { body, headers } = await askGraphql(key, query)
    const points = requestPoints + textPoints(query.length) + 3
    const remaining = capacity - requestPoints - points
    expect(body.extensions.cost).toEqual({ requested: 3, limit: 10_000, points, remaining })
    expect(headers.get('ratelimit')).toBe(`"key";r=${remaining};t=10`)
  })

  it('is refused over REST without points, and told when to try again', async () => {
    const { answered, refusal } = await exhaust(() => currentUser(key))
    expect(answered).toBe(capacity / requestPoints)
    expect(refusal.headers.get('retry-after')).toBe('1')
    expect(refusal.headers.get('ratelimit')).toBe('"key";r=0;t=1')
    const msg = 'This API key asks for too much at once. Try again in 1 second.'
    expect(refusal.body).toEqual({ success: false, error: 'rate_limited', msg, detail: msg })
  })

  it('is refused over GraphQL without points, with status 429', async () => {
    await exhaust(() => currentUser(key))
    const { status, headers, body } = await askGraphql(key, small)
    expect([status, headers.get('retry-after'), body.data]).toEqual([429, '1', undefined])
    expect(body.errors).toEqual([
      {
        message: 'This API key asks for too much at once. Try again in 1 second.',
        extensions: {
          code: 'RATE_LIMITED',
          retry: 'LATER',
          retryAfter: new Date(app.clock.now().getTime() + 1_000).toISOString(),
        },
      },
    ])
  })

  it('can ask again at the time that the refusal names', async () => {
    const { refusal } = await exhaust(() => askGraphql(key, small))
    const { retryAfter } = refusal.body.errors[0].extensions
    expect((await askGraphql(key, small)).status).toBe(429)
    app.clock.advance(Date.parse(retryAfter) - app.clock.now().getTime())
    expect((await askGraphql(key, small)).status).toBe(200)
  })

  it('is refused an operation that costs more than what is left, before it runs', async () => {
    const mutation = (name: string) =>
      `mutation { createApiKey(input: { name: "${name}", permissions: [{ category: MARKET_READ }] }) { ... on CreateApiKeySuccess { apiKey { id } } } }`
    const { answered, refusal } = await exhaust(() => askGraphql(key, mutation('many')))
    expect(answered).toBeGreaterThan(5)
    expect(refusal.body.errors[0].extensions.code).toBe('RATE_LIMITED')
    const rows = await app.sql(`SELECT FROM api_keys WHERE name = 'many'`)
    expect(rows).toHaveLength(answered)
  })

  it('pays for each mutation, also for those in a fragment', async () => {
    const spread =
      'mutation { ...Both } fragment Both on Mutation { a: destroyInstance(input: {id: "ins_1"}) { __typename } b: destroyInstance(input: {id: "ins_2"}) { __typename } }'
    const { body } = await askGraphql(key, spread)
    const { requested, points } = body.extensions.cost
    expect(points).toBe(requestPoints + textPoints(spread.length) + requested + 2 * changePoints)
  })

  it('pays for a request that does not parse', async () => {
    const { headers } = await askGraphql(key, '{ viewer {')
    expect(headers.get('ratelimit')).toBe(`"key";r=${capacity - requestPoints - textPoints(10)};t=10`)
  })

  it('pays for the length of a document that the gateway does not remember, valid or not', async () => {
    const pointsOf = async (query: string) => {
      const { headers } = await askGraphql(key, query)
      app.clock.advance(60_000_000)
      return capacity - Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    }
    const [valid, invalid] = [unseen('{ __typename }'), unseen(`{ nothing${'g'.repeat(501)} }`)]
    expect([await pointsOf(valid), await pointsOf(valid)]).toEqual([
      ...[requestPoints + 1 + textPoints(valid.length), requestPoints + 1],
    ])
    expect([await pointsOf(invalid), await pointsOf(invalid)]).toEqual([
      ...[requestPoints + textPoints(invalid.length), requestPoints],
    ])
    // Longer texts are not remembered. They have few tokens.
    const long = `{ __typename } # ${'x'.repeat(20_000)}`
    for (let sent = 0; sent < 2; sent += 1) expect(await pointsOf(long)).toBe(requestPoints + 1 + textPoints(10_000))
  })

  it('is refused a document without points before it is parsed, and can send it later', async () => {
    await exhaust(() => currentUser(key))
    app.clock.advance((requestPoints * 1_000) / pointsPerSecond)
    const query = unseen('{ nothing }')
    const { status, headers, body } = await askGraphql(key, query)
    expect([status, headers.get('retry-after'), body.errors[0].extensions.code]).toEqual([429, '1', 'RATE_LIMITED'])
    app.clock.advance(60_000_000)
    expect((await askGraphql(key, query)).body.errors[0].extensions.code).toBe('GRAPHQL_VALIDATION_FAILED')
  })

  it('pays for the rows of a REST answer, and not for rows that it could have had', async () => {
    const { headers, body } = await askRest(key, 'POST', '/api/v0/bundles/', { limit: 200 })
    const paid = requestPoints + body.offers.length * rowPoints
    expect(headers.get('ratelimit')).toBe(
      `"key";r=${capacity - paid};t=${Math.ceil((capacity - paid) / pointsPerSecond)}`,
    )
    await askRest(key, 'POST', '/api/v0/bundles/', { limit: 'many' })
    const keys = await askRest(key, 'GET', '/api/v0/auth/apikeys/')
    const after = capacity - paid - 2 * requestPoints - Number(keys.body.apikeys.length) * rowPoints
    expect(keys.headers.get('ratelimit')).toContain(`"key";r=${Math.max(0, after)};`)
  })

  it('may ask for the most rows once with all of its points', async () => {
    const ask = () => askRest(key, 'POST', '/api/v0/bundles/', { limit: maxRows })
    expect(requestPoints + maxRows * rowPoints).toBeGreaterThan(capacity)
    expect((await ask()).status).toBe(200)
    expect([(await currentUser(key)).status, (await ask()).status]).toEqual([200, 429])
  })

  it('does not use up the points of others', async () => {
    const other = await app.newKey()
    await exhaust(() => currentUser(key))
    expect((await currentUser(other)).status).toBe(200)
  })

  it('shares the points of its account with the other keys of the account', async () => {
    const keys = [key]
    for (let count = 1; count <= limitRules.keysPerAccount; count += 1)
      keys.push(await app.newScopedKey(key, { api: { user_read: {} } }))
    const refusals = []
    for (const each of keys) refusals.push((await exhaust(() => currentUser(each))).refusal.body.msg)
    const own = 'This API key asks for too much at once. Try again in 1 second.'
    expect(refusals.slice(0, -1)).toEqual(keys.slice(1).map(() => own))
    expect(refusals.at(-1)).toBe('The API keys of this account ask for too much at once. Try again in 1 second.')
  })
})

describe('the field rateLimit', () => {
  const query = '{ rateLimit { cost limit remaining pointsPerSecond fullAt } }'

  it('says what the operation costs, what is left, and when all is there again', async () => {
    await askGraphql(key, query)
    app.clock.advance(60_000_000)
    const { body } = await askGraphql(key, query)
    const cost = requestPoints + 6
    expect(body.data.rateLimit).toEqual({
      cost,
      limit: capacity,
      remaining: capacity - cost,
      pointsPerSecond,
      fullAt: new Date(app.clock.now().getTime() + cost).toISOString(),
    })
  })

  it('is null where nothing is limited', async () => {
    const free = await startApp({ sharedApp: app })
    const { data, errors } = await free.graphql(key, query)
    expect([data, errors]).toEqual([{ rateLimit: null }, undefined])
    await free.close()
  })
})

describe('an address', () => {
  const wrongKey = (n: number) => `${key.slice(0, -10)}${String(n).padStart(10, '0')}`
  const guess = (n: number, address?: string) => currentUser(wrongKey(n), address)

  it('may guess few keys, on both faces together, and is then refused before a statement', async () => {
    let guessed = 0
    const { answered, refusal } = await exhaust(() => {
      guessed += 1
      return guessed % 2 ? guess(guessed) : askGraphql(wrongKey(guessed), small)
    })
    expect(answered).toBe(limitRules.guessesPerSecond * limitRules.windowSeconds)
    expect(refusal.headers.get('retry-after')).toBe('1')
    expect(refusal.headers.get('ratelimit')).toBe('"guesses";r=0;t=1')
    const sent = await captureStatements(() => guess(99_999))
    expect(sent.filter(({ text }) => text.includes('api_keys'))).toEqual([])
  })

  it('that guesses does not shut out others, nor keys that were valid, nor what watches the gateway', async () => {
    const fresh = await app.newKey()
    await currentUser(key)
    await exhaust(() => guess(1))
    expect((await guess(2, '192.0.2.2')).status).toBe(401)
    expect((await currentUser(key)).status).toBe(200)
    expect((await currentUser(fresh)).status).toBe(429)
    expect((await currentUser(fresh, '192.0.2.2')).status).toBe(200)
    expect((await currentUser(fresh)).status).toBe(200)
    for (const path of ['/health', '/ready', '/metrics'])
      expect((await askRest(undefined, 'GET', path)).status, path).toBe(200)
  })

  it('counts a key that has ended as a guess, once', async () => {
    const ended = await app.newKey()
    await currentUser(ended)
    await app.sql(`UPDATE api_keys SET revoked_at = now() WHERE id = (SELECT max(id) FROM api_keys)`)
    app.clock.advance(10_000)
    await expect.poll(async () => (await currentUser(ended)).status).toBe(401)
    expect((await currentUser(ended)).headers.get('ratelimit')).toMatch(/^"guesses";r=19\d;/)
  })

  it.each<[string, () => Promise<{ status: number; headers: Headers }>]>([
    ['the health', () => askRest(undefined, 'GET', '/health')],
    ['the readiness', () => askRest(undefined, 'GET', '/ready')],
    ['the metrics', () => askRest(undefined, 'GET', '/metrics')],
    ['the OpenAPI document', () => askRest(undefined, 'GET', '/api/v0/openapi.json')],
    ['a page that does not exist', () => askRest(undefined, 'GET', '/nothing')],
    ['a route that does not exist', () => askRest(undefined, 'GET', '/api/v0/nothing/')],
    ['a search without a key', () => askRest(undefined, 'POST', '/api/v0/bundles/', {})],
    ['REST without a key', () => askRest(undefined, 'GET', '/api/v0/users/current/')],
    ['GraphQL without a key', () => askGraphql(undefined, small)],
    ['a file of GraphiQL', () => askRest(undefined, 'GET', '/graphiql/graphiql.css')],
    ['a path of hosts', () => askRest(undefined, 'GET', '/host/nothing')],
    ['a token of hosts', () => askRest('no-token', 'GET', '/host/invitation')],
  ])('may ask for %s often, but not without end', async (_, ask) => {
    const { answered, refusal } = await exhaust(ask)
    expect(answered).toBeGreaterThanOrEqual(50)
    expect(refusal.headers.get('retry-after')).toBe('1')
    expect(refusal.headers.get('ratelimit')).toMatch(/^"(address|probes|guesses)";r=\d+;t=\d+$/)
  })

  it('is its first 64 bits if it is an IPv6 address', async () => {
    await exhaust(() => guess(1, '2001:db8::1'))
    expect((await guess(1, '2001:db8::2')).status).toBe(429)
    expect((await guess(1, '2001:db8:0:1::1')).status).toBe(401)
  })
})

describe('a key of a disabled account', () => {
  it('takes the points of the address that sends it, and none of other keys', async () => {
    const shutOut = await app.newKey()
    const [row] = (await app.sql('SELECT max(id) AS id FROM accounts')) as { id: number }[]
    await app.operations.accounts.disable({ id: row?.id as number }, { reason: 'Fraud.', keepInstances: false })
    const address = '192.0.2.77'
    const { answered } = await exhaust(() => currentUser(shutOut, address))
    expect(answered).toBe((limitRules.addressPointsPerSecond * limitRules.windowSeconds) / queryPoints)
    expect((await currentUser(key, address)).status).toBe(200)
  })
})
