// Quotes: the price and the blockers of a rental, without renting.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { aPublicKey } from '../../../support/accounts/ssh-keys.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { withSession } from '../../../support/database/sessions.ts'
import { type Rentals, rentalsOf, someCredit } from '../../../support/instances/rentals.ts'
import { modeSelection, readModes } from '../../../support/launch/modes.ts'
import { volumesOf } from '../../../support/volumes/volumes.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const blocker = `__typename code message ... on InvalidInputError { issues { path message } }
  ... on BidTooLowError { hostMinimumBidPerHour } ... on OfferUnavailableError { alternatives { id } }`

async function ask(by: string, field: 'rentQuote' | 'rentInstance', offer: number, input: object = {}) {
  const request = { offerId: String(offer), spec: { source: { image: 'ubuntu' } }, ...input }
  const fields = {
    rentQuote: `offer { id } rentable waits pricePerHour gpuPricePerHour diskPricePerHour warnings
      launch { image ${modeSelection} diskGb warnings } blockers { ${blocker} }`,
    rentInstance: `... on RentInstanceSuccess { instance { id pricePerHour diskPricePerHour } warnings } ... on Error { ${blocker} }`,
  }
  const operation = field === 'rentQuote' ? 'query' : 'mutation'
  const query = `${operation} ($input: RentInstanceInput!) { ${field}(input: $input) { ${fields[field]} } }`
  const { data, errors } = await app.graphql(by, query, { input: request })
  expect(errors).toBeUndefined()
  return data[field]
}

const codesOf = (quote: { blockers: { code: string }[] }) => quote.blockers.map(({ code }) => code)

it('quotes the price that is charged, to the nano-dollar', async () => {
  const offer = await rentals.newOffer({ numGpus: 3 })
  const spec = { source: { image: 'ubuntu' }, diskGb: 123.456, mode: { jupyter: { direct: true } } }
  const quote = await ask(key, 'rentQuote', offer, { spec })
  expect(quote).toMatchObject({
    offer: { id: `off_${offer}` },
    rentable: true,
    waits: false,
    blockers: [],
    launch: { image: 'ubuntu', mode: readModes.jupyter_direct, diskGb: 123.456 },
  })
  const { instance } = await ask(key, 'rentInstance', offer, { spec })
  expect([quote.pricePerHour, quote.diskPricePerHour]).toEqual([instance.pricePerHour, instance.diskPricePerHour])
})

it.each(['rentQuote', 'rentInstance'])('%s refuses the id of another type as an offer', async field => {
  const input = '(input: { offerId: "mch_1", spec: { source: { image: "ubuntu" } } })'
  const query =
    field === 'rentQuote'
      ? `query { rentQuote${input} { rentable } }`
      : `mutation { rentInstance${input} { ... on InvalidInputError { issues { path } } } }`
  const { data, errors } = await app.graphql(key, query)
  expect((errors?.[0]?.extensions ?? data[field]).issues[0].path).toBe('offerId')
})

it('changes nothing when it is repeated', async () => {
  const offer = await rentals.newOffer()
  const world = () =>
    app.sql(`SELECT (SELECT count(*) FROM instances) AS instances, (SELECT count(*) FROM events) AS events,
      (SELECT json_agg(o ORDER BY id) FROM offers o)::text AS offers, (SELECT json_agg(m ORDER BY id) FROM machines m)::text AS machines`)
  const before = await world()
  for (let time = 0; time < 3; time += 1) await ask(key, 'rentQuote', offer)
  expect(await world()).toEqual(before)
})

it('names all blockers at once, and renting fails with the first', async () => {
  const poor = await app.newKey()
  const offer = await rentals.newOffer({ vmsEnabled: false, diskMb: 50_000 })
  const invalidInput = {
    spec: { source: { image: '-x' }, kind: 'VM', diskGb: 60, label: 'l'.repeat(257) },
    terms: { interruptible: { bidPerHour: '0.0001' } },
  }
  const invalid = await ask(poor, 'rentQuote', offer, invalidInput)
  expect(invalid.rentable).toBe(false)
  expect(codesOf(invalid)).toEqual(['INVALID_INPUT', 'INSUFFICIENT_CREDIT', 'BID_TOO_LOW'])
  const paths = invalid.blockers[0].issues.map(({ path }: { path: string }) => path)
  expect(paths.toSorted()).toEqual(['spec.label', 'spec.source.image', 'terms.interruptible.bidPerHour'])

  const valid = { ...invalidInput, spec: { source: { image: 'ubuntu' }, kind: 'VM', diskGb: 60 } }
  const lacking = await ask(poor, 'rentQuote', offer, { ...valid, terms: { interruptible: { bidPerHour: '0.001' } } })
  expect(codesOf(lacking)).toEqual(['SSH_KEY_REQUIRED', 'INVALID_INPUT', 'INSUFFICIENT_CREDIT', 'BID_TOO_LOW'])
  expect(lacking.blockers[1].issues.map(({ path }: { path: string }) => path)).toEqual(['spec.diskGb', 'spec.kind'])
  expect((await ask(poor, 'rentInstance', offer, valid)).code).toBe('SSH_KEY_REQUIRED')
})

it('has the same error as the rental, for each blocker alone', async () => {
  const poor = await app.newKey()
  const taken = await rentals.newOffer()
  await ask(key, 'rentInstance', taken)
  const free = await rentals.newOffer({ vmsEnabled: true })
  const cases: [string, number, object][] = [
    [poor, free, {}],
    [key, taken, {}],
    [key, 987_654_321, {}],
    [key, free, { terms: { onDemand: { maxPricePerHour: '0.1' } } }],
    [key, free, { terms: { interruptible: { bidPerHour: '0.001' } } }],
    [key, free, { spec: { source: { image: 'ubuntu' }, kind: 'VM' } }],
    [key, free, { spec: { source: { image: 'ubuntu' }, diskGb: 901 } }],
    [key, free, { spec: { source: { template: { by: { hashId: '0'.repeat(32) } } } } }],
  ]
  for (const [by, offer, input] of cases) {
    const { blockers } = await ask(by, 'rentQuote', offer, input)
    const refusal = await ask(by, 'rentInstance', offer, input)
    expect(blockers).toHaveLength(1)
    expect(blockers[0]).toEqual(refusal)
  }
})

it('is blocked for a key that may quote but not rent this offer, with the message of the rental', async () => {
  const [offer, other] = [await rentals.newOffer(), await rentals.newOffer()]
  const readers = { misc: {}, instance_read: {} }
  const onlyOffer = { 'instances.rent': { constraints: { offerId: { eq: offer } } } }
  const reader = await app.newScopedKey(key, { api: readers })
  const renter = await app.newScopedKey(key, { api: { ...readers, instance_write: onlyOffer } })
  expect(await ask(renter, 'rentQuote', offer)).toMatchObject({ rentable: true, blockers: [] })
  for (const by of [reader, renter]) {
    const input = `{ offerId: "${other}", spec: { source: { image: "ubuntu" } } }`
    const quote = `{ rentQuote(input: ${input}) {
      rentable pricePerHour blockers { __typename code message ... on ForbiddenError { missing } } } }`
    const { errors } = await app.graphql(by, `mutation { rentInstance(input: ${input}) { __typename } }`)
    const { message } = errors?.[0] ?? expect.fail('The key may rent the offer.')
    const blocker = { __typename: 'ForbiddenError', code: 'FORBIDDEN', message, missing: ['RENT_INSTANCE'] }
    expect((await app.graphql(by, quote)).data.rentQuote).toEqual({
      ...{ rentable: false, pricePerHour: expect.any(String), blockers: [blocker] },
    })
  }
})

it('ignores the idempotency key', async () => {
  const [offer, other] = [await rentals.newOffer(), await rentals.newOffer()]
  await ask(key, 'rentInstance', offer, { idempotencyKey: 'quoted' })
  expect(await ask(key, 'rentQuote', other, { idempotencyKey: 'quoted' })).toMatchObject({ rentable: true })
  expect(codesOf(await ask(key, 'rentQuote', offer, { idempotencyKey: 'quoted' }))).toEqual(['OFFER_UNAVAILABLE'])
})

it('predicts whether a bid would wait, and blocks such a bid with failIfUnavailable', async () => {
  const offer = await rentals.newOffer({ numGpus: 2 })
  await ask(key, 'rentInstance', offer, { terms: { interruptible: { bidPerHour: '0.5' } } })
  const [row] = (await app.sql(
    'SELECT id FROM offers WHERE withdrawn_at IS NULL AND num_gpus = 2 ORDER BY id DESC LIMIT 1',
  )) as { id: string }[]
  const at = async (bidPerHour: string, failIfUnavailable = false) => {
    const terms = { interruptible: { bidPerHour } }
    const quote = await ask(key, 'rentQuote', Number(row?.id), { terms, failIfUnavailable })
    return { waits: quote.waits, codes: codesOf(quote) }
  }
  expect(await at('0.5')).toEqual({ waits: true, codes: [] })
  expect(await at('0.5', true)).toEqual({ waits: true, codes: ['OFFER_UNAVAILABLE'] })
  expect(await at('0.500000001', true)).toEqual({ waits: false, codes: [] })
})

it('does not wait for locks on the machine or a volume', async () => {
  const volumes = volumesOf(app)
  const machineId = await volumes.newMachine()
  const volume = await volumes.make(key, machineId)
  const [row] = await app.sql(`SELECT id FROM offers WHERE machine_id = ${machineId} AND withdrawn_at IS NULL LIMIT 1`)
  const offer = Number((row as { id: string }).id)
  const mounted = { source: { volumeId: `vol_${volume}` }, mountPath: '/data' }
  const input = { spec: { source: { image: 'ubuntu' }, volumes: [mounted] } }
  await withSession(app.database.url, async session => {
    await session.query('BEGIN')
    await session.query(`SELECT FROM machines WHERE id = ${machineId} FOR UPDATE`)
    await session.query(`SELECT FROM volumes WHERE id = ${volume} FOR UPDATE`)
    expect(await ask(key, 'rentQuote', offer, input)).toMatchObject({ rentable: true, blockers: [] })
    await session.query('ROLLBACK')
  })
})

it('warns of an instance without login', async () => {
  const offer = await rentals.newOffer()
  const { warnings } = await ask(key, 'rentQuote', offer)
  expect(warnings).toEqual([expect.stringContaining('no SSH proxy'), expect.stringContaining('no SSH key')])
  expect((await ask(key, 'rentInstance', offer)).warnings).toEqual(warnings)
})

it('does not count deleted SSH keys', async () => {
  const renter = await app.newKey(null, someCredit)
  const offer = await rentals.newOffer({ vmsEnabled: true })
  const keyed = async () => {
    const { warnings } = await ask(renter, 'rentQuote', offer)
    const vm = await ask(renter, 'rentQuote', offer, { spec: { source: { image: 'ubuntu' }, kind: 'VM' } })
    return [warnings.length, ...codesOf(vm)]
  }
  const register = `mutation { createSshKey(input: { publicKey: "${aPublicKey('quoted')}" }) {
    ... on CreateSshKeySuccess { sshKey { id } } } }`
  const { id } = (await app.graphql(renter, register)).data.createSshKey.sshKey
  expect(await keyed()).toEqual([1])
  await app.graphql(renter, `mutation { deleteSshKey(input: { id: "${id}" }) { __typename } }`)
  expect(await keyed()).toEqual([2, 'SSH_KEY_REQUIRED'])
})

it('needs the permission instance_read', async () => {
  const offer = await rentals.newOffer()
  const writer = await app.newScopedKey(key, { api: { instance_write: {} } })
  const { errors } = await app.graphql(
    writer,
    `{ rentQuote(input: { offerId: "${offer}", spec: { source: { image: "u" } } }) { waits } }`,
  )
  expect(errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
})

it('has a blocker first for a new volume that the key may not create, as the rental is refused', async () => {
  const offer = await rentals.newOffer()
  const mayRent = { 'instances.rent': {}, 'instances.quote': {} }
  const scoped = await app.newScopedKey(key, { api: { misc: {}, instance_read: {}, instance_write: mayRent } })
  const volumes = [{ mountPath: '/data', source: { create: { sizeGb: 10 } } }]
  const input = { spec: { source: { image: 'ubuntu' }, volumes } }
  expect(codesOf(await ask(scoped, 'rentQuote', offer, input))[0]).toBe('FORBIDDEN')
})
