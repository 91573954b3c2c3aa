// A search for the best offer that rents nothing says why, and which offer comes nearest.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../../support/app.ts'
import { captureQueries } from '../../../support/database/captured-statements.ts'
import { listMachines } from '../../../support/factories.ts'
import { someCredit } from '../../../support/instances/rentals.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
  await listMachines(app.operations, [
    { model: { name: 'RTX 4090' }, machine: { gpuNanos: 400_000_000n, country: 'SE' } },
    { model: { name: 'RTX 4090' }, machine: { gpuNanos: 500_000_000n, country: 'US', reliability: 0.9 } },
    { model: { name: 'RTX 4090' }, machine: { gpuNanos: 450_000_000n, country: 'NO', numGpus: 2, reliability: 0.8 } },
    { model: { name: 'H100 SXM' }, machine: { gpuNanos: 2_000_000_000n, country: 'US', diskMb: 100_000 } },
    { model: { name: 'RTX 4090' }, machine: { gpuNanos: 900_000_000n, country: 'FI', numGpus: 4, reliability: 0.7 } },
  ])
  const taken =
    (await app.sql(`SELECT DISTINCT ON (gpu_model_id) o.id FROM offers o JOIN gpu_models g ON g.id = gpu_model_id
    WHERE num_gpus = 1 AND (name = 'H100 SXM' OR country = 'NO')`)) as { id: string }[]
  for (const { id } of taken) expect((await app.rest(key, 'PUT', `/asks/${id}/`, { image: 'ubuntu' })).status).toBe(200)
})

afterAll(() => app.close())

async function best(filter: object, input: object = {}) {
  const query = `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) {
    ... on RentBestOfferSuccess { instance { id } } ... on Error { code message }
    ... on NoOfferRentedError { attempts { offerId } reason nearest { gpuName numGpus machine { country } } } } }`
  const request = {
    filter,
    terms: { onDemand: { maxPricePerHour: '10' } },
    spec: { source: { image: 'ubuntu' } },
    ...input,
  }
  const { data, errors } = await app.graphql(key, query, { input: request })
  expect(errors).toBeUndefined()
  expect(data.rentBestOffer).toMatchObject({ code: 'NO_OFFER_RENTED', attempts: [] })
  return data.rentBestOffer
}

const onDemand = (maxPricePerHour: string) => ({ terms: { onDemand: { maxPricePerHour } } })
const inSweden = { gpuName: 'RTX 4090', numGpus: 1, machine: { country: 'SE' } }

