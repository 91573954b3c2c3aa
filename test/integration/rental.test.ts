import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../support/app.ts'
import { listMachines } from '../support/factories.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  await listMachines(app.operations, [{ machine: { numGpus: 2 } }])
  key = await app.newKey()
  await app.sql('UPDATE accounts SET posted_nanos = 100000000000')
})

afterAll(() => app.close())

const instanceFields = `id status targetState statusReason { code message } terminal label gpuName numGpus diskGb pricePerHour
  diskPricePerHour rentalType bidPerHour connection { host sshPort sshCommand ports { containerPort hostPort protocol } }
  launch { image mode env { name value } warnings } machine { id country } offer { id rentable }`

async function rent(offerId: string, spec: object = { source: { image: 'ubuntu' } }) {
  const { data, errors } = await app.graphql(
    key,
    `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
      __typename
      ... on RentInstanceSuccess { instance { ${instanceFields} } }
      ... on Error { code message retryable }
      ... on InvalidInputError { issues { path message } }
      ... on OfferUnavailableError { alternatives { id } yourInstance { id } }
    } }`,
    { input: { offerId, spec } },
  )
  expect(errors).toBeUndefined()
  return data.rentInstance
}

async function read(id: string) {
  const { data, errors } = await app.graphql(key, `{ instance(id: "${id}") { ${instanceFields} } }`)
  expect(errors).toBeUndefined()
  return data.instance
}

describe('a rental', () => {
  it('goes from rent to running', async () => {
    const { data } = await app.graphql(key, '{ offers { nodes { id numGpus } } }')
    const offer = data.offers.nodes.find((node: { numGpus: number }) => node.numGpus === 1)
    const result = await rent(offer.id, {
      source: { image: 'ubuntu' },
      mode: { ssh: { direct: true } },
      label: 'first',
    })
    const { id } = result.instance
    await app.idle()
    expect((await read(id)).status).toBe('LOADING')
    app.clock.advance(30_000)
    await app.idle()
    app.clock.advance(30_000)
    await app.idle()
    const running = await read(id)
    expect(running.status).toBe('RUNNING')
  })
})
