import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxColumns, maxUnknownColumns } from '../../../src/rest/list-parameters.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { listMachines } from '../../support/factories.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await listMachines(app.operations, [
    { model: { name: 'RTX 4090' }, machine: { numGpus: 2, city: 'Seoul', country: 'KR', datacenter: false } },
    {
      model: { name: 'H100 SXM', ramMb: 81_559 },
      machine: { numGpus: 8, gpuNanos: 2_000_000_000n, country: 'US', city: 'Texas' },
    },
    {
      model: { name: 'RTX 4090' },
      machine: { verification: 'unverified', gpuNanos: 300_000_000n, reliability: 0.9, hasAvx: false },
    },
    {
      model: { name: 'RTX 3090' },
      machine: { gpuNanos: 100_000_000n, listedUntil: new Date('2026-11-21T12:00:00.000Z') },
    },
    { model: { name: 'RTX 4070S Ti' }, machine: { listedUntil: new Date('2026-11-21T12:00:00.000Z') } },
  ])
})

afterAll(() => app.close())

type Row = Record<string, unknown> & { gpu_name: string; num_gpus: number }

const search = async (body: object) => {
  const answer = await app.rest(key, 'POST', '/bundles/', body)
  expect(answer).toMatchObject({ status: 200 })
  return answer.body.offers as Row[]
}
const columnNames = (count: number) => Array.from({ length: count }, (_, index) => `column${index}`)
const namesOf = (rows: Row[]) => rows.map(row => `${row.num_gpus} ${row.gpu_name}`)

