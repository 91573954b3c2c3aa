// The lists of instances over REST.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { instanceFields } from '../../../src/rest/instances/fields.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

// biome-ignore lint/suspicious/noExplicitAny: a row has many columns
type Row = Record<string, any>
type ListQuery = Partial<Record<'select_filters' | 'order_by' | 'select_cols', unknown>> & {
  limit?: number | string
  after_token?: string
}

/** Objects as JSON in the URL, as every client sends them. */
const urlOf = (query: ListQuery) => {
  const texts = Object.entries(query).map(([name, value]) => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ])
  return `/api/v1/instances/?${new URLSearchParams(Object.fromEntries(texts))}`
}
const list = (query: ListQuery = {}, by = key) => app.rest(by, 'GET', urlOf(query))
const idsOf = (body: { instances: Row[] }) => body.instances.map(({ id }) => id)
const idsWith = async (select_filters: unknown) => idsOf((await list({ select_filters })).body)

let all: Row[]

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
  await rentals.rent(await app.newKey(null, someCredit), { label: 'of another' })
  await rentals.rentToStatus(key, 'running', { label: 'lbl', runtype: 'ssh_direct' })
  await rentals.rentToStatus(key, 'stopped', { label: 'lbl', disk: 20.5 })
  await rentals.rentToStatus(key, 'created')
  await rentals.rentToStatus(key, 'exited', { image: 'alpine', label: 'Über "x"' })
  // This instance is stopping, and is shown as running.
  const stopping = await rentals.rentToStatus(key, 'running', { image: 'simulated/slow-stop:3600', price: 0.3 })
  await app.rest(key, 'PUT', `/instances/${stopping}/`, { state: 'stopped' })
  await app.runUntilIdle()
  // This instance waits for its GPUs, and never ran.
  const waiting = await rentals.rent(key, { price: 0.5 }, { numGpus: 2 })
  const { machine_id } = await rentals.read(key, waiting)
  const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machine_id } })
  await app.rest(key, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu', label: 'lbl' })
  // One instance is rebooting, and another is about to reboot: neither is shown as running.
  const down = await rentals.rentToStatus(key, 'running', { label: 'reboots' })
  const up = await rentals.rentToStatus(key, 'running', { label: 'reboots' })
  await app.rest(key, 'PUT', `/instances/reboot/${down}/`, {})
  await app.runUntilIdle()
  await app.rest(key, 'PUT', `/instances/reboot/${up}/`, {})
  await rentals.rent(key, { label: 'gone' }).then(id => app.rest(key, 'DELETE', `/instances/${id}/`))
  all = (await app.rest(key, 'GET', '/instances/')).body.instances
})

afterAll(() => app.close())

describe('the v1 list', () => {
  it('has the rows of v0 in pages, oldest first, with counts', async () => {
    const { status, headers, body } = await list()
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(body).toEqual({
      ...{ success: true, total_instances: all.length, instances_found: all.length, next_token: null },
      label_counts: { lbl: 3, reboots: 2, 'Über "x"': 1 },
      instances: all.toReversed(),
    })
    const statuses = all.map(({ actual_status }) => actual_status)
    expect(new Set(statuses)).toEqual(new Set(['running', 'stopped', 'created', 'exited', 'loading']))
  })

  it.each([
    '/api/v1/instances/?limit=25',
    '/api/v1/instances?limit=25',
    '/api/v1/instances/',
    '/api/v1/instances?owner=me',
    '/api/v1/instances/?select_filters=&order_by=&select_cols=&after_token=&limit=',
    '/api/v1/instances/?select_filters=%7B%7D&order_by=%5B%5D&select_cols=%5B%22*%22%5D',
    '/api/v1/instances/?select_filters=null&order_by=null',
  ])('is the same at %s', async path => {
    expect((await app.rest(key, 'GET', path)).body).toEqual((await list()).body)
  })

  it('answers the query of the command-line tool', async () => {
    const columns = ['id', 'actual_status', 'label', 'num_gpus', 'gpu_name', 'gpu_util', 'disk_space', 'disk_usage']
    const more = ['disk_util', 'volume_info', 'dph_total', 'image_uuid', 'start_date', 'verification']
    const select_cols = [...columns, ...more]
    const select_filters = {
      actual_status: { in: ['running'] },
      label: { in: ['lbl', null] },
      gpu_name: { in: ['RTX 4090'] },
    }
    const { body } = await list({ select_filters, order_by: [{ col: 'id', dir: 'asc' }], select_cols, limit: 25 })
    const expected = all
      .filter(row => row['actual_status'] === 'running' && ['lbl', null].includes(row['label']))
      .toReversed()
    expect(expected.length).toBeGreaterThan(1)
    expect(body.instances).toEqual(
      expected.map(row => Object.fromEntries(select_cols.map(column => [column, row[column]]))),
    )
    expect(body).toMatchObject({ success: true, instances_found: expected.length, next_token: null })
  })

  it('finds restarting instances as loading, like their rows', async () => {
    const restarting = all.filter(({ label }) => label === 'reboots').map(({ actual_status }) => actual_status)
    expect(restarting).toEqual(['loading', 'loading'])
    const { body } = await list({ select_filters: { actual_status: { eq: 'loading' }, label: { eq: 'reboots' } } })
    expect(body.total_instances).toBe(2)
  })

  it('has null for a column that does not exist', async () => {
    const { body } = await list({ select_cols: ['id', 'no_such', '__proto__', 'toString'], limit: 1 })
    expect(Object.keys(body.instances[0])).toEqual(['id', 'no_such', '__proto__', 'toString'])
    expect(body.instances[0]).toMatchObject({ no_such: null, toString: null })
  })
})

