// Charges and invoices over REST, as clients request them.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'
import { volumesOf } from '../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let key: string
let email: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
})

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
  email = (await ask('/users/current/')).email
})

afterAll(() => app.close())

const hour = 3_600_000
const day = 24 * hour
const seconds = () => app.clock.now().getTime() / 1000
const today = () => Math.floor(app.clock.now().getTime() / day) * (day / 1000)
const text = (value: unknown) => encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))
const url = (path: string, query: object) =>
  `${path}?${Object.entries(query)
    .map(([name, value]) => `${name}=${text(value)}`)
    .join('&')}`

// biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
async function ask(path: string, query: object = {}, by = key): Promise<any> {
  const { status, body } = await app.rest(by, 'GET', url(path, query))
  expect({ status, body }).toMatchObject({ status: 200 })
  return body
}

/** The days that contain every instant of a test. */
const lately = () => ({ gte: today() - day / 1000, lte: today() })
const charges = (query: object = {}, by = key) =>
  ask('/charges/', { select_filters: { day: lately() }, latest_first: false, limit: 20, format: 'table', ...query }, by)
const invoices = (query: object = {}, by = key) =>
  ask('/api/v1/invoices/', { latest_first: false, limit: 20, ...query }, by)
const statement = (query: object = {}, by = key) =>
  ask('/users/me/invoices', { owner: 'me', inc_charges: true, ...query }, by)

async function grant(amount: bigint, reason?: string) {
  app.clock.advance(1000)
  await app.operations.accounts.grantCredit(email, { amountNanos: amount, ...(reason && { reason }) })
}
const adjust = (amount: bigint, reason: string) =>
  app.operations.accounts.adjustCredit(email, { amountNanos: amount, reason })

/** Reads all pages of a list: its rows, and the number of rows on each page. */
async function paged(
  read: (token: object) => Promise<{ results: unknown[]; count: number; next_token: string | null }>,
) {
  const rows: unknown[] = []
  const counts: number[] = []
  for (let token: object = {}; ; ) {
    const { results, count, next_token } = await read(token)
    rows.push(...results)
    counts.push(count)
    if (next_token === null) return { rows, counts }
    token = { after_token: next_token }
  }
}