describe('a search', () => {
  it('shows rentable offers, best score first, without a filter', async () => {
    const rows = await search({})
    const scores = rows.map(row => row['score'] as number)
    expect(rows).toHaveLength(7)
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  })

  it.each([
    [
      'the filters of the specification',
      {
        gpu_name: { in: ['RTX 4090'] },
        num_gpus: { gte: 2 },
        reliability: { gte: 0.95 },
        gpu_ram: { gte: 24_000 },
        verified: { eq: true },
        rentable: { eq: true },
        type: 'ondemand',
        limit: 5,
      },
      ['2 RTX 4090'],
    ],
    [
      'numbers and booleans as strings',
      { num_gpus: { gte: '8' }, verified: { eq: 'true' }, reliability: { gt: '0.98' }, dph_total: { lt: '100' } },
      ['8 H100 SXM'],
    ],
    ['underscores in a name', { gpu_name: { eq: 'RTX_3090' }, rentable: { eq: false } }, ['1 RTX 3090']],
    ['a name in any case', { gpu_name: 'h100 sxm', num_gpus: 8 }, ['8 H100 SXM']],
    ['a list without its operator', { num_gpus: [8] }, ['8 H100 SXM']],
    ['several operators of a field', { num_gpus: { gte: 2, gt: '2', lt: 8 } }, ['4 H100 SXM']],
    ['notin', { gpu_name: { notin: ['RTX 4090'] }, num_gpus: { gte: 8 } }, ['8 H100 SXM']],
    ['a country', { geolocation: { eq: 'KR' }, num_gpus: { eq: 2 } }, ['2 RTX 4090']],
    ['a single country for "in"', { geolocation: { in: 'KR' }, num_gpus: { eq: 2 } }, ['2 RTX 4090']],
    ['a place with its country', { geolocation: { eq: 'Seoul, KR' }, num_gpus: { eq: 2 } }, ['2 RTX 4090']],
    ['hosting_type as a number', { hosting_type: { gte: 1 }, num_gpus: { gte: 8 } }, ['8 H100 SXM']],
    ['hosting_type 0', { hosting_type: { eq: '0' }, num_gpus: { eq: 2 } }, ['2 RTX 4090']],
    ['datacenter as a boolean', { datacenter: { eq: false }, num_gpus: { eq: 2 } }, ['2 RTX 4090']],
    ['has_avx as 0 and 1', { has_avx: { eq: 0 } }, ['1 RTX 4090']],
    ['a driver version as a string', { driver_version: { gte: '570.172.08' }, num_gpus: { eq: 8 } }, ['8 H100 SXM']],
    ['a driver version as a number', { driver_version: { gte: 570_172_008 }, num_gpus: { eq: 8 } }, ['8 H100 SXM']],
    ['offers that are not rentable', { rentable: { eq: false }, dph: { lt: 0.2 } }, ['1 RTX 3090']],
    [
      'null as no condition',
      { gpu_name: null, num_gpus: { eq: null, gte: 8 }, limit: null, type: null, order: null },
      ['8 H100 SXM'],
    ],
    [
      '"any" as no condition',
      { gpu_name: { eq: 'any' }, verified: '?', num_gpus: { gte: 8, lte: '*' } },
      ['8 H100 SXM'],
    ],
    [
      'unknown fields, which it ignores',
      { chunked: { eq: true }, georegion: true, constructor: { x: 1 }, num_gpus: { gte: 8 } },
      ['8 H100 SXM'],
    ],
    [
      'the alternative names of fields',
      {
        dph: { lt: 3 },
        cuda_vers: { gte: 12 },
        reliability2: { gte: 0.9 },
        dlperf_usd: { gt: 0 },
        flops_usd: { gt: 0 },
        display_active: { eq: false },
        num_gpus: { eq: 2 },
      },
      ['2 RTX 4090'],
    ],
    ['an offer by its id', { ask_contract_id: { eq: 3 } }, ['1 RTX 4090']],
    ['a search under q', { q: { num_gpus: { gte: 8 } } }, ['8 H100 SXM']],
    ['a search under q as JSON', { q: '{"num_gpus": {"gte": 8}}' }, ['8 H100 SXM']],
    ['rented false', { rented: { eq: 'false' }, num_gpus: 8 }, ['8 H100 SXM']],
    ['rented true, which matches no offer', { rented: { eq: true } }, []],
    ['external false', { external: { eq: false }, num_gpus: 8 }, ['8 H100 SXM']],
    ['external true, which matches no offer', { external: 'true' }, []],
    ['the future end of a listing', { end_date: { gt: 1_795_262_400 }, num_gpus: 8 }, ['8 H100 SXM']],
    [
      'the past end of a listing',
      { end_date: { lte: '1795262400' }, rentable: false, order: [['end_date'], ['dph']] },
      ['1 RTX 3090', '1 RTX 4070S Ti'],
    ],
    ['booleans as Python prints them', { verified: { eq: 'True' }, datacenter: 'FALSE', num_gpus: 2 }, ['2 RTX 4090']],
    ['an order in capitals', { order: [['num_gpus', 'DESC']], limit: 1 }, ['8 H100 SXM']],
    ['an ascending order in mixed case', { order: [['dph_total', 'Asc']], limit: 1 }, ['1 RTX 4090']],
    ['null as JSON under q', { q: 'null', num_gpus: { gte: 8 } }, ['8 H100 SXM']],
    ['an empty JSON text under q', { q: '""', num_gpus: { gte: 8 } }, ['8 H100 SXM']],
    ['an empty q', { q: '', num_gpus: { gte: 8 } }, ['8 H100 SXM']],
    ['conditions alongside q', { q: { num_gpus: { lte: 2 } }, datacenter: false }, ['2 RTX 4090', '1 RTX 4090']],
    ['a condition under q before the same condition alongside q', { q: { num_gpus: 8 }, num_gpus: 1 }, ['8 H100 SXM']],
    ['a condition alongside q if it is null under q', { q: { num_gpus: null }, num_gpus: 8 }, ['8 H100 SXM']],
    ['terms alongside q', { q: {}, limit: 1, order: [['num_gpus', 'desc']] }, ['8 H100 SXM']],
    [
      'an empty text as no condition',
      { gpu_name: '', num_gpus: { eq: ' ', gte: 8 }, limit: '', type: '', order: '', select_cols: '' },
      ['8 H100 SXM'],
    ],
    ['underscores in a long name', { gpu_name: 'RTX_4070S_Ti', rentable: false }, ['1 RTX 4070S Ti']],
  ])('understands %s', async (_what, body, expected) => {
    expect(namesOf(await search(body))).toEqual(expected)
  })

  it('shows every offer of a bundle when bundling is disabled', async () => {
    expect(await search({ num_gpus: { eq: 1 }, disable_bundling: true })).toHaveLength(2 + 8 + 1)
    expect(await search({ num_gpus: { eq: 1 }, disable_bundling: 'true' })).toHaveLength(2 + 8 + 1)
    expect(await search({ q: { num_gpus: { eq: 1 } }, disable_bundling: true })).toHaveLength(2 + 8 + 1)
    for (const no of [{}, { disable_bundling: false }, { disable_bundling: 'false' }, { disable_bundling: '' }])
      expect(await search({ num_gpus: { eq: 1 }, ...no })).toHaveLength(3)
  })

  it.each([
    [[['dph_total', 'asc']], [0.304, 0.404]],
    [
      [
        ['num_gpus', 'desc'],
        ['dph_total', 'asc'],
      ],
      [16.004, 8.004],
    ],
    [['dph_total'], [0.304, 0.404]],
    [
      [['cuda_vers'], ['dph', 'desc']],
      [16.004, 8.004],
    ],
  ])('orders by %o', async (order, front) => {
    expect((await search({ order })).slice(0, 2).map(row => row['dph_total'])).toEqual(front)
  })

  it('prices the requested disk exactly', async () => {
    const price = async (terms: object) => (await search({ ask_contract_id: { eq: 1 }, ...terms }))[0]
    expect(await price({})).toMatchObject({ dph_base: 0.8, dph_total: 0.804, storage_total_cost: 0.004, is_bid: false })
    expect(await price({ allocated_storage: 5.0 })).toMatchObject({ dph_base: 0.8, dph_total: 0.8025 })
    expect(await price({ allocated_storage: '100' })).toMatchObject({ dph_total: 0.85 })
    expect(await price({ allocated_storage: '1e2' })).toMatchObject({ dph_total: 0.85 })
    expect(await price({ allocated_storage: 0 })).toMatchObject({ dph_total: 0.8 })
    for (const absent of ['', ' ', null])
      expect(await price({ allocated_storage: absent })).toMatchObject({ dph_total: 0.804 })
    expect(await price({ q: {}, allocated_storage: 100 })).toMatchObject({ dph_total: 0.85 })
    expect(await price({ type: 'bid' })).toMatchObject({ dph_base: 0.4, dph_total: 0.404, min_bid: 0.4, is_bid: true })
    expect(await price({ type: 'interruptible' })).toMatchObject({ is_bid: true })
    expect(await price({ type: 'on-demand' })).toMatchObject({ is_bid: false })
  })

  it('gives the same result through each of its four routes', async () => {
    const query = { num_gpus: { gte: '2' }, order: [['dph_total', 'asc']] }
    const expected = await search(query)
    const q = encodeURIComponent(JSON.stringify(query))
    const others = [
      await app.rest(key, 'PUT', '/search/asks/', { select_cols: ['*'], q: query }),
      await app.rest(key, 'GET', `/bundles/?q=${q}`),
      await app.rest(undefined, 'GET', `/bundles?q=${q}&api_key=${key}`),
    ]
    for (const { body } of others) expect(body).toEqual({ offers: expected })
  })

  it('also reads conditions from the URL alongside q', async () => {
    const flat = `num_gpus=2&order=${encodeURIComponent('[["dph_total","desc"]]')}&limit=1`
    const { body } = await app.rest(key, 'GET', `/bundles?q={"verified":true}&${flat}&order_by=dph_total`)
    expect(namesOf(body.offers)).toEqual(['2 H100 SXM'])
  })

  it('selects columns', async () => {
    const columns = ['id', 'gpu_name', 'no_such_column']
    const put = await app.rest(key, 'PUT', '/search/asks/', { select_cols: columns, q: { num_gpus: { gte: 8 } } })
    expect(put.body.offers).toEqual([{ id: expect.any(Number), gpu_name: 'H100 SXM', no_such_column: null }])
    const get = await app.rest(
      key,
      'GET',
      `/bundles/?q={"num_gpus":8}&select_cols=${encodeURIComponent('["num_gpus"]')}`,
    )
    expect(get.body.offers).toEqual([{ num_gpus: 8 }])
  })

  it.each([
    ['in any order, each once', ['num_gpus', 'id', 'id'], ['num_gpus', 'id']],
    [
      'with names that every JavaScript object has',
      ['constructor', 'toString', '__proto__'],
      ['constructor', 'toString', '__proto__'],
    ],
    ['with an unknown name of the maximum length', ['x'.repeat(64)], ['x'.repeat(64)]],
    ['with the maximum number of unknown names', columnNames(maxUnknownColumns), columnNames(maxUnknownColumns)],
    ['with a name repeated many times', Array(maxColumns + 1).fill('id'), ['id']],
    ['from an empty list', [], []],
  ])('selects columns %s', async (_what, select_cols, expected) => {
    const [row] = await search({ select_cols, limit: 1 })
    expect(Object.keys(row ?? {})).toEqual(expected)
    for (const name of expected)
      if (!['id', 'num_gpus'].includes(name)) expect(Object.entries(row ?? {})).toContainEqual([name, null])
  })

  it('selects every column with "*", and without a list', async () => {
    const all = await search({})
    expect(await search({ select_cols: ['id', '*'] })).toEqual(all)
    expect(await search({ select_cols: null })).toEqual(all)
  })

  it('gives 64 rows without a limit, and at most 5,000', async () => {
    const many = await startApp()
    const manyKey = await many.newKey()
    await listMachines(
      many.operations,
      Array.from({ length: 640 }, () => ({ machine: { numGpus: 8 } })),
    )
    const rows = async (terms: object) => {
      const { body } = await many.rest(manyKey, 'POST', '/bundles/', { disable_bundling: true, ...terms })
      return body.offers.length
    }
    expect(await rows({})).toBe(64)
    expect(await rows({ limit: 1 })).toBe(1)
    expect(await rows({ limit: '3000' })).toBe(3000)
    expect(await rows({ limit: 5000 })).toBe(5000)
    expect(await rows({ limit: 100_000 })).toBe(5000)
    await many.close()
  })

  it('runs one statement for any number of rows', async () => {
    expect(await captureQueries(() => search({ limit: 1 }))).toHaveLength(1)
    expect(await captureQueries(() => search({ disable_bundling: true }))).toHaveLength(1)
  })
})

