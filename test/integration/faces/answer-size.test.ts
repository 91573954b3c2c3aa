// The size of an answer stays in proportion to the request.

import { GraphQLError, getIntrospectionQuery } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { limitAnswerSize, maxAnswerBytes } from '../../../src/graphql/limits/answer-size.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'

let app: TestApp
let key: string
let powerless: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  powerless = await app.newScopedKey(key, { api: {} })
  await listMachines(app.operations, [{}])
})

afterAll(() => app.close())

const makeItems = <Item>(count: number, one: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => one(index))
const url = (path: string, query: Record<string, unknown>) =>
  `${path}?${new URLSearchParams(Object.entries(query).map(([name, value]) => [name, JSON.stringify(value)]))}`

async function costOf(query: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const request = new Request('http://localhost/graphql', { method: 'POST', headers, body: JSON.stringify({ query }) })
  return (await (await app.fetch(request)).json()).extensions?.cost
}

describe('REST lists', () => {
  const controls = makeItems(20, index => String.fromCharCode(1 + index).repeat(64))
  const lists = {
    'offers by POST': (columns: string[]) => app.rest(key, 'POST', '/bundles/', { select_cols: columns }),
    'offers by GET': (columns: string[]) => app.rest(key, 'GET', url('/bundles/', { select_cols: columns })),
    'offers by PUT': (columns: string[]) => app.rest(key, 'PUT', '/search/asks/', { select_cols: columns, q: {} }),
    instances: (columns: string[]) => app.rest(key, 'GET', url('/api/v1/instances/', { select_cols: columns })),
    invoices: (columns: string[]) => app.rest(key, 'GET', url('/invoices/', { select_cols: columns })),
    templates: (columns: string[]) => app.rest(key, 'GET', url('/template/', { select_cols: columns })),
    'pages of templates': (columns: string[]) =>
      app.rest(key, 'GET', url('/api/v1/template/', { select_cols: columns })),
  }

  it.each(Object.entries(lists))('refuse malformed or too many unknown columns: %s', async (_name, ask) => {
    const refused = [controls, makeItems(11, index => `no_such_${index}`), ['no such']]
    for (const columns of refused) {
      const { status, body } = await ask(columns)
      expect([status, body.error]).toEqual([400, 'invalid_args'])
      expect(body.msg.length).toBeLessThan(500)
    }
    expect((await ask(['id', 'not_here_yet'])).status).toBe(200)
  })

  it('report only the first problems of a request with thousands', async () => {
    const operators = Object.fromEntries(makeItems(5_000, index => [`op${index}`, 1] as const))
    const { status, body } = await app.rest(key, 'POST', '/bundles/', { num_gpus: operators })
    expect(status).toBe(400)
    expect(body.msg).toContain('There are 4950 more problems.')
    expect(body.msg.length).toBeLessThan(10_000)
  })
})

