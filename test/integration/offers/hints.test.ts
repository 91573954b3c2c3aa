// A search that names what does not exist, or may mean something else, says so beside what it finds.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { captureQueries } from '../../support/database/captured-statements.ts'
import { listMachines } from '../../support/factories.ts'
import { subscribeSse } from '../../support/streams.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey()
  await listMachines(app.operations, [
    { model: { name: 'H100 SXM' } },
    { model: { name: 'H100 PCIe' } },
    { model: { name: 'RTX 4090' }, machine: { city: 'Malmö' } },
  ])
})

afterAll(() => app.close())

const h100 = 'No GPU model is called "H100". Did you mean "H100 PCIe" or "H100 SXM"?'
const rtx4090 = 'No GPU model is called "RTX4090". Did you mean "RTX 4090"?'
const graphql = (filter: object, fields = 'nodes { id }') => app.graphql(key, queryOf(fields), { filter })
const queryOf = (fields: string) => `query ($filter: OfferFilter) { found: offers(filter: $filter) { ${fields} } }`
const rest = (body: object) => app.rest(key, 'POST', '/bundles/', body)

async function answerTo(query: string, variables: object = {}) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
  const body = JSON.stringify({ query, variables })
  const request = new Request('http://berth.test/graphql', { method: 'POST', headers, body })
  const { data, errors, extensions } = await app.fetch(request).then(answer => answer.json())
  expect(errors).toBeUndefined()
  expect(extensions.cost).toBeDefined()
  return { found: data.found, hints: extensions.hints }
}

