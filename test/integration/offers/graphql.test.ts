import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { listMachines } from '../../support/factories.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await listMachines(app.operations, [
    { model: { name: 'RTX 4090' }, machine: { numGpus: 2, country: 'SE' } },
    { model: { name: 'H100 SXM', ramMb: 81_559 }, machine: { numGpus: 8, gpuNanos: 2_000_000_000n, country: 'US' } },
    { model: { name: 'RTX 4090' }, machine: { verification: 'unverified', gpuNanos: 300_000_000n, reliability: 0.9 } },
    {
      model: { name: 'RTX 3090' },
      machine: { gpuNanos: 100_000_000n, listedUntil: new Date('2026-11-21T12:00:00.000Z') },
    },
  ])
  await app.sql('UPDATE machines SET limits_disk = false WHERE id = 2')
})

afterAll(() => app.close())

type Facet = { field: string; values: { value: string; count: number; minimumPricePerHour: string }[] }

const search = (variables: object, fields = 'nodes { id gpuName numGpus }') =>
  app.graphql(
    key,
    `query ($filter: OfferFilter, $pricing: OfferPricingInput, $orderBy: [OfferOrder!]! = [{ field: PRICE_PER_HOUR }],
       $first: Int, $after: String, $last: Int, $before: String) {
       offers(filter: $filter, pricing: $pricing, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) { ${fields} }
     }`,
    variables,
  )

const found = async (variables: object) => {
  const { data, errors } = await search(variables)
  expect(errors).toBeUndefined()
  return data.offers.nodes.map((offer: { gpuName: string; numGpus: number }) => `${offer.numGpus} ${offer.gpuName}`)
}

