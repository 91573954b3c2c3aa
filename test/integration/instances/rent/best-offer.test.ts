// Renting the best offer of a search in one call.

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

/** Each test has its own market: a country without earlier listings. */
let country = ''
let tests = 0
beforeEach(() => {
  tests += 1
  country = `${String.fromCharCode(65 + (tests % 26))}${tests < 26 ? 'Z' : 'Y'}`
})

/** Lists machines, and returns the ids of their offers of one GPU. */
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
  const request = {
    filter: { country: { eq: country } },
    terms: { onDemand: { maxPricePerHour: '10' } },
    spec: { source: { image: 'ubuntu' } },
    ...input,
  }
  const { data, errors } = await app.graphql(
    by,
    `mutation ($input: RentBestOfferInput!) { rentBestOffer(input: $input) { __typename
      ... on RentBestOfferSuccess { replayed attempts { offerId failure } instance { id pricePerHour offer { id } bidPerHour } }
      ... on Error { code message retry } ... on NoOfferRentedError { attempts { offerId failure } }
      ... on InvalidInputError { issues { path } } } }`,
    { input: request },
  )
  expect(errors).toBeUndefined()
  return data.rentBestOffer
}

describe('a filter with a condition without a value', () => {
  const countInstances = async () => await app.sql('SELECT count(*) FROM instances')

  it.each([
    ['an empty comparison', { gpuName: {} }, 'filter.gpuName'],
    ['a comparison with null', { numGpus: { gte: null } }, 'filter.numGpus.gte'],
    ['a null beside a value', { numGpus: { gte: 1, lte: null } }, 'filter.numGpus.lte'],
    [
      'a null in an alternative',
      { or: [{ numGpus: { gte: 1 } }, { gpuName: { eq: null } }] },
      'filter.or.1.gpuName.eq',
    ],
    ['an alternative without a condition', { or: [{}] }, 'filter.or.0'],
    ['a field that is null', { verified: null }, 'filter.verified'],
    ['null for a comparison', { gpuName: null }, 'filter.gpuName'],
  ])('rents nothing: %s', async (_what, filter, path) => {
    await market(priced(0.2))
    const before = await countInstances()
    expect(await best({ filter })).toMatchObject({ code: 'INVALID_INPUT', issues: [{ path }] })
    expect(await countInstances()).toEqual(before)
  })

  it.each([
    ['of a comparison', '$text: String', '{ gpuName: { eq: $text } }', 'filter.gpuName.eq'],
    [
      'beside a value',
      '$least: Int',
      '{ country: { eq: "SE" }, numGpus: { gte: $least, lte: 2 } }',
      'filter.numGpus.gte',
    ],
    ['of a field', '$name: StringFilter', '{ gpuName: $name }', 'filter.gpuName'],
    [
      'of one alternative without a list',
      '$text: String',
      '{ or: { gpuName: { eq: $text } } }',
      'filter.or.0.gpuName.eq',
    ],
  ])('rents nothing: an absent variable %s', async (_what, variable, filter, path) => {
    await market(priced(0.2))
    const before = await countInstances()
    const { data, errors } = await app.graphql(
      key,
      `mutation (${variable}) { rentBestOffer(input: { filter: ${filter}, terms: { onDemand: { maxPricePerHour: "9" } },
        spec: { source: { image: "u" } } }) { ... on InvalidInputError { issues { path message } } } }`,
    )
    const message = 'has nothing to compare with. Give a value or omit the field.'
    expect([data?.rentBestOffer, errors]).toEqual([{ issues: [{ path, message }] }, undefined])
    expect(await countInstances()).toEqual(before)
  })

  it('is refused by the schema if the whole filter is an absent variable', async () => {
    const absent = `mutation ($filter: OfferFilter) { rentBestOffer(input: { filter: $filter,
      terms: { onDemand: { maxPricePerHour: "9" } }, spec: { source: { image: "u" } } }) { __typename } }`
    expect((await app.graphql(key, absent)).errors?.[0]?.message).toContain('OfferFilter!')
  })

  it('is a filter if the variable has a default value', async () => {
    await market(priced(0.2))
    const { data } = await app.graphql(
      key,
      `mutation ($country: String = "${country}") { rentBestOffer(input: { filter: { country: { eq: $country } },
        terms: { onDemand: { maxPricePerHour: "9" } }, spec: { source: { image: "u" } } }) { __typename } }`,
    )
    expect(data.rentBestOffer).toEqual({ __typename: 'RentBestOfferSuccess' })
  })
})

const rented = (offerId: string) => ({ attempts: [{ offerId, failure: null }], instance: { offer: { id: offerId } } })