describe('a filterable column', () => {
  it.each(Object.keys(instanceFields))('such as %s compares by the shown value', async column => {
    const values: unknown[] = [...new Set(all.map(row => row[column] ?? null))]
    for (const value of values) {
      const equal = all.filter(row => (row[column] ?? null) === value).map(({ id }) => id)
      const others = all.filter(row => (row[column] ?? null) !== value).map(({ id }) => id)
      expect((await idsWith({ [column]: { eq: value } })).toSorted()).toEqual(equal.toSorted())
      expect((await idsWith({ [column]: { in: [value] } })).toSorted()).toEqual(equal.toSorted())
      expect((await idsWith({ [column]: { neq: value } })).toSorted()).toEqual(others.toSorted())
      expect((await idsWith({ [column]: { notin: [value] } })).toSorted()).toEqual(others.toSorted())
      if (typeof value !== 'number') continue
      // The command-line tool sends numbers as strings.
      const least = all.filter(row => row[column] >= value).map(({ id }) => id)
      expect((await idsWith({ [column]: { gte: String(value) } })).toSorted()).toEqual(least.toSorted())
      const less = all.filter(row => row[column] < value).map(({ id }) => id)
      expect((await idsWith({ [column]: { lt: String(value) } })).toSorted()).toEqual(less.toSorted())
    }
  })

  const orders = Object.keys(instanceFields).flatMap(col => [
    { col, dir: 'asc' },
    { col, dir: 'desc' },
  ])
  // Columns that can be null or ignore case sort in another way than JavaScript compares.
  const plain = orders.filter(({ col }) => !['label', 'geolocation', 'template_hash_id', 'gpu_name'].includes(col))

  it.each(plain)('orders by the shown value: $col $dir', async ({ col, dir }) => {
    const shownOf = (row: Row) => (typeof row[col] === 'string' ? row[col] : Number(row[col]))
    const compare = (a: Row, b: Row) => {
      const [one, other] = [shownOf(a), shownOf(b)]
      return one === other ? a['id'] - b['id'] : one < other === (dir === 'asc') ? -1 : 1
    }
    const { body } = await list({ order_by: [{ col, dir }] })
    expect(idsOf(body)).toEqual(all.toSorted(compare).map(({ id }) => id))
  })

  it.each(orders)('orders pages without repetitions or gaps: $col $dir', async order => {
    const order_by = [order]
    const complete = idsOf((await list({ order_by })).body)
    const pages: number[][] = []
    let token: string | null = ''
    while (token !== null) {
      const { body } = await list({ order_by, limit: 2, after_token: token })
      pages.push(idsOf(body))
      expect(body).toMatchObject({ total_instances: all.length, instances_found: pages.at(-1)?.length })
      token = body.next_token
    }
    expect(pages.map(page => page.length).slice(0, -1)).toEqual(pages.slice(1).map(() => 2))
    expect(pages.flat()).toEqual(complete)
  })

  it('orders together with other columns', async () => {
    const order_by = [
      { col: 'actual_status', dir: 'desc' },
      { col: 'dph_total', dir: 'ASC' },
    ]
    const { body } = await list({ order_by })
    const keyOf = (row: Row) => [row['actual_status'], row['dph_total'], row['id']]
    const sorted = all.toSorted((a, b) => {
      const [[s, p, i], [t, q, j]] = [keyOf(a), keyOf(b)]
      return s === t ? p - q || i - j : s < t ? 1 : -1
    })
    expect(idsOf(body)).toEqual(sorted.map(({ id }) => id))
  })
})

describe('the limit of a list', () => {
  let many: string

  beforeAll(async () => {
    many = await app.newKey(null, someCredit)
    for (let count = 1; count <= 26; count += 1) await rentals.rent(many, { target_state: 'stopped' })
  })

  it.each([
    [0, 5],
    [-3, 5],
    ['2', 2],
    [1000, 25],
  ])('of %s is treated as %s', async (limit, rows) => {
    const { body } = await list({ limit })
    expect(body.instances_found).toBe(Math.min(rows, all.length))
  })

  it.each([{ limit: 50 }, { limit: 26 }, { limit: 25 }, {}])('is at most 25: with %j', async query => {
    const { body } = await list(query, many)
    expect(body).toMatchObject({ instances_found: 25, total_instances: 26, next_token: expect.any(String) })
    expect(body.instances).toHaveLength(25)
  })
})