describe('a search', () => {
  it('shows the rentable offers, one of each bundle, cheapest first', async () => {
    expect(await found({})).toEqual([
      '1 RTX 4090',
      '1 RTX 4090',
      '2 RTX 4090',
      '1 H100 SXM',
      '2 H100 SXM',
      '4 H100 SXM',
      '8 H100 SXM',
    ])
  })

  it.each([
    ['a name in any case', { gpuName: { eq: 'rtx 4090' }, verified: true }, ['1 RTX 4090', '2 RTX 4090']],
    ['a part of a name', { gpuName: { contains: 'sxm' }, numGpus: { gt: 1, lte: 4 } }, ['2 H100 SXM', '4 H100 SXM']],
    ['excluded names', { gpuName: { nin: ['RTX 4090'] }, numGpus: { in: [8] } }, ['8 H100 SXM']],
    ['money', { pricePerHour: { lt: '0.404' } }, ['1 RTX 4090']],
    ['an exact amount', { pricePerHour: { eq: '0.404' } }, ['1 RTX 4090']],
    ['a price per GPU', { pricePerGpuHour: { lte: '0.402' }, verified: true }, ['2 RTX 4090']],
    ['reliability', { reliability: { lt: 0.95 } }, ['1 RTX 4090']],
    ['verification', { verification: ['UNVERIFIED', 'DEVERIFIED'] }, ['1 RTX 4090']],
    ['a driver', { driverVersion: { gte: '570.172.08', lt: '571' }, numGpus: { eq: 8 } }, ['8 H100 SXM']],
    ['a machine', { machineId: { eq: 'mch_3' } }, ['1 RTX 4090']],
    ['no machine of a list', { machineId: { nin: ['mch_1', '2', 'mch_4'] } }, ['1 RTX 4090']],
    ['another host', { hostId: { in: ['hst_999', '998'] } }, []],
    ['memory as it is marketed', { gpuRamGb: { eq: 24 }, numGpus: { eq: 2 } }, ['2 RTX 4090']],
    ['a region', { region: ['EUROPE'], numGpus: { eq: 2 } }, ['2 RTX 4090']],
    ['no region', { region: [] }, []],
    [
      'alternatives',
      { or: [{ numGpus: { eq: 8 } }, { country: { eq: 'se' }, numGpus: { eq: 2 } }] },
      ['2 RTX 4090', '8 H100 SXM'],
    ],
    ['fields that are not null', { gpuName: null, numGpus: { eq: null, gte: 8 } }, ['8 H100 SXM']],
    ['offers that are unavailable', { availability: 'UNAVAILABLE' }, ['1 RTX 3090']],
    ['alternatives that are available by default', { or: [{ availability: 'UNAVAILABLE' }] }, []],
    [
      'the availability of one alternative',
      { availability: 'ANY', or: [{ availability: 'UNAVAILABLE' }, { numGpus: { eq: 8 } }] },
      ['1 RTX 3090', '8 H100 SXM'],
    ],
    ['limited disks', { limitsDisk: true, numGpus: { gte: 2 } }, ['2 RTX 4090']],
    ['disks without a limit', { limitsDisk: false, numGpus: { gte: 8 } }, ['8 H100 SXM']],
    ['a vendor', { gpuVendor: ['AMD'] }, []],
    ['vendors', { gpuVendor: ['NVIDIA', 'AMD'], numGpus: { gte: 8 } }, ['8 H100 SXM']],
    ['the price of the disk', { diskPricePerHour: { lt: '0.004' } }, []],
  ])('filters by %s', async (_what, filter, expected) => {
    expect(await found({ filter })).toEqual(expected)
  })

  it('shows whether the disk of an offer is limited', async () => {
    const shown = async (numGpus: number) =>
      (await search({ filter: { numGpus: { eq: numGpus } } }, 'nodes { machine { limitsDisk } }')).data.offers.nodes[0]
    expect(await shown(8)).toEqual({ machine: { limitsDisk: false } })
    expect(await shown(2)).toEqual({ machine: { limitsDisk: true } })
  })

  it('shows available and other offers on request, and available offers when availability is null', async () => {
    expect(await found({ filter: { availability: 'ANY' } })).toHaveLength(8)
    expect(await found({ filter: { availability: null } })).toHaveLength(7)
  })

  it.each([
    ['by price per GPU', [{ field: 'PRICE_PER_GPU_HOUR' }], ['1 RTX 4090', '2 RTX 4090', '1 RTX 4090']],
    [
      'by memory and then by count',
      [
        { field: 'GPU_RAM_MB', direction: 'DESC' },
        { field: 'NUM_GPUS', direction: 'DESC' },
      ],
      ['8 H100 SXM', '4 H100 SXM'],
    ],
    ['by reliability', [{ field: 'RELIABILITY' }], ['1 RTX 4090']],
  ])('orders %s', async (_what, orderBy, front) => {
    expect((await found({ orderBy })).slice(0, front.length)).toEqual(front)
  })

  it('prices offers for the pricing of each field, whatever the search compares', async () => {
    const filter = { gpuName: { eq: 'RTX 4090' }, numGpus: { eq: 2 } }
    const price = 'rentalKind diskGb pricePerHour pricePerGpuHour gpuPricePerHour diskPricePerHour'
    const fields = `nodes { minimumBidPerHour diskPricePerGbMonth price { ${price} }
      large: price(pricing: { diskGb: 32 }) { ${price} tflopsPerDollar dlperfPerDollar }
      bid: price(pricing: { rentalKind: INTERRUPTIBLE }) { ${price} } none: price(pricing: null) { pricePerHour } }`
    const expected = {
      minimumBidPerHour: '0.4',
      diskPricePerGbMonth: '0.36',
      price: {
        ...{ rentalKind: 'ON_DEMAND', diskGb: 8, pricePerHour: '0.804', pricePerGpuHour: '0.402' },
        ...{ gpuPricePerHour: '0.8', diskPricePerHour: '0.004' },
      },
      large: {
        ...{ rentalKind: 'ON_DEMAND', diskGb: 32, pricePerHour: '0.816', pricePerGpuHour: '0.408' },
        ...{ gpuPricePerHour: '0.8', diskPricePerHour: '0.016' },
        ...{ tflopsPerDollar: expect.closeTo((2 * 82.6) / 0.816), dlperfPerDollar: expect.closeTo(200 / 0.816) },
      },
      bid: {
        ...{ rentalKind: 'INTERRUPTIBLE', diskGb: 8, pricePerHour: '0.404', pricePerGpuHour: '0.202' },
        ...{ gpuPricePerHour: '0.4', diskPricePerHour: '0.004' },
      },
      none: { pricePerHour: '0.804' },
    }
    for (const pricing of [undefined, { diskGb: 100 }, { rentalKind: 'INTERRUPTIBLE' }])
      expect((await search({ filter, pricing }, fields)).data.offers.nodes).toEqual([expected])
  })

  it('compares prices for the pricing of the search', async () => {
    const filter = { pricePerHour: { lte: '0.404' }, numGpus: { eq: 2 } }
    expect(await found({ filter })).toEqual([])
    expect(await found({ filter, pricing: { rentalKind: 'INTERRUPTIBLE' } })).toEqual(['2 RTX 4090'])
  })

  it('reads no page for a client that only counts, and still refuses invalid input', async () => {
    const statements = (fields: string) => captureQueries(() => search({}, fields))
    const counting = ['totalCount', '... on OfferConnection { totalCount isTotalCountExact }', 'count: totalCount']
    for (const fields of counting) expect(await statements(fields)).toHaveLength(1)
    expect(await statements('totalCount pageInfo { hasNextPage }')).toHaveLength(2)
    expect(await statements('totalCount ... { edges { cursor } }')).toHaveLength(2)
    expect((await search({}, 'totalCount')).data.offers).toEqual({ totalCount: 7 })
    for (const invalid of [{ first: 1_000_000 }, { after: 'x' }, { first: 1, last: 1 }]) {
      const [counted, read] = [await search(invalid, 'totalCount'), await search(invalid, 'nodes { id }')]
      expect(counted.errors).toBeDefined()
      expect(counted.errors).toEqual(read.errors)
    }
  })

  it('counts all pages only if totalCount is selected', async () => {
    const counts = async (fields: string) =>
      (await captureQueries(() => search({ first: 1 }, fields))).filter(text => / AS count /.test(text))
    const { data } = await search({ first: 1 }, 'totalCount isTotalCountExact nodes { id }')
    expect(data.offers).toMatchObject({ totalCount: 7, isTotalCountExact: true, nodes: [{}] })
    expect(await counts('totalCount isTotalCountExact')).toHaveLength(1)
    expect(await counts('nodes { id }')).toHaveLength(0)
  })

  it('counts by fields with least prices, under the same filter and pricing, only if facets are selected', async () => {
    const fields = `totalCount nodes { id } facets(by: [GPU_NAME, NUM_GPUS, REGION, VERIFICATION, GPU_NAME]) {
      field values { value count minimumPricePerHour } }`
    const filter = { gpuName: { eq: 'RTX 4090' } }
    const { offers } = (await search({ first: 1, filter }, fields)).data
    expect(offers.facets.map(({ field }: Facet) => field)).toEqual(['GPU_NAME', 'NUM_GPUS', 'REGION', 'VERIFICATION'])
    const [byName, ...others] = offers.facets as Facet[]
    expect(byName?.values).toEqual([
      { value: 'RTX 4090', count: offers.totalCount, minimumPricePerHour: expect.any(String) },
    ])
    const filterFor = (field: string, value: string) =>
      ({ NUM_GPUS: { numGpus: { eq: Number(value) } }, REGION: { region: [value] } })[field] ?? {
        verification: [value],
      }
    for (const { field, values } of others) {
      expect(values.length).toBeGreaterThan(0)
      for (const { value, count, minimumPricePerHour } of values) {
        const narrowed = { first: 1, filter: { ...filter, ...filterFor(field, value) } }
        expect((await search(narrowed, 'totalCount nodes { price { pricePerHour } }')).data.offers).toEqual({
          totalCount: count,
          nodes: [{ price: { pricePerHour: minimumPricePerHour } }],
        })
      }
    }
    const bids = await search({ first: 1, filter, pricing: { rentalKind: 'INTERRUPTIBLE' } }, fields)
    const cheapest = Number(bids.data.offers.facets[0].values[0].minimumPricePerHour)
    expect(cheapest).toBeLessThan(Number(byName?.values[0]?.minimumPricePerHour))
    const counts = async (selected: string) =>
      (await captureQueries(() => search({ first: 1 }, selected))).filter(text => /GROUPING SETS/.test(text))
    expect(await counts(fields)).toHaveLength(1)
    expect(await counts('totalCount nodes { id }')).toHaveLength(0)
    expect((await search({ first: 1 }, 'facets(by: []) { field }')).data.offers).toEqual({ facets: [] })
  })

  it('has pages forward and backward', async () => {
    const fields = 'edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }'
    const first = (await search({ first: 3 }, fields)).data.offers
    expect(first.pageInfo).toMatchObject({
      hasNextPage: true,
      hasPreviousPage: false,
      endCursor: first.edges[2].cursor,
    })
    const second = (await search({ first: 4, after: first.pageInfo.endCursor }, fields)).data.offers
    expect(second.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
    const back = (await search({ last: 3, before: second.pageInfo.startCursor }, fields)).data.offers
    expect(back.edges).toEqual(first.edges)
  })

  it('returns an empty page when nothing matches', async () => {
    const { data } = await search(
      { filter: { numGpus: { gt: 8 } } },
      'totalCount nodes { id } pageInfo { hasNextPage startCursor }',
    )
    expect(data.offers).toEqual({ totalCount: 0, nodes: [], pageInfo: { hasNextPage: false, startCursor: null } })
  })

  it('reads two columns for two fields, and no table that it does not need', async () => {
    const [statement = ''] = await captureQueries(() => search({ first: 50 }, 'nodes { numGpus dlperf }'))
    const [, columns = ''] =
      /.*\)\s+SELECT (.*?) FROM page JOIN offers o ON o.id = offer_id\s+ORDER BY/s.exec(statement) ?? []
    // The last two are the position for the cursor.
    expect(columns.split(',')).toEqual(['o.id', 'o.num_gpus', 'o.dlperf', 'page.k0', 'page.k1'])
  })

  it('runs one statement for a page of 50 as for a page of 1', async () => {
    const fields = 'nodes { id gpuName gpu { id name } machine { id country reliability gpu { name } } }'
    const one = await captureQueries(() => search({ first: 1 }, fields))
    const many = await captureQueries(() => search({ first: 50 }, fields))
    expect([one.length, many.length]).toEqual([1, 1])
  })
})