describe('charges', () => {
  it('have a row for each instance and volume, with items for GPUs and disk', async () => {
    const begin = seconds()
    const id = await rentals.rent(key)
    const { machine_id } = await rentals.read(key, id)
    const volume = Number((await volumesOf(app).make(key, machine_id, 20)).toString().replace('vol_', ''))
    await rentals.converge()
    app.clock.advance(hour)
    const { rows, ...page } = await charges().then(({ results: rows, ...rest }) => ({ rows, ...rest }))
    expect(page).toEqual({ success: true, count: 2, total: 2, next_token: null })
    const [instance, other] = rows
    const item = { start: expect.any(Number), amount: expect.any(Number), source: null, metadata: {}, items: [] }
    expect(instance).toEqual({
      start: begin,
      end: seconds(),
      type: 'instance',
      source: `instance-${id}`,
      description: `Instance ${id}`,
      amount: expect.any(Number),
      metadata: { instance_id: id, volume_id: null },
      items: [
        { ...item, end: seconds(), type: 'gpu', description: 'GPUs' },
        { ...item, end: seconds(), type: 'disk', description: 'Disk' },
      ],
    })
    const [gpu, disk] = instance.items
    expect(gpu.start).toBeGreaterThan(begin)
    // $0.4 an hour for the GPUs, and $0.004 an hour for 8 GB of disk.
    expect(gpu.amount).toBeCloseTo((0.4 * (seconds() - gpu.start)) / 3600, 8)
    expect(disk.amount).toBeCloseTo((0.004 * (seconds() - begin)) / 3600, 8)
    expect(instance.amount).toBeCloseTo(gpu.amount + disk.amount, 9)
    expect(other).toMatchObject({ type: 'volume', source: `volume-${volume}`, metadata: { volume_id: volume } })
    expect(other.items.map(({ type }: { type: string }) => type)).toEqual(['disk'])
    expect(other.amount).toBe(other.items[0].amount)
  })

  it('cover whole UTC days, including the first and the last', async () => {
    app.clock.advance(day - (app.clock.now().getTime() % day) + 12 * hour)
    const noon = seconds()
    await rentals.rent(key, { target_state: 'stopped' })
    app.clock.advance(day)
    await app.runUntilIdle()
    const midnight = noon + 12 * 3600
    const of = async (filter: object) => {
      const { results } = await charges({ select_filters: { day: filter } })
      return results.map(({ start, end }: { start: number; end: number }) => [start, end])
    }
    const [first, second] = [midnight - 86_400, midnight]
    expect(await of({ gte: first, lte: first })).toEqual([[noon, midnight]])
    expect(await of({ gte: first + 80_000, lte: first + 80_000 })).toEqual([[noon, midnight]])
    expect(await of({ gte: first, lte: second })).toEqual([[noon, seconds()]])
    expect(await of({ gte: first, lt: second })).toEqual([[noon, midnight]])
    expect(await of({ eq: second })).toEqual([[midnight, seconds()]])
    expect(await of({ gt: second, lte: second + 1 })).toEqual([[midnight, seconds()]])
    expect(await of({ gte: String(second), lte: String(second) })).toEqual([[midnight, seconds()]])
    expect(await of({ gte: first - 86_400, lte: first - 1 })).toEqual([])
    expect(await of({ gte: second + 86_400, lte: second + 2 * 86_400 })).toEqual([])
  })

  it('leave out costs that begin at the end of the day or end at its start', async () => {
    app.clock.advance(day - (app.clock.now().getTime() % day))
    const midnight = seconds()
    const of = async (at: number) => (await charges({ select_filters: { day: { gte: at, lte: at } } })).results
    const id = await rentals.rent(key, { target_state: 'stopped' })
    app.clock.advance(day)
    expect(await of(midnight - 86_400)).toEqual([])
    expect(await of(midnight)).toMatchObject([{ start: midnight, end: seconds(), metadata: { instance_id: id } }])
    expect(await of(seconds())).toEqual([])
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    app.clock.advance(hour)
    expect(await of(midnight + 86_400)).toEqual([])
  })

  it('are limited to 744 days per request', async () => {
    const of = (days: number) =>
      app.rest(key, 'GET', url('/charges/', { select_filters: { day: { gte: 0, lte: (days - 1) * 86_400 } } }))
    expect(await of(744)).toMatchObject({ status: 200, body: { success: true, count: 0 } })
    expect(await of(745)).toMatchObject({
      status: 400,
      body: { msg: expect.stringMatching(/745 days long, and at most 744 days/) },
    })
  })

  it('are filtered by type', async () => {
    const id = await rentals.rent(key)
    const { machine_id } = await rentals.read(key, id)
    await volumesOf(app).make(key, machine_id, 20)
    app.clock.advance(hour)
    const of = async (type: unknown) => {
      const { results, total } = await charges({ select_filters: { day: lately(), type } })
      expect(total).toBe(results.length)
      return results.map((row: { type: string }) => row.type)
    }
    expect(await of({ in: ['instance'] })).toEqual(['instance'])
    expect(await of({ in: ['volume', 'serverless'] })).toEqual(['volume'])
    expect(await of({ eq: 'volume' })).toEqual(['volume'])
    expect(await of({ in: ['serverless'] })).toEqual([])
    expect(await of(null)).toEqual(['instance', 'volume'])
    expect((await charges({ format: 'tree' })).results).toEqual((await charges()).results)
  })

  it('are complete in pages, without duplicates, in both orders', async () => {
    const ids: number[] = []
    for (let count = 1; count <= 5; count += 1) ids.push(await rentals.rent(key, { target_state: 'stopped' }))
    app.clock.advance(hour)
    for (const latest_first of [false, true]) {
      let requests = 0
      const { rows, counts } = await paged(async token => {
        requests += 1
        // New costs between two pages do not invalidate a token.
        if (requests === 2) app.clock.advance(60_000)
        return await charges({ limit: 2, latest_first, ...token })
      })
      expect(counts).toEqual([2, 2, 1])
      const found = (rows as { metadata: { instance_id: number } }[]).map(({ metadata }) => metadata.instance_id)
      expect(found).toEqual(latest_first ? ids.toReversed() : ids)
    }
    expect(await charges({ limit: '5' })).toMatchObject({ count: 5, total: 5, next_token: null })
    expect(await charges({ limit: 1_000_000 })).toMatchObject({ count: 5, total: 5 })
  })

  it('leave out resources without costs on the given days', async () => {
    await rentals.rent(await app.newKey(null, someCredit))
    const id = await rentals.rentToStatus(key, 'running')
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    await app.runUntilIdle()
    app.clock.advance(3 * day)
    expect(await charges()).toEqual({ success: true, count: 0, total: 0, results: [], next_token: null })
    const { results } = await charges({ select_filters: { day: { gte: today() - (4 * day) / 1000, lte: today() } } })
    expect(results).toMatchObject([{ metadata: { instance_id: id } }])
  })

  it.each([
    [{}, /^Must provide both 'day' gte and lte filters for instance charges$/],
    [{ select_filters: { day: { gte: 5 } } }, /Must provide both 'day' gte and lte filters/],
    [{ select_filters: 'not json' }, /select_filters: must be an object/],
    [{ select_filters: [] }, /select_filters: must be an object/],
    [
      { select_filters: { day: { gte: 'soon', lte: 5 } } },
      /select_filters.day.gte: must be a number of seconds since 1970, not "soon"/,
    ],
    [{ select_filters: { day: { gte: 0, lte: 5, like: 6 } } }, /select_filters.day: unknown operator "like"/],
    [{ select_filters: { day: { gte: 6, lte: 5 } } }, /select_filters.day: ends before it begins/],
    [{ select_filters: { day: { gte: 0, lte: 1e12 } } }, /at most 744 days/],
    [{ select_filters: { day: { gte: 0, lte: 5 }, gpu: 'x' } }, /select_filters.gpu: is not a filterable column/],
    [
      { select_filters: { day: { gte: 0, lte: 5 }, type: { in: [5] } } },
      /select_filters.type.in: must be a string or, for `in`, a list of strings/,
    ],
    [{ select_filters: { day: { gte: 0, lte: 5 } }, limit: 0 }, /limit: must be a whole number, at least 1/],
    [{ select_filters: { day: { gte: 0, lte: 5 } }, limit: 'x' }, /limit: must be/],
    [{ select_filters: { day: { gte: 0, lte: 5 } }, format: 'pdf' }, /format: must be one of table, tree/],
    [{ select_filters: { day: { gte: 0, lte: 5 } }, latest_first: 'perhaps' }, /latest_first: must be true or false/],
    [{ select_filters: { day: { gte: 0, lte: 5 } }, after_token: 'x' }, /cursor/],
  ])('are refused with %j', async (query, message) => {
    const { status, body } = await app.rest(key, 'GET', url('/charges/', query))
    expect([status, body]).toEqual([
      400,
      { success: false, error: 'invalid_args', msg: expect.stringMatching(message) },
    ])
  })
})