describe('a row', () => {
  const recorded = JSON.parse(readFileSync(new URL('../../data/rest-rows.json', import.meta.url), 'utf8')).offer

  it('has every field of a recorded row, with its type', async () => {
    const [row] = await search({ limit: 1 })
    const typeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)
    for (const [field, value] of Object.entries(recorded)) {
      const expected = ['webpage', 'logo'].includes(field) ? expect.stringMatching(/null|string/) : typeOf(value)
      expect([field, typeOf(row?.[field])]).toEqual([field, expected])
    }
  })

  it('has values in the units that clients expect', async () => {
    const [row] = await search({ gpu_name: { eq: 'RTX 4090' }, num_gpus: { eq: 2 } })
    expect(row).toMatchObject({
      id: 1,
      ask_contract_id: 1,
      gpu_ram: 24_564,
      gpu_total_ram: 49_128,
      cpu_ram: 257_000,
      cpu_cores: 64,
      cpu_cores_effective: 64,
      disk_space: 900,
      storage_cost: 0.36,
      duration: (Date.parse('2027-06-01T00:00:00.000Z') - Date.parse('2026-11-21T12:00:00.000Z')) / 1000,
      geolocation: 'Seoul, KR',
      driver_version: '570.172.08',
      driver_vers: 570_172_008,
      hosting_type: 0,
      verification: 'verified',
      reliability: 0.99,
      reliability2: 0.99,
      rentable: true,
      rented: false,
      gpu_frac: 1,
      gpu_ids: [0, 1],
      inet_up_cost: 0.005,
      internet_up_cost_per_tb: 5,
      search: {
        gpuCostPerHour: 0.8,
        diskHour: 0.004,
        totalHour: 0.804,
        discountTotalHour: 0,
        discountedTotalPerHour: 0.804,
      },
      instance: {
        gpuCostPerHour: 0,
        diskHour: 0.004,
        totalHour: 0.004,
        discountTotalHour: 0,
        discountedTotalPerHour: 0.004,
      },
    })
  })
})