describe('an invalid search', () => {
  const refused = async (variables: object, fields?: string) => {
    const { errors, data } = await search(variables, fields)
    expect(data?.offers).toBeFalsy()
    return errors?.map(({ message, extensions }) => [extensions['code'], message])
  }

  it.each([
    [
      'an unknown field',
      { filter: { gpuNames: { eq: 'x' } } },
      'Field "gpuNames" is not defined by type "OfferFilter".',
    ],
    [
      'an unknown operator',
      { filter: { numGpus: { atLeast: 1 } } },
      'Field "atLeast" is not defined by type "IntFilter".',
    ],
    [
      'a string for a number',
      { filter: { numGpus: { gte: '2' } } },
      'Int cannot represent non-integer value: a string.',
    ],
    [
      'a float for money',
      { filter: { pricePerHour: { lt: 0.5 } } },
      'An amount must be a decimal number in a string, at most 999999999 with at most nine decimal places, like "0.25".',
    ],
    [
      'a string for a boolean',
      { filter: { verified: 'true' } },
      'Boolean cannot represent a non boolean value: a string.',
    ],
    [
      'a value outside of an enum',
      { filter: { verification: ['SOMEWHAT'] } },
      'Value does not exist in "VerificationStatus" enum.',
    ],
    ['an unknown order', { orderBy: [{ field: 'BEAUTY' }] }, 'Value does not exist in "OfferOrderField" enum.'],
  ])('is refused with %s', async (_what, variables, message) => {
    const [[code, actual] = []] = (await refused(variables)) ?? []
    expect(code).toBe('BAD_USER_INPUT')
    expect(actual).toContain(message)
  })

  it.each([
    ['first 0', { first: 0 }, 'first: must be from 1 to 100, not 0.'],
    ['first 1000', { first: 1000 }, 'first: must be from 1 to 100, not 1000.'],
    [
      'both directions',
      { first: 1, last: 1 },
      'first: use "first" and "after" to page forward, or "last" and "before" to page backward, but not both.',
    ],
    [
      'an invalid driver version',
      { filter: { driverVersion: { gte: 'new' } } },
      'filter.driverVersion.gte: "new" is not a version such as 12.8 or 580.105.08.',
    ],
    ['an empty or', { filter: { or: [] } }, 'filter.or: must have at least one alternative.'],
    [
      'a deep or',
      { filter: { or: [{ or: [{ or: [{ or: [{ verified: true }] }] }] }] } },
      'filter: nests "or" more than 3 levels deep.',
    ],
    [
      'too long a list',
      { filter: { gpuName: { in: Array(201).fill('x') } } },
      'filter.gpuName.in: takes at most 200 values, not 201.',
    ],
    [
      'too many conditions',
      { filter: { or: Array(51).fill({ verified: true }) } },
      'filter: has 52 conditions; at most 50 are allowed.',
    ],
    ['too many keys', { orderBy: Array(5).fill({ field: 'SCORE' }) }, 'orderBy: must have at most 4 keys, not 5.'],
    ['a negative disk size', { pricing: { diskGb: -1 } }, 'pricing.diskGb: must be from 0 to 100000, not -1.'],
    [
      'an id of another type',
      { filter: { machineId: { eq: 'off_3' } } },
      'filter.machineId.eq: "off_3" is not an id of the expected type; send one like mch_42.',
    ],
    [
      'a host id of another type',
      { filter: { hostId: { in: ['hst_1', 'mch_3'] } } },
      'filter.hostId.in: "mch_3" is not an id of the expected type; send one like hst_42.',
    ],
    [
      'an id that is too large',
      { filter: { hostId: { nin: ['1', '9'.repeat(20)] } } },
      `filter.hostId.nin: "${'9'.repeat(20)}" is too large for an id.`,
    ],
  ])('is refused with a message for %s', async (_what, variables, message) => {
    expect(await refused(variables)).toEqual([['BAD_USER_INPUT', message]])
  })

  it('is refused if its variables have too many levels, even with thousands of levels', async () => {
    const ask = async (levels: number) => {
      const filter = `${'{"or":['.repeat(levels)}${']}'.repeat(levels)}`
      const query = 'query ($filter: OfferFilter) { offers(filter: $filter) { totalCount } }'
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const body = `{"query": "${query}", "variables": {"filter": ${filter}}}`
      const response = await app.fetch(new Request('http://berth.test/graphql', { method: 'POST', headers, body }))
      const { errors } = await response.json()
      return errors.map((error: { message: string; extensions: object }) => [error.extensions, error.message])
    }
    const message = 'The variables have too many levels; at most 20 are allowed.'
    const extensions = { code: 'BAD_USER_INPUT', retry: 'AFTER_FIX' }
    for (const levels of [10, 9_000]) expect(await ask(levels)).toEqual([[extensions, message]])
    expect(await ask(9)).not.toContainEqual([extensions, message])
  })

  it('is refused with all issues and their paths', async () => {
    const or = [
      { driverVersion: { gte: 'a' } },
      { driverVersion: { lt: 'x'.repeat(100) } },
      { machineId: { nin: ['1', 'm'] } },
    ]
    const filter = { or, machineId: { eq: 'off_3' } }
    const { errors } = await search({ filter })
    expect(errors?.[0]?.extensions['issues']).toEqual([
      { path: 'filter.machineId.eq', message: '"off_3" is not an id of the expected type; send one like mch_42.' },
      {
        path: 'filter.or.0.driverVersion.gte',
        message: '"a" is not a version such as 12.8 or 580.105.08.',
      },
      {
        path: 'filter.or.1.driverVersion.lt',
        message: `"${'x'.repeat(59)}… is not a version such as 12.8 or 580.105.08.`,
      },
      { path: 'filter.or.2.machineId.nin', message: '"m" is not an id of the expected type; send one like mch_42.' },
    ])
  })

  it('is refused with an invalid cursor, or a cursor of another order or pricing', async () => {
    const { data } = await search({ first: 1 }, 'pageInfo { endCursor }')
    const after = data.offers.pageInfo.endCursor
    expect(await refused({ after: 'nonsense' })).toEqual([
      ['INVALID_CURSOR', 'The cursor does not belong to this list. Use one that the list has returned.'],
    ])
    const message = 'This cursor belongs to another list, order or pricing: start again without it.'
    expect(await refused({ after, orderBy: [{ field: 'SCORE' }] })).toEqual([['INVALID_CURSOR', message]])
    expect(await refused({ after, pricing: { diskGb: 9 } })).toEqual([['INVALID_CURSOR', message]])
  })
})