describe('invoices', () => {
  it('list grants and adjustments in the format of the second version', async () => {
    await rentals.rentToStatus(key, 'running')
    app.clock.advance(hour)
    await grant(5_500_000_000n, 'a voucher')
    await adjust(-250_000_000n, 'a mistake')
    const { results, ...page } = await invoices()
    expect(page).toEqual({ success: true, count: 3, total: 3, next_token: null })
    const row = { start: expect.any(Number), end: expect.any(Number), source: 'operator', items: [] }
    const metadata = { invoice_id: expect.any(Number), instance_id: null, volume_id: null }
    expect(results).toEqual([
      { ...row, type: 'credit', description: 'Credit', amount: -100, metadata: { ...metadata, balance_after: 100 } },
      {
        ...{ ...row, start: seconds(), end: seconds(), type: 'credit', description: 'Credit: a voucher', amount: -5.5 },
        metadata: { ...metadata, balance_after: expect.any(Number) },
      },
      {
        ...{ ...row, start: seconds(), type: 'adjustment', description: 'Adjustment: a mistake', amount: 0.25 },
        metadata: { ...metadata, balance_after: expect.any(Number) },
      },
    ])
  })

  it('list refunds', async () => {
    const id = await rentals.rentToStatus(key, 'running')
    app.clock.advance(hour)
    await app.sql(`INSERT INTO ledger_entries (account_id, kind, amount_nanos, meter_id, period_start, period_end, rate_nanos,
      carried, posted_at) SELECT account_id, kind::text::ledger_kind, -div(rate_nanos * 1000000, 3600000), id, since,
      since + interval '1000 s', rate_nanos, 0, now() FROM meters WHERE instance_id = ${id} AND carried = 0`)
    await app.sql(`INSERT INTO ledger_entries (account_id, kind, amount_nanos, meter_id, period_start, period_end, note,
      posted_at) SELECT account_id, 'refund', 1000, meter_id, period_start, period_end, 'Because.', now()
      FROM ledger_entries WHERE kind = 'gpu' AND meter_id IN (SELECT id FROM meters WHERE instance_id = ${id}) LIMIT 1`)
    expect((await invoices({ select_filters: { type: { in: ['refund'] } } })).results).toMatchObject([
      {
        ...{ type: 'refund', source: `instance-${id}`, amount: -0.000001 },
        description: `Refund for instance ${id}: Because.`,
        metadata: { instance_id: id, volume_id: null },
      },
    ])
  })

  it('are filtered by instant and kind', async () => {
    await grant(1_000_000_000n)
    const second = seconds()
    await grant(2_000_000_000n)
    const third = seconds()
    await adjust(-3_000_000_000n, 'a mistake')
    const of = async (select_filters: object) => {
      const { results, total } = await invoices({ select_filters })
      expect(total).toBe(results.length)
      return results.map(({ amount }: { amount: number }) => amount)
    }
    expect(await of({ when: { gte: second } })).toEqual([-1, -2, 3])
    expect(await of({ when: { gt: second } })).toEqual([-2, 3])
    expect(await of({ when: { gte: second, lt: third } })).toEqual([-1])
    expect(await of({ when: { gte: String(second), lte: String(second) } })).toEqual([-1])
    expect(await of({ paid_on: { eq: second } })).toEqual([-1])
    expect(await of({ timestamp: { gt: second }, when: { lte: third } })).toEqual([-2, 3])
    expect(await of({ when: { gte: third + 1 } })).toEqual([])
    expect(await of({ type: { in: ['adjustment'] } })).toEqual([3])
    expect(await of({ when: { gte: third }, type: 'credit' })).toEqual([-2])
    // No payment comes from these services.
    expect(await of({ service: { in: ['transfer', 'stripe_payments'] } })).toEqual([])
    expect(await of({ when: null })).toHaveLength(4)
  })

  it('are complete in pages, without duplicates, in both orders', async () => {
    for (const amount of [1n, 2n, 3n, 4n]) await grant(amount * 1_000_000_000n)
    const amounts = [-100, -1, -2, -3, -4]
    for (const latest_first of [false, true]) {
      const { rows, counts } = await paged(token => invoices({ limit: 2, latest_first, ...token }))
      expect(counts).toEqual([2, 2, 1])
      const found = (rows as { amount: number }[]).map(({ amount }) => amount)
      expect(found).toEqual(latest_first ? amounts.toReversed() : amounts)
    }
    const ordered = await invoices({ order_by: [{ col: 'paid_on', dir: 'desc' }], limit: 1 })
    expect(ordered.results[0].amount).toBe(-4)
    expect(await invoices({ limit: 5000 })).toMatchObject({ count: 5, total: 5, next_token: null })
  })

  it.each([
    [{ select_filters: { when: { gte: 6, lte: 5 } } }, /select_filters.when: ends before it begins/],
    [{ select_filters: { amount_cents: { gt: 5 } } }, /select_filters.amount_cents: is not a filterable column/],
    [{ order_by: [{ col: 'amount_cents' }] }, /order_by: {"col":"amount_cents"} is not a sortable column/],
    [{ order_by: '{' }, /order_by: "{" is not a sortable column/],
    [{ order_by: ['when', 'paid_on'] }, /order_by: takes only one column/],
    [{ limit: 1.5, latest_first: 'x' }, /latest_first: must be true or false.*limit: must be/],
    [{ after_token: 'x' }, /cursor/],
  ])('are refused with %j', async (query, message) => {
    const { status, body } = await app.rest(key, 'GET', url('/api/v1/invoices/', query))
    expect([status, body]).toEqual([
      400,
      { success: false, error: 'invalid_args', msg: expect.stringMatching(message) },
    ])
  })
})

