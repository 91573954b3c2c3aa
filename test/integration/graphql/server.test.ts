import { getIntrospectionQuery } from 'graphql'
import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxBodyBytes } from '../../../src/http/body.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp({ publicSearch: false })
  key = await app.newKey()
  await listMachines(app.operations, [{}])
})

afterAll(() => app.close())

const send = (init: RequestInit & { path?: string } = {}) =>
  app.fetch(
    new Request(`http://berth.test${init.path ?? '/graphql'}`, {
      method: 'POST',
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
    }),
  )

describe('GraphQL over HTTP', () => {
  const audits = serverAudits({
    url: 'http://berth.test/graphql',
    fetchFn: (url: string, init: RequestInit = {}) =>
      app.fetch(
        new Request(url, { ...init, headers: { ...(init.headers as object), authorization: `Bearer ${key}` } }),
      ),
  })

  it('has more than 60 audits', () => {
    expect(audits.length).toBeGreaterThan(60)
  })

  it.each(audits.map(audit => [audit.id, audit.name, audit] as const))('%s %s', async (_id, _name, audit) => {
    expect((await audit.fn()).status).toBe('ok')
  })
})

describe('the limits of an operation', () => {
  const firstError = async (query: string) => {
    const { errors } = await app.graphql(key, query)
    return errors?.map(({ message, extensions }) => [extensions['code'], message])[0]
  }

  it('allow 2000 tokens and refuse 2001', async () => {
    const tokens = (count: number) => `{ viewer { account { ${'id '.repeat(count - 8)} } } }`
    expect(await firstError(tokens(2_000))).toEqual([
      'GRAPHQL_VALIDATION_FAILED',
      'The operation has 1994 fields; at most 1000 are allowed.',
    ])
    expect(await firstError(tokens(2_001))).toEqual([
      'GRAPHQL_PARSE_FAILED',
      'Syntax Error: Document contains more that 2000 tokens. Parsing aborted.',
    ])
  })

  it('count aliases in the whole operation', async () => {
    const aliases = Array.from({ length: 31 }, (_, index) => `v${index}: viewer { account { id } }`).join(' ')
    expect(await firstError(`{ ${aliases} }`)).toEqual([
      'GRAPHQL_VALIDATION_FAILED',
      'The operation has 31 aliases; at most 30 are allowed.',
    ])
  })

  it('refuse a cost above 10,000 fields', async () => {
    const page = (index: number) =>
      `p${index}: offers(first: 100) { nodes { id gpuName numGpus rentable score dlperf tflops listedAt asOf __typename } }`
    const pages = (count: number) => `{ ${Array.from({ length: count }, (_, index) => page(index)).join(' ')} }`
    expect(await firstError(pages(9))).toBeUndefined()
    const [code, message] = (await firstError(pages(10))) ?? []
    expect(code).toBe('COST_LIMIT_EXCEEDED')
    expect(message).toMatch(/^This operation can cost \d+ fields; at most 10000 are allowed/)
  })

  const extensionsOf = async (query: string, variables?: object) =>
    (await (await send({ body: JSON.stringify({ query, variables }) })).json()).extensions
  const costOf = async (query: string) => (await extensionsOf(query)).cost.requested
  const models = ['id', 'name', 'gpuRamGb', 'gpuRamMb', 'tflops', 'vendor']
  const offers = ['id', 'gpuName', 'numGpus', 'rentable', 'score', 'dlperf', 'tflops']
  /** The text of this many fields, which repeats the names in turn. */
  const fieldsOf = (names: string[], count: number) =>
    Array.from({ length: count }, (_, index) => names[index % names.length]).join(' ')

  it('refuse a subscription that costs too much before it starts', async () => {
    const ask = async (fields: number) => {
      const query = `subscription { instanceChanges(filter: {}) { ... on InstanceChange { instance { logs(tail: 1000) { ${'text '.repeat(fields)} } } } } }`
      return await (await send({ body: JSON.stringify({ query }), headers: { accept: 'text/event-stream' } })).text()
    }
    expect(await ask(10)).toContain('COST_LIMIT_EXCEEDED')
  })

  it('are shown with the cost of each operation that could run, and of no other', async () => {
    const cost = (requested: number) => ({ cost: { requested, limit: 10_000 } })
    expect(await extensionsOf('{ viewer { account { id } } }')).toEqual(cost(3))
    expect(await extensionsOf('query ($n: Int) { offers(first: $n) { nodes { id } } }', { n: 7 })).toEqual(cost(9))
    expect(await extensionsOf('mutation { deleteSshKey(input: { id: 1 }) { __typename } }')).toEqual(cost(21))
    expect(await extensionsOf(`{ gpuModels { ${fieldsOf(models, 100)} } }`)).toEqual(cost(10_001))
    expect(await extensionsOf('{ unknown }')).toBeUndefined()
    expect(await extensionsOf('query ($n: Int) { offers(first: $n) { totalCount } }', { n: 'x' })).toBeUndefined()
  })

  it('count a page for its items, and not for what is beside them', async () => {
    const page = (fields: string) => costOf(`{ offers(first: 50) { ${fields} } }`)
    expect(await page('nodes { id }')).toBe(1 + 1 + 50)
    expect(await page('edges { cursor node { id } }')).toBe(1 + 1 + 50 * 3)
    expect(await page('totalCount pageInfo { hasNextPage }')).toBe(1 + 300 + 2)
    expect(await page('... on OfferConnection { nodes { ...F } } } } fragment F on Offer { ... { machine { id }')).toBe(
      102,
    )
  })

  it('count introspection for what it reads, and never for more than the whole schema', async () => {
    expect(await costOf('{ __typename }')).toBe(1)
    expect(await costOf('{ __type(name: "Offer") { ...T } } fragment T on __Type { fields { name } }')).toBe(111)
    expect(await costOf('{ __schema { ... { types { name } } } }')).toBe(102)
    expect(await costOf(getIntrospectionQuery())).toBe(7_000)
  })

  it('count the values that a facet can have', async () => {
    const facets = (by: string) => costOf(`{ offers(first: 100) { facets(by: [${by}]) { values { value count } } } }`)
    expect(await facets('REGION')).toBe(2 + 1 + 7 * 2)
    expect(await facets('VERIFICATION, VERIFICATION')).toBe(2 + 1 + 3 * 2)
    expect(await facets('STATIC_IP')).toBe(2 + 1 + 2 * 2)
    expect(await facets('GPU_NAME, REGION')).toBe(2 + 2 * (1 + 54 * 2))
    expect(await facets('')).toBe(2)
  })

  it('count the buckets of `usage`, and an estimate of their groups', async () => {
    const usage = (args: string, fields: string) => costOf(`{ viewer { account { usage(${args}) { ${fields} } } } }`)
    expect(await usage('bucket: HOUR', 'cost totals { cost }')).toBe(3 + 1 + 1 + 2)
    expect(await usage('bucket: DAY, groupBy: []', 'buckets { cost groups { cost } }')).toBe(3 + 1 + 31 * 3)
    const day = 'startsAt: "2026-01-01T00:00:00Z", endsAt: "2026-01-02T00:00:00Z", bucket: HOUR'
    expect(await usage(day, 'buckets { cost groups { cost } }')).toBe(3 + 1 + 24 * 4)
    expect(await usage(`${day}, groupBy: [KIND, LABEL]`, 'totals { keys { value } }')).toBe(3 + 1 + 10 * 2)
    const groups = 'cost keys { value ... on InstanceUsageKey { instance { id label status gpuName } } }'
    expect(
      await usage('groupBy: [INSTANCE]', `totals { ${groups} } buckets { startsAt cost groups { ${groups} } }`),
    ).toBeLessThan(5_000)
  })

  it('count a field with invalid arguments once, since it is answered with null', async () => {
    const query = 'query ($n: Int) { offers(first: 5) { nodes { id } } instance(id: 1) { logs(tail: $n) { text } } }'
    expect((await extensionsOf(query, { n: 9 })).cost.requested).toBe(2 + 5 + 2 + 9)
    expect((await extensionsOf(query, { n: null })).cost.requested).toBe(2 + 5 + 2)
  })

  it('refuse `first` with `last`, which leaves the other fields answered', async () => {
    const query =
      '{ viewer { account { email ledger(first: 1, last: 1) { totalCount } } } offers(first: 1, last: 1) { totalCount } }'
    expect(await app.graphql(key, query)).toMatchObject({
      status: 200,
      data: { viewer: { account: { email: expect.any(String), ledger: null } }, offers: null },
      errors: expect.arrayContaining(
        [['viewer', 'account', 'ledger'], ['offers']].map(path =>
          expect.objectContaining({ path, extensions: expect.objectContaining({ code: 'BAD_USER_INPUT' }) }),
        ),
      ),
    })
  })

  it.each([
    ['an amount', '{ offers(filter: { pricePerHour: { lte: "1e2" } }) { totalCount } }', 41],
    ['a time', '{ viewer { account { usage(startsAt: "yesterday") { cost } } } }', 38],
  ])('say where %s in the operation is wrong', async (_what, query, column) => {
    const { errors } = await app.graphql(key, query)
    expect(errors).toMatchObject([{ locations: [{ line: 1, column }] }])
  })

  it('count the fields of `nodes` once for each id', async () => {
    const cost = async (ids: number, fields: number) => {
      const query = `query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Offer { ${fieldsOf(offers, fields)} } } }`
      const { errors } = await app.graphql(key, query, { ids: Array(ids).fill('off_1') })
      return errors?.map(({ message }) => message)
    }
    expect(await cost(100, 99)).toBeUndefined()
    expect(await cost(100, 100)).toEqual([
      'This operation can cost 10001 fields; at most 10000 are allowed. Select fewer fields, or ask for smaller pages or a shorter period.',
    ])
    expect(await cost(10, 120)).toBeUndefined()
  })

  it('count the fields of `gpuModels` 100 times', async () => {
    const errorOf = (fields: number) => firstError(`{ gpuModels { ${fieldsOf(models, fields)} } }`)
    expect(await errorOf(99)).toBeUndefined()
    expect((await errorOf(100))?.[0]).toBe('COST_LIMIT_EXCEEDED')
  })

  it('count the page size in a variable', async () => {
    const pages = Array.from(
      { length: 12 },
      (_, index) =>
        `p${index}: offers(first: $n) { nodes { id gpuName numGpus rentable score dlperf tflops listedAt asOf } }`,
    )
    const ask = (n: number) => app.graphql(key, `query ($n: Int) { ${pages.join(' ')} }`, { n })
    expect((await ask(10)).errors).toBeUndefined()
    expect((await ask(100)).errors?.[0]?.extensions['code']).toBe('COST_LIMIT_EXCEEDED')
  })

  it('report at most five validation errors', async () => {
    const { errors } = await app.graphql(
      key,
      `{ ${Array.from({ length: 50 }, (_, index) => `wrong${index}`).join(' ')} }`,
    )
    expect(errors).toHaveLength(6)
    expect(errors?.at(-1)?.message).toContain('Too many validation errors')
  })

  it('accept a body of 100,000 bytes and refuse a body of 100,001 bytes', async () => {
    const empty = JSON.stringify({ query: '{ viewer { account { id } } }', extensions: { x: '' } })
    const body = (size: number) => empty.replace('""', `"${'x'.repeat(size - empty.length)}"`)
    expect(new TextEncoder().encode(body(maxBodyBytes))).toHaveLength(maxBodyBytes)
    expect((await send({ body: body(maxBodyBytes) })).status).toBe(200)
    expect((await send({ body: body(maxBodyBytes + 1) })).status).toBe(413)
  })

  it('refuse a large body without a declared size', async () => {
    const chunk = new Uint8Array(10_000).fill(32)
    const body = new ReadableStream({
      pull: controller => controller.enqueue(chunk),
    })
    expect((await send({ body, duplex: 'half' } as RequestInit)).status).toBe(413)
  })
})