describe('the best offer', () => {
  it('is the cheapest, including the requested disk', async () => {
    // Cheap GPUs with an expensive disk.
    const [, second] = await market(priced(0.2, { diskPricePerGbMonthNanos: 10_000_000_000n }), priced(0.3))
    expect(await best({ spec: { source: { image: 'ubuntu' }, diskGb: 100 } })).toMatchObject(rented(second as string))
  })

  it('is the first in the requested order', async () => {
    const [, second] = await market(priced(0.2, { reliability: 0.9 }), priced(0.3, { reliability: 0.99 }))
    const orderBy = [{ field: 'RELIABILITY', direction: 'DESC' }]
    expect(await best({ orderBy })).toMatchObject(rented(second as string))
  })

  it('costs at most maxPricePerHour', async () => {
    await market(priced(0.3))
    expect(await best({ terms: { onDemand: { maxPricePerHour: '0.3' } } })).toMatchObject({
      code: 'NO_OFFER_RENTED',
      attempts: [],
      retry: 'AFTER_FIX',
    })
    expect(await best({ terms: { onDemand: { maxPricePerHour: '0.304' } } })).toMatchObject({
      __typename: 'RentBestOfferSuccess',
    })
  })

  it('is an offer whose GPUs the bid wins at once', async () => {
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

  it('is on a machine with enough public ports', async () => {
    const [, second] = await market(priced(0.2, { firstPort: 20_000, lastPort: 20_000 }), priced(0.3))
    const spec = { source: { image: 'ubuntu' }, ports: [{ containerPort: 80 }, { containerPort: 81 }] }
    expect(await best({ spec })).toMatchObject({ attempts: [{ offerId: second, failure: null }] })
  })

  it('is on a machine that allows virtual machines when a virtual machine is requested', async () => {
    const [, second] = await market(priced(0.2), priced(0.3, { vmsEnabled: true }))
    const renter = await app.newKey(null, someCredit)
    const register = `mutation { createSshKey(input: { publicKey: "${aPublicKey('vm')}" }) { __typename } }`
    await app.graphql(renter, register)
    const spec = { source: { image: 'ubuntu' }, kind: 'VM' }
    expect(await best({ spec }, renter)).toMatchObject(rented(second as string))
  })

  it('is never an offer whose GPUs are rented', async () => {
    const two = { numGpus: 2 }
    const [taken] = await market(priced(0.2, two), priced(0.3, two))
    const rows = await app.sql(
      `SELECT id FROM offers WHERE country = '${country}' AND num_gpus = 2 ORDER BY machine_id`,
    )
    // A search with this filter shows both offers.
    const filter = { country: { eq: country }, numGpus: { eq: 2 }, availability: 'ANY' }
    await app.rest(key, 'PUT', `/asks/${taken?.slice('off_'.length)}/`, { image: 'ubuntu' })
    expect(await best({ filter })).toMatchObject(rented(`off_${(rows[1] as { id: string }).id}`))
    expect(await best({ filter })).toMatchObject({ code: 'NO_OFFER_RENTED', attempts: [] })
  })

  it('is the next offer when the bid would have to wait for the first after all', async () => {
    const cheap = priced(0.2, { minBidGpuNanos: 100_000_000n })
    const [first, second] = await market(cheap, cheap)
    await app.rest(key, 'PUT', `/asks/${first?.slice('off_'.length)}/`, { image: 'ubuntu', price: 0.18 })
    // A stale offer, as an earlier search shows it.
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

  it('goes to different callers at once, as long as there are offers', async () => {
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

  it('is rented once by many simultaneous requests with one idempotency key', async () => {
    await market(priced(0.2), priced(0.3), priced(0.4))
    const answers = await Promise.all(Array.from({ length: 10 }, () => best({ idempotencyKey: 'best' })))
    expect(new Set(answers.map(({ instance }) => instance?.id)).size).toBe(1)
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
    expect(await best({ idempotencyKey: 'best' })).toEqual({
      ...answers.find(({ replayed }) => replayed),
      replayed: true,
    })
    const again = { idempotencyKey: 'best', filter: { country: { eq: country.toLowerCase() } } }
    expect(await best(again)).toMatchObject({ replayed: true })
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

  it('rents only that offer, even if other offers are better', async () => {
    const [, , third] = await market(priced(0.2), priced(0.3), priced(0.4))
    expect(await best({}, await boundTo(third as string))).toMatchObject(rented(third as string))
    expect(await codeOf(await boundTo(third as string), 'none')).toBe('FORBIDDEN')
  })

  it('does not see the rental of another key with the same request', async () => {
    const [, second] = await market(priced(0.2), priced(0.3))
    expect(await codeOf(key, 'same')).toBeUndefined()
    const answer = await best({ idempotencyKey: 'same' }, await boundTo(second as string))
    expect(answer).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})

describe('a search for the best offer', () => {
  const countInstances = async () => (await app.sql('SELECT count(*)::int AS count FROM instances'))[0]

  it('is refused with all issues of its input, and tries no offer', async () => {
    await market(priced(0.2))
    const before = await countInstances()
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
    expect(await countInstances()).toEqual(before)
  })

  it('is refused for an account without credit, and for a key that may not rent or search', async () => {
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

  it('is refused for a missing permission before its input is parsed', async () => {
    for (const api of [{ instance_write: {} }, { misc: {} }]) {
      const scoped = await app.newScopedKey(key, { api })
      const { errors } = await app.graphql(
        scoped,
        `mutation { rentBestOffer(input: { filter: { machineId: { eq: "off_1" } },
          terms: { onDemand: { maxPricePerHour: "1" } }, spec: { source: { template: { by: { id: "ins_1" } } } } }) { __typename } }`,
      )
      expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
    }
  })
})

it('does not try a machine with too few public ports for the launch', async () => {
  const [, dear] = await market(priced(0.1, { lastPort: 20_000 }), priced(0.2))
  const rented = await best({ spec: { source: { image: 'ubuntu' }, mode: { jupyter: {} } } })
  expect(rented).toMatchObject({ attempts: [{ offerId: dear, failure: null }], instance: { offer: { id: dear } } })
})