describe('the GraphQL face', () => {
  const codes = async (query: string, by = powerless) => (await app.graphql(by, query)).errors?.[0]?.extensions['code']
  const refused = 'GRAPHQL_VALIDATION_FAILED'
  const standard = getIntrospectionQuery()
  const selection = standard.slice(standard.indexOf('__schema') + '__schema'.length, standard.indexOf('fragment'))
  const inside = selection.slice(0, selection.lastIndexOf('}'))
  const fragments = standard.slice(standard.indexOf('fragment'))

  it('refuses to read the schema more than once in an operation', async () => {
    expect((await app.graphql(powerless, standard)).errors).toBeUndefined()
    const twice = makeItems(2, index => `s${index}: __schema ${inside}`).join(' ')
    expect(await codes(`{ ${twice} } ${fragments}`)).toBe(refused)
    expect(
      await codes(`{ ...S ... { t: __schema ${inside} } } fragment S on Query { s: __schema ${inside} } ${fragments}`),
    ).toBe(refused)
    const types = makeItems(3, index => `t${index}: types { ...FullType }`).join(' ')
    expect(await codes(`{ __schema { ${types} } } ${fragments}`)).toBe(refused)
    const one = makeItems(25, index => `t${index}: __type(name: "Query") { ...FullType }`).join(' ')
    expect(await codes(`{ ${one} } ${fragments}`)).toBe(refused)
    expect(
      await codes('{ __schema { types { possibleTypes { fields { args { type { inputFields { name } } } } } } } }'),
    ).toBe(refused)
  })

  it('refuses a long alias, which every row would repeat', async () => {
    const query = (alias: string) => `{ offers(filter: {}, first: 100) { nodes { ${alias}: id } } }`
    expect(await codes(query('x'.repeat(64)), key)).toBeUndefined()
    expect(await codes(query('x'.repeat(65)), key)).toBe(refused)
  })

  it('repeats only the beginning of an invalid id', async () => {
    const { errors } = await app.graphql(key, `{ node(id: "${'x'.repeat(10_000)}") { id } }`)
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
    expect(JSON.stringify(errors).length).toBeLessThan(2_000)
  })

  it('refuses an answer that is too large, and says what to do', async () => {
    for (const name of ['one', 'two', 'three']) {
      const body = { name, image: 'ubuntu', readme: 'é'.repeat(40_000), private: true }
      expect((await app.rest(key, 'POST', '/template/', body)).status).toBe(200)
    }
    const templatesQuery = (count: number) =>
      `{ templates { nodes { ${makeItems(count, index => `r${index}: readme`).join(' ')} } } }`
    const { data } = await app.graphql(key, templatesQuery(2))
    expect(data.templates.nodes[0].r1).toHaveLength(40_000)
    const large = await app.graphql(key, templatesQuery(30))
    expect(large).toMatchObject({ data: null, errors: [{ extensions: { code: 'ANSWER_TOO_LARGE' } }] })
    expect(large.errors?.[0]?.message).toContain(String(maxAnswerBytes))
    // Its cost is shown as that of each operation.
    expect(await costOf(templatesQuery(30))).toEqual({ requested: expect.any(Number), limit: expect.any(Number) })
  })

  it('refuses an answer with too many errors', () => {
    const errors = makeItems(600, index => new GraphQLError('x'.repeat(10_000), { path: ['nodes', index] }))
    expect(limitAnswerSize({ data: {}, errors }, false)).toMatchObject({
      ...{ data: null, errors: [{ extensions: { code: 'ANSWER_TOO_LARGE' } }] },
    })
    expect(limitAnswerSize({ data: {}, errors: errors.slice(0, 10) }, false).errors).toHaveLength(10)
  })

  it('says that mutations have run when their answer is too large', () => {
    const messageOf = (hasRun: boolean) =>
      limitAnswerSize({ data: { text: 'x'.repeat(maxAnswerBytes) } }, hasRun).errors?.[0]?.message
    expect(messageOf(true)).toContain('have run: check their effect before you repeat them')
    expect(messageOf(false)).not.toContain('have run')
  })

  it('counts the bytes that JSON needs for escaped and non-ASCII characters', () => {
    const isTooLarge = (text: string) => limitAnswerSize({ data: { text } }, false).data === null
    expect(isTooLarge('x'.repeat(maxAnswerBytes - 100))).toBe(false)
    for (const [letter, bytes] of [
      ['"', 2],
      ['\\', 2],
      ['\n', 2],
      ['\u0001', 6],
      ['\ud800', 6],
      ['é', 2],
      ['漢', 3],
    ] as const) {
      expect(isTooLarge(letter.repeat(maxAnswerBytes / bytes - 100))).toBe(false)
      expect(isTooLarge(letter.repeat(maxAnswerBytes / bytes))).toBe(true)
    }
  })

  it('refuses a short query that reads far more of the schema than tools do', async () => {
    const { errors } = await app.graphql(powerless, standard)
    expect(errors).toBeUndefined()
    const nine = makeItems(9, index => `d${index}: description`).join(' ')
    const query = `{ __schema { types { interfaces { possibleTypes { interfaces { possibleTypes { ${nine} } } } } } } }`
    expect(await codes(query)).toBe(refused)
  })
})
