import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { listMachines } from '../../support/factories.ts'
import { someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let key: string

/** Machines with various prices, reliabilities and free disks. The country identifies each machine. */
const machines = [
  { country: 'SE', diskPricePerGbMonthNanos: 100_000_000n, reliability: 0.9, diskMb: 50_000 },
  { country: 'US', diskPricePerGbMonthNanos: 300_000_000n, reliability: 0.95, diskMb: 500_000, datacenter: false },
  { country: 'KR', diskPricePerGbMonthNanos: 100_000_000n, reliability: 0.999, diskMb: 10_000 },
  {
    country: 'DE',
    diskPricePerGbMonthNanos: 200_000_000n,
    reliability: 0.8,
    diskMb: 999,
    verification: 'unverified' as const,
  },
  {
    country: 'FR',
    diskPricePerGbMonthNanos: 50_000_000n,
    reliability: 0.8,
    diskMb: 900_000,
    verification: 'deverified' as const,
  },
]

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
  const models = [{}, { name: 'H100 SXM' }, {}, {}, {}]
  await listMachines(
    app.operations,
    machines.map((machine, index) => ({ machine, model: models[index] ?? {} })),
  )
  await listMachines(app.operations, [
    { machine: { country: 'NO', listedUntil: app.clock.now() } },
    { machine: { country: 'FI' } },
    { machine: { country: 'DK' } },
  ])
  await app.sql(`UPDATE machines SET drained_at = now() WHERE country IN ('FI', 'DK')`)
  await app.sql(`UPDATE machines SET unlisted_at = now() WHERE country = 'DK'`)
})

afterAll(() => app.close())

async function page(args: string) {
  const query = `{ volumeOffers${args && `(${args})`} { totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    nodes { machine { country } } } }`
  const { data, errors } = await app.graphql(key, query)
  if (errors) throw new Error(errors[0]?.message)
  const { nodes, ...rest } = data.volumeOffers
  return { ...rest, countries: nodes.map((node: { machine: { country: string } }) => node.machine.country).join(' ') }
}

const found = async (args: string) => (await page(args)).countries