describe('a search over GraphQL', () => {
  const search = (filter: object, fields?: string) => answerTo(queryOf(fields ?? 'nodes { id }'), { filter })
  const hint = (message: string) => [{ path: ['found'], message }]

  it('has a hint in the extensions of its answer, at the field that found nothing', async () => {
    const nothing = { nodes: [] }
    expect(await search({ gpuName: { eq: 'H100' } })).toEqual({ found: nothing, hints: hint(h100) })
    expect(await search({ or: [{ country: { in: ['Sweden'] } }] })).toEqual({
      found: nothing,
      hints: hint('No country has the code "Sweden". Did you mean SE (Sweden)?'),
    })
    const malmo = { city: { eq: 'Malmo' } }
    expect((await search(malmo)).hints).toEqual(hint('No machine is in a city called "Malmo". Did you mean "Malmö"?'))
    expect(await search({ gpuName: { eq: 'RTX 4090' }, numGpus: { gte: 16 } })).toEqual({ found: nothing })
  })

  it.each([
    ['in a list', { gpuName: { in: ['H100 SXM', 'RTX4090'] } }, 1],
    ['in an alternative', { or: [{ gpuName: { eq: 'RTX4090' } }, { gpuName: { eq: 'H100 SXM' } }] }, 1],
    ['that is left out', { gpuName: { neq: 'RTX4090' } }, 3],
    ['in a list that is left out', { gpuName: { nin: ['RTX4090'] } }, 3],
  ])('has a hint about an unknown name %s, beside what it finds', async (_what, filter, totalCount) => {
    expect(await search(filter, 'totalCount')).toEqual({ found: { totalCount }, hints: hint(rtx4090) })
  })

  it.each([
    [
      'an absent variable',
      'query ($name: String) { found: offers(filter: { gpuName: { eq: $name } }) { totalCount } }',
    ],
    ['nulls', '{ found: offers(filter: { or: [{ gpuName: { eq: null, in: null } }] }) { totalCount } }'],
  ])('has a hint about a comparison with %s, which leaves out nothing', async (_what, query) => {
    const place = query.includes('or:') ? 'filter.or.0.gpuName' : 'filter.gpuName'
    expect(await answerTo(query)).toEqual({
      found: { totalCount: 3 },
      hints: hint(`${place} has nothing to compare with, so it leaves out nothing.`),
    })
  })

  it('has no hint about a null that clients send for what they do not ask', async () => {
    expect((await search({ gpuName: null, numGpus: { gte: 1, lte: null } })).hints).toBeUndefined()
  })

  it('has a hint about memory in MB that is meant in GB', async () => {
    const [memory] = hint('cpuRamMb is in MB, and 64 MB is less than any machine has. Use cpuRamGb to compare GB.')
    expect((await search({ cpuRamMb: { gte: 64 } })).hints).toEqual([memory])
    const inGb = 'nodes { machine { cpuRamGb cpuRamMb } }'
    const machine = { cpuRamGb: 257, cpuRamMb: 257_000 }
    expect((await search({ cpuRamGb: { gt: 256 } }, inGb)).found.nodes).toEqual([{ machine }, { machine }, { machine }])
    expect((await search({ cpuRamGb: { gt: 257 } })).found.nodes).toEqual([])
  })

  it.each([
    ['volumeOffers', 'volumeOffers(filter: { gpuName: { eq: "RTX4090" } }) { nodes { id } }'],
    ['instances', 'instances(filter: { gpuName: { neq: "RTX4090" } }) { totalCount }'],
  ])('has the same hints for %s', async (_name, field) => {
    expect((await answerTo(`{ found: ${field} }`)).hints).toEqual(hint(rtx4090))
  })

  it('says that its prices are not those it compares', async () => {
    const other =
      'The answer shows another price than `pricing` compares. Give its field `price` the same `pricing`, as an argument.'
    const bids = 'pricing: { rentalKind: INTERRUPTIBLE }'
    const priced = async (pricing: string, fields: string) =>
      (await answerTo(`{ found: offers${pricing} { ${fields} } }`)).hints
    expect(await priced(`(${bids})`, 'nodes { price { pricePerHour } }')).toEqual(hint(other))
    expect(await priced(`(${bids})`, 'edges { node { ... on Offer { price { pricePerHour } } } }')).toEqual(hint(other))
    expect(await priced(`(${bids})`, `nodes { price(${bids}) { pricePerHour } }`)).toBeUndefined()
    expect(await priced(`(${bids})`, 'totalCount')).toBeUndefined()
    expect(await priced('(pricing: {})', 'nodes { price { pricePerHour } }')).toBeUndefined()
    expect(await priced('', 'nodes { price { pricePerHour } }')).toBeUndefined()
  })

  it('reads names only for a name that was not among those read before, and for three fields of an operation', async () => {
    const statements = (filter: object, fields?: string) => captureQueries(() => graphql(filter, fields))
    await graphql({ gpuName: { eq: 'H100 SXM' } })
    expect(await statements({ gpuName: { in: ['H100 SXM', 'RTX 4090'], neq: 'H100 PCIe' } })).toHaveLength(1)
    expect(await statements({ country: { eq: 'Sweden' } })).toHaveLength(1)
    expect(await statements({ gpuName: { eq: 'H100' }, city: { eq: 'Lund' } })).toHaveLength(2)
    expect(await statements({ gpuName: { in: ['H100', 'RTX 4090'] } }, 'totalCount')).toHaveLength(2)
    const [known, unknown] = ['RTX 4090', 'H100'].map(name =>
      Array.from(
        { length: 6 },
        (_, n) => `${name[0]}${n}: offers(filter: { gpuName: { eq: "${name}" } }) { nodes { id } }`,
      ),
    )
    const all = await captureQueries(() => app.graphql(key, `{ ${[known, unknown].flat().join(' ')} }`))
    expect(all.filter(text => text.includes('FROM gpu_models'))).toHaveLength(3)
    const { hints } = await answerTo(`{ found: __typename ${[known, unknown].flat().join(' ')} }`)
    const hinted = new Set(hints.map(({ path }: { path: string[] }) => path.join('.')))
    expect([...hinted]).toEqual([1, 2, 3].map(() => expect.stringMatching(/^H\d$/)))
  })

  it('reads the cities of all machines again after a minute', async () => {
    const statements = () => captureQueries(() => graphql({ city: { in: ['Oslo', 'Malmö'] } }, 'totalCount'))
    app.clock.advance(60_000)
    expect(await statements()).toHaveLength(2)
    expect(await statements()).toHaveLength(1)
    app.clock.advance(59_999)
    expect(await statements()).toHaveLength(1)
    app.clock.advance(1)
    expect(await statements()).toHaveLength(2)
  })

  it('knows a model from when a machine with it is listed', async () => {
    await graphql({ gpuName: { eq: 'L40S' } })
    await listMachines(app.operations, [{ model: { name: 'L40S' } }])
    expect(await search({ gpuName: { in: ['l40s'] } }, 'totalCount')).toEqual({ found: { totalCount: 1 } })
  })

  it.each([
    ['reliability', { reliability: { gte: 99 } }, 'filter.reliability.gte: must be from 0 to 1, such as 0.99, not 99.'],
    [
      'a list of shares',
      { gpuFraction: { in: [0.5, 50] } },
      'filter.gpuFraction.in: must be from 0 to 1, such as 0.5, not 50.',
    ],
  ])('refuses a percentage as %s', async (_what, filter, message) => {
    const { errors } = await graphql(filter)
    expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }])
  })
})