describe('the schema', () => {
  it('is hidden without a key: neither introspection nor hints show it', async () => {
    for (const query of [getIntrospectionQuery(), '{ viewr { id } }', '{ __typename }', '{']) {
      const { status, errors } = await app.graphql(undefined, query)
      expect([status, errors?.length, errors?.[0]?.extensions['code']]).toEqual([401, 1, 'UNAUTHENTICATED'])
    }
  })

  it('is visible with a key, by introspection and in hints', async () => {
    expect((await app.graphql(key, getIntrospectionQuery())).errors).toBeUndefined()
    const { errors } = await app.graphql(key, '{ viewr { id } }')
    expect(errors?.[0]?.message).toBe('Cannot query field "viewr" on type "Query". Did you mean "viewer"?')
  })
})

describe('an unexpected error', () => {
  it('is masked and logged with the id of the request', async () => {
    const broken = await startApp()
    const brokenKey = await broken.newKey()
    await broken.sql('ALTER TABLE offers RENAME COLUMN price_nanos TO secret_column')
    const graphql = await broken.graphql(brokenKey, '{ offers { totalCount nodes { id } } }')
    const rest = await broken.rest(brokenKey, 'POST', '/bundles/', {})

    expect(graphql.errors).toEqual([
      expect.objectContaining({
        message: 'Unexpected error.',
        path: ['offers'],
        extensions: { code: 'INTERNAL_SERVER_ERROR', retry: 'NEVER', requestId: expect.any(String) },
      }),
    ])
    expect([rest.status, rest.body]).toEqual([
      500,
      {
        success: false,
        error: 'internal_error',
        msg: expect.stringContaining(rest.headers.get('x-request-id') as string),
      },
    ])
    expect(JSON.stringify([graphql, rest])).not.toMatch(/price_nanos|SELECT|offers-sql|node_modules|\.ts/)
    const failures = broken.logLines.filter(line => line['level'] === 50)
    expect(failures).toHaveLength(2)
    expect(failures.map(line => line['requestId'])).toContain(graphql.errors?.[0]?.extensions['requestId'])
    await broken.close()
  })
})