describe('a statement', () => {
  it('has payments, charges, and costs that are not posted yet', async () => {
    const id = await rentals.rentToStatus(key, 'stopped')
    app.clock.advance(hour)
    const { invoices: lines, current } = await statement({ sdate: 0, edate: seconds() + 0.25 })
    const line = { id: expect.any(Number), amount: expect.any(Number), timestamp: expect.any(Number) }
    const more = { when: expect.any(Number), paid_on: expect.any(Number), volume_id: null }
    const balances = { balance_before: expect.any(Number), balance_after: expect.any(Number) }
    expect(lines).toEqual([
      {
        ...{ ...line, ...more, type: 'payment', description: 'Credit', quantity: null, rate: null, amount: 100 },
        ...{ balance_before: 0, balance_after: 100, instance_id: null },
      },
      {
        ...{ ...line, ...more, ...balances, type: 'charge', description: `GPUs of instance ${id}`, instance_id: id },
        ...{ quantity: expect.any(Number), rate: 0.4 },
      },
    ])
    const [, charge] = lines
    expect(charge.amount).toBeCloseTo(charge.quantity * charge.rate, 8)
    expect(charge.amount).toBeGreaterThan(0)
    expect(current).toEqual({
      ...{ charges: expect.any(Number), service_fee: 0, total: current.charges },
      credit: (await ask('/users/current/')).credit,
    })
    expect(current.charges).toBeGreaterThan(0)
    expect(current.credit).toBeCloseTo(charge.balance_after - current.charges, 9)
  })

  it('has the entries of its period, and charges only with inc_charges', async () => {
    await rentals.rentToStatus(key, 'stopped')
    const types = async (query: object) => (await statement(query)).invoices.map(({ type }: { type: string }) => type)
    expect(await types({ inc_charges: true })).toEqual(['payment', 'charge'])
    expect(await types({ inc_charges: 'True' })).toEqual(['payment', 'charge'])
    expect(await types({ inc_charges: 1 })).toEqual(['payment', 'charge'])
    expect(await types({ inc_charges: false })).toEqual(['payment'])
    expect(await types({ inc_charges: null, sdate: null, edate: '' })).toEqual(['payment'])
    const [granted] = (await statement()).invoices
    expect(await types({ edate: granted.timestamp })).toEqual(['payment'])
    expect(await types({ sdate: granted.timestamp + 0.001 })).toEqual(['charge'])
    for (const [query, message] of [
      [{ sdate: 'yesterday' }, /^sdate: must be a number of seconds since 1970, not "yesterday"/],
      [{ sdate: 6, edate: 5 }, /edate: ends before it begins/],
      [{ inc_charges: 'x' }, /inc_charges: must be true or false/],
    ] as const) {
      const { status, body } = await app.rest(key, 'GET', url('/users/me/invoices', query))
      expect([status, body.error, body.msg]).toEqual([400, 'invalid_args', expect.stringMatching(message)])
    }
  })

  it('is refused with more than 5000 lines', async () => {
    await app.sql(`INSERT INTO ledger_entries (account_id, kind, amount_nanos, note, posted_at)
      SELECT (SELECT id FROM accounts WHERE email = '${email}'), 'adjustment', 1, 'a test', now() FROM generate_series(1, 4999)`)
    expect((await statement()).invoices).toHaveLength(5000)
    await grant(1n)
    const { status, body } = await app.rest(key, 'GET', '/users/me/invoices')
    expect([status, body.msg]).toEqual([400, expect.stringMatching(/more than 5000 lines/)])
    expect((await statement({ edate: 1 })).invoices).toEqual([])
  })
})

