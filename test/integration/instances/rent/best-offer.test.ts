// Search and rent in one call.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aPublicKey } from '../../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { listMachines, type MachineListing } from '../../../support/factories.ts'
import { someCredit } from '../../../support/instances/rentals.ts'

let app: TestApp
let key: string

beforeAll(async () => {
  app = await startApp()
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

/** Each test has a market for itself: what was listed before is in another country. */
let country = ''
let tests = 0
beforeEach(() => {
  tests += 1
  country = `${String.fromCharCode(65 + tests)}Z`
})

/** Lists machines of one GPU at these prices in dollars, and gives the ids of their offers. */
async function market(...machines: MachineListing['machine'][]): Promise<string[]> {
  await listMachines(
    app.operations,
    machines.map(machine => ({ machine: { country, ...machine } })),
  )
  const rows = await app.sql(
    `SELECT o.id FROM offers o WHERE country = '${country}' AND num_gpus = 1 ORDER BY machine_id, id`,
  )
  return rows.map(row => `off_${(row as { id: string }).id}`)
}

const priced = (dollars: number, machine: MachineListing['machine'] = {}) => ({
  gpuNanos: BigInt(Math.round(dollars * 1e9)),
  ...machine,
})

async function best(input: object = {}, by = key) {
  const wanted = {
    filter: { country: { eq: country } },
    terms: { onDemand: { maxPricePerHour: '10' } },
    spec: { source: { image: 'ubuntu' } },
    ...input,
  }
  const { data, errors } = await app.graphql(
    by,
    `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) { __typename
      ... on RentBestOfferSuccess { replayed attempts { offerId failure } instance { id pricePerHour offer { id } bidPerHour } }
      ... on Error { code message retryable } ... on NoOfferRentedError { attempts { offerId failure } }
      ... on InvalidInputError { issues { path } } } }`,
    { input: wanted },
  )
  expect(errors).toBeUndefined()
  return data.rentBestOffer
}

it('refuses a filter whose variable was forgotten, and rents nothing', async () => {
  await market(priced(0.2))
  const [before] = await app.sql('SELECT count(*) FROM instances')
  for (const filter of [{ gpuName: {} }, { numGpus: { gte: null } }, { or: [{ gpuName: { eq: null } }] }]) {
    const path = expect.stringMatching(/^filter\.(gpuName|numGpus|or\.0\.gpuName)$/)
    expect(await best({ filter })).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path }] })
  }
  const absent = `mutation ($filter: OfferFilter) { rentBestOffer(input: { filter: $filter,
    terms: { onDemand: { maxPricePerHour: "9" } }, spec: { source: { image: "u" } } }) { __typename } }`
  expect((await app.graphql(key, absent)).errors?.[0]?.message).toContain('OfferFilter!')
  expect(await app.sql('SELECT count(*) FROM instances')).toEqual([before])
})

const rented = (offerId: string) => ({ attempts: [{ offerId, failure: null }], instance: { offer: { id: offerId } } })