describe('volume offers', () => {
  it('are the listed machines with room for the volume, cheapest first', async () => {
    expect(await page('')).toMatchObject({ totalCount: 4, countries: 'FR SE KR US' })
    expect(await found('sizeGb: 10')).toBe('FR SE KR US')
    expect(await found('sizeGb: 10.001')).toBe('FR SE US')
    expect(await page('sizeGb: 500')).toMatchObject({ totalCount: 2, countries: 'FR US' })
    await expect(found('sizeGb: 0.9')).rejects.toThrow('sizeGb: must be a number of GB from 1 to 100000, not 0.9.')
  })

  it('are priced for the size of each field, whatever the size that the search fits', async () => {
    const query = `{ volumeOffers(sizeGb: 20, filter: { country: { eq: "se" } }) { nodes {
      id maxSizeGb price { sizeGb pricePerHour } large: price(sizeGb: 7.2) { sizeGb pricePerHour } diskPricePerGbMonth asOf machine { id } } } }`
    const [machine] = (await app.sql(`SELECT id FROM machines WHERE country = 'SE'`)) as { id: number }[]
    const offer = {
      id: `vof_${machine?.id}`,
      maxSizeGb: 50,
      price: { sizeGb: 1, pricePerHour: '0.000138889' },
      large: { sizeGb: 7.2, pricePerHour: '0.001' },
      diskPricePerGbMonth: '0.1',
      asOf: app.clock.now().toISOString(),
      machine: { id: `mch_${machine?.id}` },
    }
    expect((await app.graphql(key, query)).data.volumeOffers.nodes).toEqual([offer])
  })

  it.each([
    ['filter: { country: { in: ["SE", "us"] } }', 'SE US'],
    ['filter: { verified: true }', 'SE KR US'],
    ['filter: { verified: false }', 'FR'],
    ['filter: { datacenter: false }', 'US'],
    ['filter: { reliability: { gte: 0.95 } }', 'KR US'],
    ['filter: { diskPricePerGbMonth: { lte: "0.1" } }', 'FR SE KR'],
    ['filter: { gpuName: { eq: "h100 sxm" } }', 'US'],
    ['filter: { diskReadMegabytesPerSecond: { lt: 3000 } }', ''],
    ['filter: { reliability: { gte: 0.9 }, datacenter: true }', 'SE KR'],
    ['filter: { verified: null }', 'FR SE KR US'],
    ['orderBy: { direction: DESC }', 'US KR SE FR'],
    ['orderBy: { field: RELIABILITY, direction: DESC }', 'KR US SE FR'],
    ['orderBy: { field: MAX_SIZE_GB }', 'KR SE US FR'],
  ])('are found by %s: %s', async (args, countries) => {
    expect(await page(args)).toMatchObject({ countries, totalCount: countries.split(' ').filter(Boolean).length })
  })

  it('are found by the id of their machine', async () => {
    for (const { country } of machines.slice(0, 3)) {
      const [row] = (await app.sql(`SELECT id FROM machines WHERE country = '${country}'`)) as { id: number }[]
      for (const id of [`mch_${row?.id}`, row?.id]) {
        expect(await found(`filter: { machineId: { eq: "${id}" } }`)).toBe(country)
      }
    }
    await expect(found('filter: { machineId: { eq: "vof_1" } }')).rejects.toThrow(
      'filter.machineId.eq: "vof_1" is not an id',
    )
  })

  it('are nodes while they are on the market', async () => {
    const rows = (await app.sql('SELECT id, country FROM machines ORDER BY id')) as { id: number; country: string }[]
    const ids = [...rows.map(({ id }) => `vof_${id}`), 'vof_0', 'vof_99999999999']
    const query =
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on VolumeOffer { price { sizeGb } machine { country } } } }'
    const { data } = await app.graphql(key, query, { ids })
    const shown = data.nodes.map((node: { machine: { country: string } } | null) => node?.machine.country)
    // DE has less free disk than the smallest volume.
    expect(shown).toEqual(['SE', 'US', 'KR', undefined, 'FR', ...Array(5).fill(undefined)])
  })

  it.each(['PRICE_PER_HOUR', 'RELIABILITY', 'MAX_SIZE_GB'])(
    'are split into pages without gaps or overlaps by %s',
    async field => {
      for (const direction of ['ASC', 'DESC']) {
        const order = `orderBy: { field: ${field}, direction: ${direction} }`
        const all = await found(order)
        const forward: string[] = []
        let after = ''
        for (let more = true; more; ) {
          const { countries, pageInfo } = await page(`${order}, first: 1${after}`)
          forward.push(countries)
          after = `, after: "${pageInfo.endCursor}"`
          more = pageInfo.hasNextPage
        }
        expect(forward.join(' ')).toBe(all)
        const { pageInfo } = await page(`${order}, last: 1`)
        const before = await page(`${order}, last: 2, before: "${pageInfo.startCursor}"`)
        expect(before).toMatchObject({ countries: forward.slice(1, 3).join(' '), pageInfo: { hasPreviousPage: true } })
      }
    },
  )

  it('refuse cursors of another order', async () => {
    const { pageInfo } = await page('first: 1')
    const args = `orderBy: { field: RELIABILITY }, after: "${pageInfo.endCursor}"`
    await expect(found(args)).rejects.toThrow('This cursor belongs to another list, order or pricing')
    const forged = (position: unknown[]) =>
      Buffer.from(JSON.stringify(['v1', 'storage by price asc', ...position])).toString('base64url')
    for (const position of [['x', 1], ['1', 'x'], ['1', 1.5], ['1', 2 ** 31], ['1'], ['1', 1, 1], [1, 1]]) {
      await expect(found(`after: "${forged(position)}"`)).rejects.toThrow(
        'The cursor does not belong to this list. Use one that the list has returned.',
      )
    }
    expect(await found(`after: "${forged(['299999999', 1])}"`)).toBe('US')
  })

  it('need one statement, and one more for the count', async () => {
    await app.graphql(key, '{ viewer { account { id } } }')
    const nodes = 'nodes { id machine { id gpu { id } } }'
    const count = async (selection: string) =>
      (await captureQueries(() => app.graphql(key, `{ volumeOffers { ${selection} } }`))).length
    expect([await count(nodes), await count(`totalCount ${nodes}`)]).toEqual([1, 2])
  })

  it('read two columns for two fields', async () => {
    const query = '{ volumeOffers { nodes { maxSizeGb machine { country } } } }'
    const [statement] = await captureQueries(() => app.graphql(key, query))
    // The last is the place in the order, for the cursor.
    const columns = 'm.id,m.free_disk_mb,m.country,(m.disk_price_per_gb_month_nanos)::text'
    expect(statement).toContain(`SELECT ${columns} FROM machines`)
  })
})