describe('an invalid search', () => {
  it.each([
    ['a string for a number', { num_gpus: { gte: 'many' } }, 'num_gpus.gte: "many" is not a number.'],
    [
      'an unknown operator',
      { num_gpus: { like: 1 } },
      'num_gpus: unknown operator "like"; use eq, neq, gt, gte, lt, lte, in, notin.',
    ],
    ['an operator that does not apply', { gpu_name: { gte: 'A' } }, 'gpu_name.gte: does not apply to a string.'],
    ['a string for a boolean', { verified: { eq: 'perhaps' } }, 'verified.eq: "perhaps" is not a boolean.'],
    ['a number for a string', { gpu_name: { in: ['RTX 4090', 7] } }, 'gpu_name.in: 7 is not a string.'],
    ['an invalid amount', { dph_total: { lt: 'cheap' } }, 'dph_total.lt: "cheap" is not an amount.'],
    ['an object for a value', { machine_id: { eq: { gte: 0 } } }, 'machine_id.eq: {"gte":0} is not a number.'],
    ['text that is not Unicode', { gpu_name: { eq: '\ud800' } }, 'gpu_name.eq: "\\ud800" is not a string.'],
    ['an unknown type', { type: 'gift' }, 'type: "gift" is not one of ondemand, bid, reserved.'],
    ['a limit of 0', { limit: 0 }, 'limit: must be a whole number, at least 1.'],
    ['a limit that is a boolean', { limit: true }, 'limit: must be a whole number, at least 1.'],
    ['a limit in a list', { limit: [7] }, 'limit: must be a whole number, at least 1.'],
    ['a limit in hexadecimal', { limit: '0x10' }, 'limit: must be a whole number, at least 1.'],
    ['a limit alongside q', { q: {}, limit: 'all' }, 'limit: must be a whole number, at least 1.'],
    ['a disk that is a boolean', { allocated_storage: true }, 'allocated_storage: must be a number of GB from 0'],
    ['a disk in a list', { allocated_storage: [10] }, 'allocated_storage: must be a number of GB from 0 to 100000.'],
    [
      'a limit that cannot be converted to a number',
      { limit: { toString: 1 } },
      'limit: must be a whole number, at least 1.',
    ],
    [
      'a disk that cannot be converted to a number',
      { allocated_storage: { toString: 1 } },
      'allocated_storage: must be a number of GB',
    ],
    [
      'a column that cannot be converted to a string',
      { select_cols: [{ toString: 1 }] },
      'select_cols: must be a list of column names.',
    ],
    [
      'a type that cannot be converted to a string',
      { type: { toString: 1 } },
      'type: {"toString":1} is not one of ondemand, bid',
    ],
    ['disable_bundling with another word', { disable_bundling: 'perhaps' }, 'disable_bundling: must be true or false.'],
    ['a limit with a word', { limit: 'all' }, 'limit: must be a whole number, at least 1.'],
    ['a negative disk size', { allocated_storage: -5 }, 'allocated_storage: must be a number of GB from 0 to 100000.'],
    ['an order that is not a list', { order: 7 }, 'order: 7 is not a sortable column with "asc" or "desc".'],
    [
      'an unknown field in an order',
      { order: [['beauty', 'asc']] },
      'order: ["beauty","asc"] is not a sortable column with "asc" or "desc".',
    ],
    [
      'an unknown direction',
      { order: [['score', 'up']] },
      'order: ["score","up"] is not a sortable column with "asc" or "desc".',
    ],
    ['an order by a boolean', { order: [['verified', 'asc']] }, 'order: ["verified","asc"] is not a sortable column'],
    ['too many keys', { order: Array(5).fill(['score']) }, 'order: must have at most 4 keys, not 5.'],
    ['too long a list', { num_gpus: { in: Array(201).fill(1) } }, 'num_gpus.in: takes at most 200 values, not 201.'],
    [
      'several issues',
      { limit: 0, type: 'gift' },
      'type: "gift" is not one of ondemand, bid, reserved. limit: must be a whole number, at least 1.',
    ],
    [
      'a string under q',
      { q: 'num_gpus>=2' },
      'q: is not JSON. Send an object of conditions, like {"num_gpus": {"gte": 2}}.',
    ],
    ['JSON under q that is not an object', { q: '"num_gpus"' }, 'Invalid query: must be dict of conditions'],
    ['columns that are not a list', { select_cols: { id: true } }, 'select_cols: must be a list of column names.'],
    ['a column without a name', { select_cols: ['id', 7] }, 'select_cols: must be a list of column names.'],
    [
      'too many columns',
      { select_cols: columnNames(maxColumns + 1) },
      'select_cols: takes at most 100 columns, not 101.',
    ],
    [
      'too many unknown columns',
      { select_cols: ['id', ...columnNames(maxUnknownColumns + 1)] },
      `select_cols: takes at most ${maxUnknownColumns} unknown columns, not 11: "column0", "column1", "column2", ….`,
    ],
    ['too long a column', { select_cols: ['x'.repeat(65)] }, `select_cols: "${'x'.repeat(59)}… is not a valid column`],
    [
      'a column of control characters',
      { select_cols: ['\u0001'] },
      'select_cols: "\\u0001" is not a valid column name.',
    ],
  ])('is refused with %s', async (_what, body, msg) => {
    const answer = await app.rest(key, 'POST', '/bundles/', body)
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: 'invalid_args' } })
    expect(answer.body.msg).toContain(msg)
  })

  it.each([
    ['POST', '/bundles/', '{"limit":', 'Invalid json body'],
    ['POST', '/bundles/', '[]', 'Invalid json body'],
    ['POST', '/bundles/', '"x"', 'Invalid json body'],
    ['GET', '/bundles/?q=[]', undefined, 'Invalid query: must be dict of conditions'],
    ['GET', '/bundles/?q={', undefined, 'q: is not JSON. Send an object of conditions, like {"num_gpus": {"gte": 2}}.'],
    ['GET', '/bundles/?select_cols=id', undefined, 'select_cols: must be a list of column names.'],
    ['PUT', '/search/asks/', '{"q":[]}', 'Invalid query: must be dict of conditions'],
  ])('is refused with %s %s and the body %s', async (method, path, body, msg) => {
    const answer = await app.rest(key, method, path, body)
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: 'invalid_args', msg } })
  })
})