describe('the best offer', () => {
  it('is the cheapest, with the disk that is asked for', async () => {
    // Cheap GPUs beside an expensive disk.
    const [, second] = await market(priced(0.2, { storageNanos: 10_000_000_000n }), priced(0.3))
    expect(await best({ spec: { source: { image: 'ubuntu' }, diskGb: 100 } })).toMatchObject(rented(second as string))
  })

  it('is the first in the order that is asked for', async () => {
    const [, second] = await market(priced(0.2, { reliability: 0.9 }), priced(0.3, { reliability: 0.99 }))
    const orderBy = [{ field: 'RELIABILITY', direction: 'DESC' }]
    expect(await best({ orderBy })).toMatchObject(rented(second as string))
  })

  it('costs at most what it may cost', async () => {
    await market(priced(0.3))
    expect(await best({ terms: { onDemand: { maxPricePerHour: '0.3' } } })).toMatchObject({
      code: 'NO_OFFER_RENTED',
      attempts: [],
      retryable: true,
    })
    expect(await best({ terms: { onDemand: { maxPricePerHour: '0.304' } } })).toMatchObject({
      __typename: 'RentBestOfferSuccess',
    })
  })

  it('is one where the bid wins at once', async () => {
    const [first, second] = await market(
      priced(0.2, { minBidGpuNanos: 100_000_000n }),
      priced(0.3, { minBidGpuNanos: 100_000_000n }),
    )
    const terms = { interruptible: { bidPerHour: '0.15' } }
    const winners = [await best({ terms }), await best({ terms })]
    expect(winners.map(({ instance }) => instance.offer.id).toSorted()).toEqual([first, second].toSorted())
    expect(winners[0].instance.bidPerHour).toBe('0.15')
    expect(await best({ terms })).toMatchObject({ code: 'NO_OFFER_RENTED' })
  })

  it('is one of a machine that has the public ports which are wanted', async () => {
    const [, second] = await market(priced(0.2, { firstPort: 20_000, lastPort: 20_000 }), priced(0.3))
    const spec = { source: { image: 'ubuntu' }, ports: [{ containerPort: 80 }, { containerPort: 81 }] }
    expect(await best({ spec })).toMatchObject({ attempts: [{ offerId: second, failure: null }] })
  })

  it('is one of a machine with virtual machines where one is wanted', async () => {
    const [, second] = await market(priced(0.2), priced(0.3, { vmsEnabled: true }))
    const renter = await app.newKey(null, someCredit)
    const register = `mutation { registerSshKey(input: { publicKey: "${aPublicKey('vm')}" }) { __typename } }`
    await app.graphql(renter, register)
    const spec = { source: { image: 'ubuntu' }, kind: 'VM' }
    expect(await best({ spec }, renter)).toMatchObject(rented(second as string))
  })

  it('is not one whose GPUs others have', async () => {
    const two = { numGpus: 2 }
    const [taken] = await market(priced(0.2, two), priced(0.3, two))
    const rows = await app.sql(
      `SELECT id FROM offers WHERE country = '${country}' AND num_gpus = 2 ORDER BY machine_id`,
    )
    // Also where a search would show both.
    const filter = { country: { eq: country }, numGpus: { eq: 2 }, rentable: null }
    await app.rest(key, 'PUT', `/asks/${taken?.slice('off_'.length)}/`, { image: 'ubuntu' })
    expect(await best({ filter })).toMatchObject(rented(`off_${(rows[1] as { id: string }).id}`))
    expect(await best({ filter })).toMatchObject({ code: 'NO_OFFER_RENTED', attempts: [] })
  })

  it('is the next one where a bid would have to wait after all', async () => {
    const cheap = priced(0.2, { minBidGpuNanos: 100_000_000n })
    const [first, second] = await market(cheap, cheap)
    await app.rest(key, 'PUT', `/asks/${first?.slice('off_'.length)}/`, { image: 'ubuntu', price: 0.18 })
    // As a search shows it that began before.
    const [stale] =
      await app.sql(`UPDATE offers SET min_bid_nanos = 90000000, bid_price_nanos = bid_price_nanos - min_bid_nanos + 90000000
      WHERE country = '${country}' AND withdrawn_at IS NULL AND min_bid_nanos > 150000000 RETURNING 'off_' || id AS id`)
    const { id } = stale as { id: string }
    expect(await best({ terms: { interruptible: { bidPerHour: '0.15' } } })).toMatchObject({
      attempts: [
        { offerId: id, failure: 'OFFER_UNAVAILABLE' },
        { offerId: second, failure: null },
      ],
    })
  })

  it('is rented by each of many who want it at once, as long as there are offers', async () => {
    await market(...Array.from({ length: 5 }, (_, index) => priced(0.2 + index / 100)))
    const answers = await Promise.all(Array.from({ length: 8 }, () => best({ maxAttempts: 20 })))
    const offers = answers.flatMap(({ instance }) => (instance ? [instance.offer.id] : []))
    expect(new Set(offers).size).toBe(5)
    expect(offers).toHaveLength(5)
    const failed = answers.filter(({ code }) => code === 'NO_OFFER_RENTED')
    expect(failed).toHaveLength(3)
    for (const { attempts = [] } of answers) {
      for (const { failure } of attempts) expect(['OFFER_UNAVAILABLE', null]).toContain(failure)
    }
  })

  it('is rented once for one idempotency key, however often it is asked for at once', async () => {
    await market(priced(0.2), priced(0.3), priced(0.4))
    const answers = await Promise.all(Array.from({ length: 10 }, () => best({ idempotencyKey: 'best' })))
    expect(new Set(answers.map(({ instance }) => instance?.id)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await best({ idempotencyKey: 'best' })).toEqual({
      ...answers.find(({ replayed }) => replayed),
      replayed: true,
    })
    expect(await best({ idempotencyKey: 'best', maxAttempts: 3 })).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})

describe('a key that is bound to one offer', () => {
  const boundTo = (offer: string) => {
    const constraints = { offerId: { eq: Number(offer.slice('off_'.length)) } }
    return app.newScopedKey(key, {
      api: { misc: {}, instance_read: {}, instance_write: { 'instances.rent': { constraints } } },
    })
  }
  const codeOf = async (by: string, idempotencyKey: string) => {
    const query = `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) { ... on RentBestOfferSuccess { instanceApiKey } } }`
    const input = {
      filter: { country: { eq: country } },
      terms: { onDemand: { maxPricePerHour: '10' } },
      spec: { source: { image: 'ubuntu' } },
      idempotencyKey,
    }
    return (await app.graphql(by, query, { input })).errors?.[0]?.extensions['code']
  }

  it('rents that one, however many are better', async () => {
    const [, , third] = await market(priced(0.2), priced(0.3), priced(0.4))
    expect(await best({}, await boundTo(third as string))).toMatchObject(rented(third as string))
    expect(await codeOf(await boundTo(third as string), 'none')).toBe('FORBIDDEN')
  })

  it('is told nothing of what another key of the account rented with the same request', async () => {
    const [, second] = await market(priced(0.2), priced(0.3))
    expect(await codeOf(key, 'told')).toBeUndefined()
    const asked = await best({ idempotencyKey: 'told' }, await boundTo(second as string))
    expect(asked).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})

describe('no offer is tried', () => {
  const attempted = async () => (await app.sql('SELECT count(*)::int AS count FROM instances'))[0]

  it('when the wish is wrong, and everything wrong is said', async () => {
    await market(priced(0.2))
    const before = await attempted()
    const answer = await best({
      spec: { source: { image: '-x' }, label: 'l'.repeat(257) },
      terms: { interruptible: { bidPerHour: '200' } },
    })
    expect(answer.issues.map(({ path }: { path: string }) => path).toSorted()).toEqual([
      'spec.label',
      'spec.source.image',
      'terms.interruptible.bidPerHour',
    ])
    expect(await best({ maxAttempts: 0 })).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'maxAttempts' }] })
    expect(await best({ maxAttempts: 51 })).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path: 'maxAttempts' }] })
    expect(await attempted()).toEqual(before)
  })

  it('without credit, or by a key that may not rent or not search', async () => {
    await market(priced(0.2))
    expect(await best({}, await app.newKey())).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
    for (const api of [{ instance_write: {} }, { misc: {} }]) {
      const { errors } = await app.graphql(
        await app.newScopedKey(key, { api }),
        `mutation { rentBestOffer(input: { filter: {}, terms: { onDemand: { maxPricePerHour: "1" } }, spec: { source: { image: "u" } } }) { __typename } }`,
      )
      expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
    }
  })
})

it('does not try a machine that lacks the public ports which the launch needs', async () => {
  const [, dear] = await market(priced(0.1, { lastPort: 20_000 }), priced(0.2))
  const rented = await best({ spec: { source: { image: 'ubuntu' }, mode: { jupyter: {} } } })
  expect(rented).toMatchObject({ attempts: [{ offerId: dear, failure: null }], instance: { offer: { id: dear } } })
})