describe('a list', () => {
  it.each<[string, ListQuery]>([
    ['an unknown column to order by', { order_by: [{ col: 'no_such', dir: 'asc' }] }],
    ['an order that is not a list', { order_by: 7 }],
    ['too many columns to order by', { order_by: ['id', 'label', 'dph_total', 'num_gpus', 'machine_id'] }],
    ['an unknown column to filter by', { select_filters: { no_such: { eq: 1 } } }],
    ['an unknown operator', { select_filters: { id: { like: 1 } } }],
    ['a value of another type', { select_filters: { id: { eq: 'one' } } }],
    ['an order comparison with null', { select_filters: { label: { gt: null } } }],
    ['filters that are not JSON', { select_filters: '{' }],
    ['filters that are a list', { select_filters: '[]' }],
    ['columns that are not a list', { select_cols: { id: true } }],
    ['a limit that is not a number', { limit: 'many' }],
    ['a limit that is not an integer', { limit: 2.5 }],
    ['too many values', { select_filters: { id: { in: Array(201).fill(1) } } }],
    ['an invalid token', { after_token: 'nonsense' }],
    ['NUL in a string', { select_filters: { label: { eq: 'a\0' } } }],
  ])('is refused if it has %s', async (_what, query) => {
    const { status, body } = await list(query)
    expect([status, body]).toMatchObject([400, { success: false, error: 'invalid_args', msg: expect.any(String) }])
  })

  it('is refused if its token is of another order', async () => {
    const { body } = await list({ limit: 2 })
    const answer = await list({ limit: 2, after_token: body.next_token, order_by: [{ col: 'label', dir: 'asc' }] })
    expect(answer.status).toBe(400)
  })

  it.each<[string, string, number]>([
    ['a whole number', '1', 200],
    ['a letter', 'x', 400],
    ['an exponent', '1e5', 400],
    ['a number that is too large', '9'.repeat(40), 400],
    ['empty', '', 400],
  ])('accepts a token only if its position is a whole number in range: %s', async (_what, position, status) => {
    const forged = Buffer.from(JSON.stringify(['v1', 'instance rows by numGpus asc, id asc', position, position]))
    const answer = await list({ order_by: [{ col: 'num_gpus' }], after_token: forged.toString('base64url') })
    expect(answer.status).toBe(status)
  })
})

describe('the list of filter values', () => {
  it.each(['/instances/filters/', '/instances/filters'])('has each combination once, at %s', async path => {
    const { status, body } = await app.rest(key, 'GET', path)
    const combinations = all.map(({ actual_status, verification, gpu_name }) => ({
      actual_status,
      verification,
      gpu_name,
    }))
    const distinct = new Set(combinations.map(one => JSON.stringify(one)))
    expect(status).toBe(200)
    expect(new Set(body.filters.map((one: object) => JSON.stringify(one)))).toEqual(distinct)
    expect(body.filters).toHaveLength(distinct.size)
  })

  it('leaves out destroyed instances', async () => {
    const by = await app.newKey(null, someCredit)
    const filters = async () => (await app.rest(by, 'GET', '/instances/filters/')).body.filters
    const id = await rentals.rent(by)
    expect(await filters()).toHaveLength(1)
    await app.rest(by, 'DELETE', `/instances/${id}/`)
    expect(await filters()).toEqual([])
  })
})

describe('the v0 list', () => {
  it.each(['/instances?owner=me', '/instances/?owner=me', '/instances'])('is the same at %s', async path => {
    expect((await app.rest(key, 'GET', path)).body).toEqual({ instances_found: all.length, instances: all })
  })

  it('accepts the key in the URL instead of a header', async () => {
    for (const path of ['/instances', '/api/v1/instances/', '/instances/filters/']) {
      const { status } = await app.rest(undefined, 'GET', `${path}?owner=me&api_key=${key}`)
      expect(status).toBe(200)
    }
  })
})

it('runs the same number of statements for any page size', async () => {
  await list()
  const count = async (limit: number) => (await captureQueries(() => list({ limit }))).length
  expect(await count(6)).toBe(await count(1))
})

it('needs a key with the permission to list', async () => {
  const writer = await app.newScopedKey(key, { api: { instance_write: {} } })
  for (const path of ['/api/v1/instances/', '/instances/filters/']) {
    expect((await app.rest(writer, 'GET', path)).status).toBe(403)
    expect((await app.rest(undefined, 'GET', path)).status).toBe(401)
  }
})