describe('a search over REST', () => {
  it('stays a 200 without offers, with a hint', async () => {
    expect(await rest({ gpu_name: { eq: 'H100' } })).toMatchObject({ status: 200, body: { offers: [], hint: h100 } })
    const percentage = await rest({ reliability: { gte: 99 } })
    expect([percentage.status, percentage.body]).toEqual([
      200,
      { offers: [], hint: 'Reliability must be from 0 to 1, such as 0.99, not 99.' },
    ])
  })

  it('has the body it always had when it found offers, or meant what it said', async () => {
    expect(Object.keys((await rest({ gpu_name: { eq: 'RTX_4090' } })).body)).toEqual(['offers'])
    expect((await rest({ gpu_name: { eq: 'RTX 4090' }, num_gpus: { gte: 16 } })).body).toEqual({ offers: [] })
  })

  it('reads names only when it found nothing, for a name that was not among those read before', async () => {
    const statements = (body: object) => captureQueries(() => rest(body))
    expect(await statements({ gpu_name: { in: ['H100', 'RTX 4090'] } })).toHaveLength(1)
    expect(await statements({ gpu_name: { eq: 'RTX 4090' }, num_gpus: { gte: 16 } })).toHaveLength(1)
    expect(await statements({ gpu_name: { eq: 'H100' } })).toHaveLength(2)
  })
})

describe('a stream of offers', () => {
  const watch = async (filter: string) =>
    (await subscribeSse(app.fetch, key, `subscription { offerChanges(filter: { ${filter} }) { kind } }`)).next()

  it.each([
    ['gpuName: { eq: "RTX4090" }', `filter.gpuName.eq: ${rtx4090}`],
    ['or: [{ gpuName: { nin: ["RTX4090"] } }]', `filter.or.0.gpuName.nin: ${rtx4090}`],
    ['country: { in: ["Sweden"] }', 'filter.country.in: No country has the code "Sweden". Did you mean SE (Sweden)?'],
  ])('is refused if it would wait for ever: %s', async (filter, message) => {
    expect(await watch(filter)).toMatchObject({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] })
  })

  it('waits for a model that is new, by a part of its name', async () => {
    const stream = await subscribeSse(
      app.fetch,
      key,
      'subscription { offerChanges(filter: { gpuName: { startsWith: "B300" } }) { kind offer { gpuName } } }',
    )
    const listed = stream.next()
    await listMachines(app.operations, [{ model: { name: 'B300 SXM' } }])
    expect(await listed).toMatchObject({ data: { offerChanges: { kind: 'ADDED', offer: { gpuName: 'B300 SXM' } } } })
    await stream.close()
  })
})