describe('an offer', () => {
  it('is found by its id or by its REST integer', async () => {
    const { data } = await app.graphql(
      key,
      '{ typed: offer(id: "off_3") { id } bare: offer(id: "3") { id machine { id } } }',
    )
    expect(data).toEqual({ typed: { id: 'off_3' }, bare: { id: 'off_3', machine: { id: 'mch_1' } } })
  })

  it.each(['999999999', 'off_999999999999999999'])('that does not exist (%s) is null', async id => {
    expect((await app.graphql(key, 'query ($id: ID!) { offer(id: $id) { id } }', { id })).data).toEqual({ offer: null })
  })

  it('has the same asOf as the other offers of its request', async () => {
    let calls = 0
    const ticking = await startApp({ now: () => new Date(Date.UTC(2026, 10, 21, 12) + calls++) })
    const otherKey = await ticking.newKey()
    await listMachines(ticking.operations, [{ machine: { numGpus: 2 } }])
    const fields = '... on Offer { asOf }'
    const { data } = await ticking.graphql(otherKey, `{ nodes(ids: ["off_1", "off_2", "off_3"]) { ${fields} } }`)
    expect(new Set(data.nodes.map((node: { asOf: string }) => node.asOf)).size).toBe(1)
    await ticking.close()
  })

  it('is not on the market after it is withdrawn', async () => {
    const withdrawn = await startApp()
    const otherKey = await withdrawn.newKey()
    await listMachines(withdrawn.operations, [{}])
    const ask = () => withdrawn.graphql(otherKey, '{ offer(id: 1) { id } offers { totalCount } }')
    expect((await ask()).data).toEqual({ offer: { id: 'off_1' }, offers: { totalCount: 1 } })
    await withdrawn.sql('UPDATE offers SET rentable = false, withdrawn_at = now()')
    expect((await ask()).data).toEqual({ offer: null, offers: { totalCount: 0 } })
    await withdrawn.close()
  })
})

