// All lists take their filters, order and columns from the URL in the same form.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { listMachines } from '../../support/factories.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
  await listMachines(app.operations, [{ machine: { numGpus: 2 } }, { machine: { numGpus: 4 } }])
  for (const name of ['one', 'two', 'three']) {
    await rentals.rent(key, { label: name })
    await app.rest(key, 'POST', '/template/', { name, image: 'ubuntu', private: true })
    app.clock.advance(1000)
    const { body } = await app.rest(key, 'GET', '/users/current')
    await app.operations.accounts.grantCredit(body.email, { amountNanos: 1_000_000_000n })
  }
})

afterAll(() => app.close())

type Query = Record<string, unknown>
const encodeValue = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const readList = async (path: string, query: Query) => {
  const pairs = Object.entries(query).map(([name, value]) => [name, encodeValue(value)])
  const { status, body } = await app.rest(key, 'GET', `${path}?${new URLSearchParams(pairs)}`)
  const rows = body.instances ?? body.templates ?? body.results ?? body.offers
  return { status, msg: body.msg, rows: rows as unknown[] }
}

const lists: [path: string, column: string, order: string][] = [
  ['/api/v1/instances/', 'id', 'order_by'],
  ['/api/v0/template/', 'id', 'order_by'],
  ['/api/v1/template/', 'id', 'order_by'],
  ['/api/v1/invoices/', 'when', 'order_by'],
  ['/api/v0/bundles/', 'id', 'order'],
]

describe.each(lists)('%s', (path, column, order) => {
  const wide = path.includes('bundles') ? { disable_bundling: 'true', rentable: 'any' } : {}
  const readRows = async (query: Query) => {
    const { status, msg, rows } = await readList(path, { ...wide, ...query })
    expect([status, msg]).toEqual([200, undefined])
    expect(rows.length).toBeGreaterThan(1)
    return rows
  }

  it('is sorted in the requested direction, which may be in upper or lower case', async () => {
    const ascending = await readRows({ [order]: [{ col: column, dir: 'asc' }] })
    for (const dir of ['desc', 'DESC', 'Desc']) {
      expect(await readRows({ [order]: [{ col: column, dir }] })).toEqual(ascending.toReversed())
    }
    expect(await readRows({ [order]: [{ col: column, dir: 'ASC' }] })).toEqual(ascending)
  })

  it('accepts each form of an order', async () => {
    const rows = await readRows({ [order]: [{ col: column, dir: 'desc' }] })
    for (const form of [[[column, 'desc']], [column, 'desc'], { col: column, dir: 'desc' }])
      expect(await readRows({ [order]: form })).toEqual(rows)
    const plain = await readRows({ [order]: [{ col: column }] })
    for (const form of [column, JSON.stringify(column), [column], [[column]], [{ col: column, dir: null }]])
      expect(await readRows({ [order]: form })).toEqual(plain)
  })

  it.each([[{ dir: 'sideways' }], [{ dir: '' }], [{ dir: 5 }], [{ dir: ['desc'] }], [{ col: 'no_such' }]])(
    'refuses an order with %j',
    async wrong => {
      const answer = await readList(path, { [order]: [{ col: column, dir: 'asc', ...wrong }] })
      expect([answer.status, answer.msg]).toEqual([400, expect.stringContaining(`${order}: {"col":`)])
    },
  )

  it('treats "null" and "" as absent', async () => {
    const all = await readRows({})
    for (const nothing of ['null', ''])
      for (const name of ['select_filters', 'select_cols', order, 'limit', 'after_token'])
        expect(await readRows({ [name]: nothing })).toEqual(all)
  })

  it.skipIf(path.includes('bundles'))('refuses a filter by an unknown column', async () => {
    const answer = await readList(path, { select_filters: { no_such: { eq: 1 } } })
    expect([answer.status, answer.msg]).toEqual([
      400,
      expect.stringMatching(/^select_filters.no_such: is not a filterable column/),
    ])
  })

  it('refuses deeply nested lists', async () => {
    const deep = `${'['.repeat(3_000)}${']'.repeat(3_000)}`
    for (const name of ['select_filters', 'select_cols', order].slice(path.includes('bundles') ? 1 : 0))
      expect((await readList(path, { [name]: deep })).status).toBe(
        path.includes('invoices') && name === 'select_cols' ? 200 : 400,
      )
  })
})

it('sorts a search for storage in the requested direction', async () => {
  const ask = (order: unknown) => app.rest(key, 'POST', '/volumes/search/', { order, allocated_storage: 1 })
  const ascending = (await ask([['disk_space', 'asc']])).body.offers
  const machines = (offers: { id: number }[]) => offers.map(({ id }) => id)
  expect(
    machines(
      (
        await ask([
          ['score', 'desc'],
          ['disk_space', 'DESC'],
        ])
      ).body.offers,
    ),
  ).toEqual(machines((await ask([['disk_space', 'desc']])).body.offers))
  expect(ascending.length).toBeGreaterThan(1)
  expect((await ask([['disk_space', 'sideways']])).status).toBe(400)
})