describe('a search for the best offer over GraphQL', () => {
  it.each([
    ['the price limit of the terms', { gpuName: { eq: 'RTX 4090' } }, onDemand('0.3')],
    ['a price limit of the filter', { pricePerGpuHour: { lt: '0.1' } }, {}],
  ])('says that nothing is cheap enough for %s', async (_what, filter, input) => {
    const { reason, nearest, message } = await best(filter, input)
    expect({ reason, nearest }).toMatchObject({ reason: 'TOO_EXPENSIVE', nearest: inSweden })
    expect(message).toMatch(
      /^Matching offers are free, but none is cheap enough\. The cheapest, offer off_\d+, costs \$0\.404 an hour\.$/,
    )
  })

  it('says which bid would win', async () => {
    const { reason, message } = await best({}, { terms: { interruptible: { bidPerHour: '0.1' } } })
    expect(reason).toBe('TOO_EXPENSIVE')
    expect(message).toMatch(/The cheapest, offer off_\d+, takes a bid of \$0\.2 an hour\.$/)
  })

  it.each([
    ['at any price', onDemand('10')],
    ['and nothing is cheap enough', onDemand('0.1')],
  ])('says that nothing is free %s', async (_what, input) => {
    const { reason, message } = await best({ gpuName: { eq: 'H100 SXM' } }, input)
    expect(reason).toBe('NOTHING_FREE')
    expect(message).toMatch(
      /^Matching offers exist, but none was free: 1 × H100 SXM on machine mch_\d+ costs \$2\.004 an hour\./,
    )
  })

  it('says which free offer comes nearest to what is taken', async () => {
    const { nearest, message } = await best({ gpuName: { eq: 'H100 SXM' } })
    expect(nearest).toMatchObject(inSweden)
    expect(message).toMatch(/ The nearest, offer off_\d+, costs \$0\.404 an hour and has another GPU, RTX 4090\.$/)
  })

  it('says that nothing is free if a part of each block is taken', async () => {
    const { reason, message } = await best({ country: { eq: 'NO' }, numGpus: { eq: 2 } })
    expect(reason).toBe('NOTHING_FREE')
    expect(message).toMatch(/: 2 × RTX 4090 on machine mch_\d+ costs \$0\.904 an hour\. The nearest,/)
  })

  it.each([
    ['country', { gpuName: { eq: 'RTX 4090' }, country: { eq: 'DE' } }, {}, 'is in SE'],
    ['number of GPUs', { country: { eq: 'SE' }, numGpus: { gte: 4 } }, {}, 'has 1 GPU'],
    ['GPU', { country: { eq: 'SE' }, gpuName: { eq: 'H100 SXM' } }, {}, 'has another GPU, RTX 4090'],
    ['reliability', { reliability: { gte: 0.999 } }, {}, 'has the reliability 0.99'],
    ['disk', {}, { spec: { source: { image: 'ubuntu' }, diskGb: 5_000 } }, 'has 900 GB of free disk'],
    ['country at that price', { country: { eq: 'DE' } }, onDemand('0.1'), 'is in SE'],
    ['machine', { machineId: { eq: '999' } }, {}, 'is on machine mch_1'],
  ])('says which offer comes nearest when nothing has the %s', async (_what, filter, input, difference) => {
    const { reason, nearest, message } = await best(filter, input)
    expect({ reason, nearest }).toMatchObject({ reason: 'NOTHING_MATCHES', nearest: inSweden })
    expect(message).toMatch(
      /^No rentable offer matches the search\. The nearest, offer off_\d+, costs \$[\d.]+ an hour and /,
    )
    expect(message).toContain(`and ${difference}.`)
  })

  it.each([
    ['at least', { numGpus: { gte: 64 } }, 4, 'costs $3.604 an hour and has 4 GPUs.'],
    ['exactly, from below', { numGpus: { eq: 3 } }, 2, 'costs $1.804 an hour and has 2 GPUs.'],
    ['more', { gpuName: { eq: 'RTX 4090' }, reliability: { gt: 0.99 } }, 1, 'has the reliability 0.99.'],
    [
      'less',
      { country: { eq: 'FI' }, reliability: { lt: 0.7 } },
      1,
      'costs $0.904 an hour and has the reliability 0.7.',
    ],
  ])('says which offer comes closest to a number: %s', async (_what, filter, numGpus, difference) => {
    const { reason, nearest, message } = await best(filter)
    expect({ reason, nearest }).toMatchObject({ reason: 'NOTHING_MATCHES', nearest: { numGpus } })
    expect(message).toContain(difference)
  })

  it('says what may have been meant', async () => {
    expect(await best({ gpuName: { eq: 'H100' } })).toMatchObject({
      reason: 'NOTHING_MATCHES',
      nearest: null,
      message: 'No rentable offer matches the search. No GPU model is called "H100". Did you mean "H100 SXM"?',
    })
  })

  it('says that nothing comes near', async () => {
    expect(await best({ country: { eq: 'DE' }, numGpus: { gte: 4 }, hasAvx: false })).toMatchObject({
      reason: 'NOTHING_MATCHES',
      nearest: null,
      message: 'No rentable offer matches the search.',
    })
  })

  it('searches at most four times more', async () => {
    const searches = async (filter: object) =>
      (await captureQueries(() => best(filter))).filter(text => text.includes('FROM page JOIN offers')).length
    expect(await searches({ gpuName: { eq: 'RTX 4090' }, pricePerHour: { lt: '0.1' } })).toBe(2)
    expect(await searches({ country: { eq: 'DE' }, numGpus: { gte: 4 } })).toBe(4)
    expect(await searches({ numGpus: { gte: 64 } })).toBe(5)
  })
})

describe('a search for the best offer over REST', () => {
  const launch = (q: object) => app.rest(key, 'PUT', '/launch_instance/', { image: 'ubuntu', q })

  it('says the same, in its own words', async () => {
    const message = (text: RegExp) => ({
      status: 404,
      body: { error: 'no_such_ask', msg: expect.stringMatching(text) },
    })
    expect(await launch({ dph_total: { lte: 0.1 } })).toMatchObject(
      message(/none is cheap enough\. The cheapest, offer \d+, costs \$0\.404 an hour\.$/),
    )
    expect(await launch({ gpu_name: 'H100 SXM' })).toMatchObject(
      message(/none was free: 1 × H100 SXM on machine \d+ costs/),
    )
    expect(await launch({ cpu_cores: { gte: 512 } })).toMatchObject(message(/and has the cpu_cores 64\.$/))
    expect(await launch({ geolocation: 'Sweden' })).toMatchObject(message(/Did you mean SE \(Sweden\)\?$/))
  })
})