describe('the first version of the invoice list', () => {
  it('is an array of the lines of a statement', async () => {
    await rentals.rentToStatus(key, 'stopped')
    const { invoices: lines } = await statement()
    const [payment, charge] = lines
    expect(await ask('/invoices', { select_cols: ['*'], select_filters: {}, inc_charges: true })).toEqual(lines)
    expect(await ask('/invoices', { select_cols: ['*'], select_filters: {} })).toEqual([payment])
    expect(await ask('/invoices')).toEqual([payment])
    expect(await ask('/invoices', { select_filters: { type: { eq: 'charge' } } })).toEqual([charge])
    expect(await ask('/invoices', { select_filters: { when: { gt: payment.when } }, inc_charges: true })).toEqual([
      charge,
    ])
    expect(await ask('/invoices', { select_cols: ['id', 'amount', 'color'] })).toEqual([
      { id: payment.id, amount: 100, color: null },
    ])
  })
})

const paths = ['/api/v0/charges', '/api/v0/invoices', '/api/v1/invoices', '/api/v0/users/me/invoices']

const queryOf = (path: string) => ({
  select_filters: path.endsWith('charges') ? { day: lately() } : { when: { gte: 0, lte: seconds() } },
  inc_charges: true,
})

it.each(paths)('answers %s alike with and without a trailing slash', async path => {
  await rentals.rentToStatus(key, 'stopped')
  const query = queryOf(path)
  const body = await ask(path, query)
  expect(await ask(`${path}/`, query)).toEqual(body)
  expect(JSON.stringify(body)).toMatch(/"amount":-?[1-9]|"amount":0\.0*[1-9]/)
})