describe('the server', () => {
  const ask = JSON.stringify({ query: '{ viewer { account { id } } }' })

  it('sends no CORS header', async () => {
    const answer = await send({ body: ask, headers: { origin: 'https://evil.example' } })
    expect([...answer.headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
    const preflight = await send({
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect([...preflight.headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
  })

  it.each([
    ['variables', 'x'],
    ['variables', '{'],
    ['extensions', 'x'],
  ])('refuses %s that are not JSON: %s', async (name, text) => {
    const form = new URLSearchParams({ query: '{ __typename }', [name]: text })
    const answers = [
      await send({ method: 'GET', path: `/graphql?${form}` }),
      await send({ method: 'GET', path: `/graphql?${name}=${text}` }),
      await send({ body: `${form}`, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    ]
    for (const answer of answers) {
      const message = 'The variables or the extensions are not JSON.'
      expect(await answer.json()).toEqual({
        errors: [{ message, extensions: { code: 'BAD_REQUEST', retry: 'AFTER_FIX' } }],
      })
      expect(answer.status).toBe(400)
    }
  })

  it.each(['{"query": secret}', '{', '"x"', ''])('does not echo a body that is not JSON: %s', async body => {
    const answer = await send({ body })
    const error = {
      message: expect.stringMatching(/^POST body /),
      extensions: { code: 'BAD_REQUEST', retry: 'AFTER_FIX' },
    }
    expect([answer.status, await answer.json()]).toEqual([400, { errors: [error] }])
  })

  it.each([
    ['as a form, as curl does', ask, 'application/x-www-form-urlencoded'],
    ['without a query', '{}', 'application/json'],
  ])('says how to send an operation to a client that sends JSON %s', async (_name, body, type) => {
    const answer = await send({ body, headers: { 'content-type': type } })
    const message =
      'The request has no query. Send JSON, {"query": "…"}, with the header "Content-Type: application/json".'
    const error = { message, extensions: { code: 'BAD_REQUEST', retry: 'AFTER_FIX' } }
    expect(await answer.json()).toEqual({ errors: [error] })
  })

  it('accepts no key in a cookie', async () => {
    const answer = await app.fetch(
      new Request('http://berth.test/graphql', {
        method: 'POST',
        body: ask,
        headers: { cookie: `authorization=Bearer ${key}`, 'content-type': 'application/json' },
      }),
    )
    expect(answer.status).toBe(401)
  })

  it('refuses batched operations and uploads', async () => {
    expect((await send({ body: `[${ask},${ask}]` })).status).toBe(400)
    const form = new FormData()
    form.set('operations', ask)
    form.set('map', '{}')
    const { headers } = new Request('http://x', { method: 'POST', body: form })
    const answer = await send({ body: form, headers: { 'content-type': headers.get('content-type') as string } })
    expect(answer.status).toBe(415)
  })

  it.each([
    [{ 'content-encoding': 'gzip' }, 'The content encoding gzip is not supported. Send the body without one.'],
    [{ 'content-type': 'application/json; charset=utf-16' }, 'The charset utf-16 is not supported. Send UTF-8.'],
  ])('refuses a body with %o on both faces', async (headers, message) => {
    const graphql = await send({ body: ask, headers })
    expect([graphql.status, await graphql.json()]).toEqual([
      415,
      { errors: [{ message, extensions: { code: 'BAD_REQUEST', retry: 'AFTER_FIX' } }] },
    ])
    const rest = await send({ body: '{}', headers, path: '/api/v0/bundles/' })
    expect([rest.status, await rest.json()]).toEqual([415, { success: false, error: 'invalid_request', msg: message }])
  })

  it.each([
    ['application/xml', {}, 415, 'The content type of a body must be application/json.'],
    ['', {}, 415, 'The content type of a body must be application/json.'],
    [
      'application/json',
      { accept: 'text/html' },
      406,
      'Accept must allow application/json, or text/event-stream for a subscription.',
    ],
  ])('refuses the content type %o with the headers %o, and answers in JSON', async (type, headers, status, message) => {
    const answer = await send({ body: ask, headers: { 'content-type': type, ...headers } })
    expect(await answer.json()).toEqual({
      errors: [{ message, extensions: { code: 'BAD_REQUEST', retry: 'AFTER_FIX' } }],
    })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json'])
  })

  it.each(['/graphql', '/api/v0/bundles/'])('ignores case in header values at %s', async path => {
    const headers = { 'content-type': 'APPLICATION/JSON; Charset=UTF-8', 'content-encoding': 'IDENTITY' }
    expect((await send({ body: path === '/graphql' ? ask : '{}', headers, path })).status).toBe(200)
  })

  it("sets x-request-id on every answer, and keeps the client's id if it is valid", async () => {
    const idOf = async (requestId: string) =>
      (await send({ body: ask, headers: { 'x-request-id': requestId } })).headers.get('x-request-id')
    expect(await idOf('trace-42')).toBe('trace-42')
    expect(await idOf('x y')).toMatch(/^[0-9a-f-]{36}$/)
    expect(await idOf('x'.repeat(65))).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the pages besides the faces', () => {
  const get = (path: string, headers: Record<string, string> = {}, from: TestApp = app) =>
    from.fetch(new Request(`http://berth.test${path}`, { headers }))

  it('report that the process is alive and ready', async () => {
    expect([(await get('/health')).status, (await get('/ready')).status]).toEqual([200, 200])
  })

  it.each(['/graphql/health', '/api/v0/users/current/?x=/health', '/x/ready', '/api/v0/health'])(
    'do not answer at %s',
    async path => {
      expect([401, 404]).toContain((await get(path)).status)
    },
  )

  it.each(['/health', '/ready', '/', '/docs', '/graphiql'])('allow only GET and HEAD at %s', async path => {
    const other = await startApp({ graphiql: true })
    const ask = (method: string) => other.fetch(new Request(`http://berth.test${path}`, { method }))
    const refused = await ask('DELETE')
    expect([refused.status, refused.headers.get('allow'), await refused.json()]).toEqual([
      405,
      'GET, HEAD',
      { success: false, error: 'method_not_allowed', msg: `DELETE is not allowed on ${path}. Allowed: GET, HEAD.` },
    ])
    expect((await ask('HEAD')).status).toBe((await ask('GET')).status)
    await other.close()
  })

  it('report 503 while the app drains', async () => {
    const other = await startApp()
    other.drain()
    const answer = await get('/ready', {}, other)
    expect([answer.status, await answer.json()]).toEqual([503, { status: 'stopping' }])
    expect((await get('/health', {}, other)).status).toBe(200)
    await other.close()
  })

  it('answer an unknown path in JSON', async () => {
    const answer = await get('/nowhere')
    expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toEqual([
      404,
      'application/json',
      { success: false, error: 'not_found', msg: 'There is no /nowhere here.' },
    ])
  })

  it('include GraphiQL only if it is enabled', async () => {
    const html = { accept: 'text/html,application/xhtml+xml' }
    expect((await get('/graphql', html)).status).toBe(401)
    const other = await startApp({ graphiql: true })
    const page = await get('/graphql', html, other)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const locationOf = async (path: string, one?: TestApp) => (await get(path, html, one)).headers.get('location')
    const paths = ['/', '/graphiql', '/docs']
    expect(await Promise.all(paths.map(path => locationOf(path, other)))).toEqual([
      '/graphql',
      '/graphql',
      '/api/v0/docs/',
    ])
    expect(await Promise.all(paths.map(path => locationOf(path)))).toEqual([null, null, '/api/v0/docs/'])
    await other.close()
  })
})

describe('the REST face', () => {
  it('answers in JSON without a charset', async () => {
    for (const path of ['/users/current', '/bundles/', '/nowhere/']) {
      expect((await app.rest(key, 'GET', path)).headers.get('content-type')).toBe('application/json')
    }
  })

  it('answers a path with and without the last slash, without a redirect', async () => {
    const [withSlash, without] = [
      await app.rest(key, 'GET', '/users/current/'),
      await app.rest(key, 'GET', '/users/current'),
    ]
    expect([without.status, without.body]).toEqual([withSlash.status, withSlash.body])
  })

  it('answers 404 to an unknown path, and 405 with the allowed methods to any other method', async () => {
    expect(await app.rest(key, 'GET', '/nowhere/')).toMatchObject({
      status: 404,
      body: { success: false, error: 'not_found', msg: 'There is no /api/v0/nowhere/ here.' },
    })
    const wrong = await app.rest(key, 'DELETE', '/bundles/')
    expect(wrong).toMatchObject({
      status: 405,
      body: {
        success: false,
        error: 'method_not_allowed',
        msg: 'DELETE is not allowed on /api/v0/bundles/. Allowed: POST, GET, HEAD.',
      },
    })
    expect(wrong.headers.get('allow')).toBe('POST, GET, HEAD')
  })

  it('answers HEAD as GET without the body', async () => {
    const [head, get] = await Promise.all(
      ['HEAD', 'GET'].map(method => send({ method, path: '/api/v0/users/current/' })),
    )
    const summaryOf = (answer: Response | undefined) => [answer?.status, answer?.headers.get('content-type')]
    expect(summaryOf(head)).toEqual(summaryOf(get))
    expect(await head?.text()).toBe('')
    expect((await send({ method: 'HEAD', path: '/api/v0/search/asks/' })).status).toBe(405)
  })

  it('treats an empty body as no body', async () => {
    expect((await app.rest(key, 'POST', '/bundles/', '')).status).toBe(200)
    expect((await app.rest(key, 'POST', '/bundles/', ' ')).status).toBe(200)
    expect((await app.rest(key, 'POST', '/bundles/')).status).toBe(200)
  })

  it('accepts a body of 100,000 bytes and refuses a body of 100,001 bytes', async () => {
    const body = (size: number) => `{"x":"${'x'.repeat(size - 8)}"}`
    expect((await app.rest(key, 'POST', '/bundles/', body(maxBodyBytes))).status).toBe(200)
    expect(await app.rest(key, 'POST', '/bundles/', body(maxBodyBytes + 1))).toMatchObject({
      status: 413,
      body: { success: false, error: 'invalid_request', msg: 'The body is larger than 100000 bytes.' },
    })
  })

  it('checks the key before it reads the body', async () => {
    expect((await app.rest(undefined, 'POST', '/bundles/', 'x'.repeat(maxBodyBytes + 1))).status).toBe(401)
  })
})