describe('a node', () => {
  it('of any type is found by its id', async () => {
    const ids = ['off_3', 'mch_1', 'gpu_1', 'acc_1']
    const { data } = await app.graphql(key, 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids })
    expect(data.nodes).toEqual([
      { __typename: 'Offer', id: 'off_3' },
      { __typename: 'Machine', id: 'mch_1' },
      { __typename: 'GpuModel', id: 'gpu_1' },
      { __typename: 'Account', id: 'acc_1' },
    ])
  })

  it('that does not exist or belongs to another account is null in its place', async () => {
    const ids = ['mch_99', 'acc_2', 'acc_99', 'mch_9999999999', 'gpu_1']
    const { data } = await app.graphql(key, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })
    expect(data.nodes).toEqual([null, null, null, null, { id: 'gpu_1' }])
  })

  it('is read in one statement with other nodes of its type', async () => {
    const ask = (ids: string[]) =>
      captureQueries(() => app.graphql(key, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids }))
    expect(await ask(['off_1', 'off_2', 'off_3', 'off_1'])).toHaveLength((await ask(['off_1'])).length)
  })

  it.each([
    [
      'node',
      { id: 'x' },
      '"x" is not an id; send one like acc_42, key_42, evt_42, gpu_42, hst_42, ins_42, led_42, mch_42, off_42, lim_42, ssh_42, tpl_42, vol_42, vof_42, whk_42.',
    ],
    ['node', { id: 'off_' }, '"off_" is not an id of the expected type; send one like off_42.'],
    ['node', { id: 'off_1000000000000000000' }, '"off_1000000000000000000" is too large for an id.'],
    ['node', { id: 'off_-1' }, '"off_-1" is not an id of the expected type'],
    ['nodes', { ids: ['off_1', 'mch_x'] }, 'ids.1: "mch_x" is not an id of the expected type; send one like mch_42.'],
    ['nodes', { ids: ['off_1', 'x'] }, 'ids.1: "x" is not an id'],
    ['nodes', { ids: Array(101).fill('off_1') }, 'ids: takes at most 100 ids, not 101.'],
  ])('is refused by %s(%o)', async (field, variables, message) => {
    const [[name, value] = []] = Object.entries(variables)
    const type = field === 'node' ? 'ID!' : '[ID!]!'
    const { errors } = await app.graphql(key, `query ($v: ${type}) { ${field}(${name}: $v) { id } }`, { v: value })
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
    expect(errors?.[0]?.message).toContain(message)
  })
})

it('lists GPU models by name', async () => {
  const { data } = await app.graphql(key, '{ gpuModels { name gpuRamMb vendor computeCapability } }')
  expect(data.gpuModels.map(({ name }: { name: string }) => name)).toEqual(['H100 SXM', 'RTX 3090', 'RTX 4090'])
  expect(data.gpuModels[0]).toEqual({
    name: 'H100 SXM',
    gpuRamMb: 81_559,
    vendor: 'NVIDIA',
    computeCapability: '8.9',
  })
})

it('shows the viewer', async () => {
  const { account, apiKey } = await app.operations.accounts.create({
    email: 'Me@Example.com',
    name: 'Me',
    creditNanos: 25_500_000_000n,
  })
  const { data } = await app.graphql(apiKey, '{ viewer { account { id email name credit createdAt } } }')
  const { id, createdAt } = account
  expect(data.viewer.account).toEqual({
    id: `acc_${id}`,
    email: 'me@example.com',
    name: 'Me',
    credit: '25.5',
    createdAt: createdAt.toISOString(),
  })
})