it.each(paths)('answers %s without entries of another account', async path => {
  const id = await rentals.rentToStatus(key, 'stopped')
  await rentals.rent(key)
  await grant(1_000_000_000n)
  const query = queryOf(path)
  const stranger = await app.newKey()
  const before = JSON.stringify(await ask(path, query))
  expect(before).toContain(path.includes('v1') ? '"credit"' : String(id))
  const answer = await ask(path, query, stranger)
  expect(answer.results ?? answer.invoices ?? answer).toEqual([])
  expect(answer.total ?? answer.current?.credit ?? 0).toBe(0)
  const { next_token } = await ask(path, { ...query, limit: 1 })
  if (/charges|v1/.test(path)) expect(next_token).toEqual(expect.any(String))
  const next = await ask(path, { ...query, after_token: next_token ?? null }, stranger)
  expect(next.results ?? next.invoices ?? next).toEqual([])
})

it.each(paths)('refuses %s without billing_read', async path => {
  const [may, mayNot] = [{ api: { billing_read: {} } }, { api: { user_read: {}, instance_read: {} } }]
  const query = queryOf(path)
  await ask(path, query, await app.newScopedKey(key, may))
  const { status, body } = await app.rest(await app.newScopedKey(key, mayNot), 'GET', url(path, query))
  expect([status, body.success, body.msg]).toEqual([403, false, expect.stringContaining('billing_read')])
})

const odd = [
  ...[
    '{',
    '[]',
    '5',
    '"x"',
    'true',
    '{"__proto__":{"gte":5}}',
    '{"day":{"__proto__":5}}',
    '{"constructor":1}',
    '\0',
    '\ud800',
  ],
  ...[
    '{"day":{"gte":true}}',
    '{"when":[1,"2"]}',
    '{"day":{"gte":1e999,"lte":"1e999"}}',
    '{"when":{"gt":-1e300,"lt":1e300}}',
  ],
  ...[
    '{"day":{"gte":253402300799,"lte":253402300799}}',
    '{"type":{"in":[null]}}',
    '{"type":{"in":["\\ud800","\\u0000"]}}',
  ],
  ...[
    '-1',
    '1e3',
    '99999999999999999999',
    'NaN',
    '٣',
    'WyJ2MSIsImNoYXJnZXMgYnkgdGhpbmcgYXNjIiwiOTk5OTk5OTk5OTk5OTk5OTk5Il0',
  ],
  ...['[["when","asc"]]', '[{"col":"when","dir":5}]', '[{"col":{}},{}]', `["${'x'.repeat(99)}"]`, '["*",5]'],
]

it.each(paths)('accepts or refuses odd parameters of %s without an internal error', async path => {
  for (const name of [
    'select_filters',
    'select_cols',
    'order_by',
    'limit',
    'after_token',
    'sdate',
    'edate',
    'inc_charges',
  ])
    for (const value of odd) {
      const query = { ...queryOf(path), [name]: value.toWellFormed() }
      const { status, body } = await app.rest(key, 'GET', url(path, query))
      expect([name, value, status, body.error]).toEqual([
        name,
        value,
        ...(status === 200 ? [200, undefined] : [400, 'invalid_args']),
      ])
    }
})
