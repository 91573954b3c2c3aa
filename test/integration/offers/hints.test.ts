// A search for what does not exist finds nothing, and says what may have been meant.

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
    { model: { name: 'H100 SXM' } },
    { model: { name: 'H100 PCIe' } },
    { model: { name: 'RTX 4090' } },
  ])
})

afterAll(() => app.close())

const h100 = 'No GPU model is called "H100". Did you mean "H100 PCIe" or "H100 SXM"?'
const graphql = (filter: object, fields = 'nodes { id }') => app.graphql(key, queryOf(fields), { filter })
const queryOf = (fields: string) => `query ($filter: OfferFilter) { found: offers(filter: $filter) { ${fields} } }`
const rest = (body: object) => app.rest(key, 'POST', '/bundles/', body)

describe('a search over GraphQL', () => {
  const hintsOf = async (filter: object) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const body = JSON.stringify({ query: queryOf('nodes { id }'), variables: { filter } })
    const request = new Request('http://berth.test/graphql', { method: 'POST', headers, body })
    const { data, errors, extensions } = await app.fetch(request).then(answer => answer.json())
    expect([data.found.nodes, errors]).toEqual([[], undefined])
    expect(extensions.cost).toBeDefined()
    return extensions.hints
  }

  it('has a hint in the extensions of its answer, at the field that found nothing', async () => {
    expect(await hintsOf({ gpuName: { eq: 'H100' } })).toEqual([{ path: ['found'], message: h100 }])
    expect(await hintsOf({ or: [{ country: { in: ['Sweden'] } }] })).toEqual([
      { path: ['found'], message: 'No country has the code "Sweden". Did you mean SE (Sweden)?' },
    ])
    expect(await hintsOf({ gpuName: { eq: 'RTX 4090' }, numGpus: { gte: 16 } })).toBeUndefined()
  })

  it('reads the names of models only when it found nothing with one, and for three fields of an operation', async () => {
    const statements = (filter: object, fields?: string) => captureQueries(() => graphql(filter, fields))
    expect(await statements({ gpuName: { in: ['H100', 'RTX 4090'] } })).toHaveLength(1)
    expect(await statements({ country: { eq: 'Sweden' } })).toHaveLength(1)
    expect(await statements({ gpuName: { eq: 'H100' } })).toHaveLength(2)
    expect(await statements({ gpuName: { eq: 'H100' } }, 'totalCount')).toHaveLength(1)
    const many = Array.from(
      { length: 6 },
      (_, n) => `a${n}: offers(filter: { gpuName: { eq: "H100" } }) { nodes { id } }`,
    )
    const all = await captureQueries(() => app.graphql(key, `{ ${many.join(' ')} }`))
    expect(all.filter(text => text.includes('FROM gpu_models'))).toHaveLength(3)
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

  it('reads the names of models only when it found nothing with one', async () => {
    const statements = (body: object) => captureQueries(() => rest(body))
    expect(await statements({ gpu_name: { in: ['H100', 'RTX 4090'] } })).toHaveLength(1)
    expect(await statements({ gpu_name: { eq: 'H100' } })).toHaveLength(2)
  })
})