it('refuses a search with too many levels, even with thousands of levels', async () => {
  const lists = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const bodies = [
    `{"num_gpus": ${lists(20)}}`,
    `{"q": "{\\"num_gpus\\": ${lists(20)}}"}`,
    ...['order', 'limit', 'type', 'select_cols', 'allocated_storage', 'gpu_name', 'unknown'].flatMap(name => [
      `{"${name}": ${lists(40_000)}}`,
      `{"${name}": {"eq": ${lists(40_000)}}}`,
    ]),
  ]
  for (const body of bodies) {
    const answer = await app.rest(key, 'POST', '/bundles/', body)
    const msg = 'Invalid query: it is nested too deeply; at most 20 levels are allowed'
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: 'invalid_args', msg } })
  }
})

it('refuses a body that is not UTF-8', async () => {
  const body = Buffer.from('{"gpu_name": {"eq": "\xff"}}', 'latin1')
  const headers = { authorization: `Bearer ${key}` }
  const answer = await app.fetch(new Request('http://berth.test/api/v0/bundles/', { method: 'POST', headers, body }))
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { success: false, error: 'invalid_args', msg: 'The body is not valid UTF-8.' },
  ])
})

it('lists the names of GPU models without a key', async () => {
  const { status, body } = await app.rest(undefined, 'GET', '/gpu_names/unique/')
  expect([status, body]).toEqual([200, { gpu_names: ['H100 SXM', 'RTX 3090', 'RTX 4070S Ti', 'RTX 4090'] }])
})

it('shows the account of the key', async () => {
  const { account, apiKey } = await app.operations.accounts.create({
    email: 'me@example.com',
    name: 'Me',
    creditNanos: 25_500_000_000n,
  })
  const { body } = await app.rest(apiKey, 'GET', '/users/current/')
  expect(body).toEqual({
    id: account.id,
    email: 'me@example.com',
    username: 'me',
    fullname: 'Me',
    credit: 25.5,
    balance: 0,
    ssh_key: '',
    can_pay: true,
    has_billing: true,
    email_verified: false,
    balance_threshold: 0,
    balance_threshold_enabled: false,
    sid: '',
    api_key: null,
  })
})
