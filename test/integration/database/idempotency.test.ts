// A client may repeat a request because it lost the answer. The request takes effect once.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { withSession } from '../../support/database/sessions.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let other: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  other = await startApp({ sharedApp: app })
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(async () => {
  await other.close()
  await app.close()
})

type RentOutcome = { code: string; instance?: string; apiKey?: string; replayed?: boolean }

async function rentOverGraphql(at: TestApp, by: string, offer: number, idempotencyKey: string, label = 'x') {
  const spec = { source: { image: 'ubuntu' }, label }
  const { data, errors } = await at.graphql(
    by,
    `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
      ... on RentInstanceSuccess { instance { id } instanceApiKey replayed } ... on Error { code } } }`,
    { input: { offerId: String(offer), spec, idempotencyKey } },
  )
  expect(errors).toBeUndefined()
  const { code = 'OK', instance, instanceApiKey: apiKey, replayed } = data.rentInstance
  return { code, instance: instance?.id.replace('ins_', ''), apiKey, replayed } as RentOutcome
}

async function rentOverRest(
  at: TestApp,
  by: string,
  offer: number,
  idempotencyKey: string,
  label = 'x',
): Promise<RentOutcome> {
  const rentBody = { image: 'ubuntu', label }
  const { status, body } = await at.rest(by, 'PUT', `/asks/${offer}/`, rentBody, { 'Idempotency-Key': idempotencyKey })
  if (status !== 200) return { code: `${status} ${body.error}` }
  return { code: 'OK', instance: String(body.new_contract), apiKey: body.instance_api_key }
}

const countInstances = async (offer: number) =>
  (await app.sql(`SELECT id FROM instances WHERE offer_id = ${offer}`)).length

describe('the same request with one idempotency key', () => {
  it('creates one instance when 20 requests arrive at once at both faces of two gateways', async () => {
    const offer = await rentals.newOffer()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? rentOverRest : rentOverGraphql)(index % 4 < 2 ? app : other, key, offer, 'at once'),
      ),
    )
    expect(await countInstances(offer)).toBe(1)
    const [first] = answers
    expect(first).toMatchObject({ code: 'OK', instance: expect.stringMatching(/^\d+$/) })
    for (const { replayed: _, ...answer } of answers) {
      expect(answer).toEqual({ code: 'OK', instance: first?.instance, apiKey: first?.apiKey })
    }
    expect(answers.filter(({ replayed }) => replayed === false).length).toBeLessThanOrEqual(1)
  })

  it('gets the same answer again after the first answer was lost, and its key finds the instance', async () => {
    const offer = await rentals.newOffer()
    const first = await rentOverGraphql(app, key, offer, 'lost')
    expect(first).toMatchObject({ code: 'OK', replayed: false })
    const again = await rentOverGraphql(other, key, offer, 'lost')
    expect(again).toEqual({ ...first, replayed: true })
    const { data } = await app.graphql(
      key,
      '{ instances(filter: { idempotencyKey: "lost" }) { nodes { id idempotencyKey } } }',
    )
    expect(data.instances.nodes).toEqual([{ id: `ins_${first.instance}`, idempotencyKey: 'lost' }])
  })

  it('is forgotten after 24 hours, and not before', async () => {
    const offer = await rentals.newOffer()
    const { instance } = await rentOverRest(app, key, offer, 'a day')
    app.clock.advance(24 * 3_600_000 - 1)
    expect(await rentOverRest(app, key, offer, 'a day')).toMatchObject({ code: 'OK', instance })
    app.clock.advance(1)
    expect(await rentOverRest(app, key, offer, 'a day')).toEqual({ code: '404 no_such_ask' })
    expect(await rentOverRest(app, key, await rentals.newOffer(), 'a day')).toMatchObject({ code: 'OK' })
  })

  it('is separate in another account', async () => {
    const stranger = await app.newKey(null, someCredit)
    const mine = await rentOverGraphql(app, key, await rentals.newOffer(), 'shared word')
    const theirs = await rentOverGraphql(app, stranger, await rentals.newOffer(), 'shared word')
    expect(theirs).toMatchObject({ code: 'OK', replayed: false })
    expect(theirs.instance).not.toBe(mine.instance)
  })
})

describe('an idempotency key', () => {
  it('is refused for a different request, on both faces', async () => {
    const offer = await rentals.newOffer()
    expect(await rentOverRest(app, key, offer, 'reused')).toMatchObject({ code: 'OK' })
    const next = await rentals.newOffer()
    expect(await rentOverRest(app, key, next, 'reused')).toEqual({ code: '422 idempotency_key_reused' })
    expect(await rentOverRest(app, key, offer, 'reused', 'y')).toEqual({ code: '422 idempotency_key_reused' })
    expect(await rentOverGraphql(app, key, offer, 'reused', 'y')).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
    expect(await countInstances(next)).toBe(0)
  })

  it('stores no failure', async () => {
    const poor = await app.newKey()
    const offer = await rentals.newOffer()
    expect(await rentOverGraphql(app, poor, offer, 'no credit')).toMatchObject({ code: 'INSUFFICIENT_CREDIT' })
    await app.sql(creditSql(1_000_000_000n, 'posted_nanos = 0'))
    expect(await rentOverGraphql(app, poor, offer, 'no credit')).toMatchObject({ code: 'OK', replayed: false })
  })

  it('reports that the first request has not ended yet', async () => {
    const offer = await rentals.newOffer()
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query(`INSERT INTO idempotency_keys (account_id, key, input_hash, result, created_at)
        SELECT account_id, 'slow', '', '', now() FROM instances ORDER BY id LIMIT 1`)
      const query = `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) {
        ... on Error { code retry retryAfter } } }`
      const input = { offerId: String(offer), spec: { source: { image: 'ubuntu' } }, idempotencyKey: 'slow' }
      const { code, retry, retryAfter } = (await app.graphql(key, query, { input })).data.rentInstance
      expect([code, retry]).toEqual(['IDEMPOTENCY_IN_PROGRESS', 'LATER'])
      const waitMs = Date.parse(retryAfter) - app.clock.now().getTime()
      expect([waitMs > 0, waitMs < 10_000]).toEqual([true, true])
      expect(await rentOverRest(app, key, offer, 'slow')).toEqual({ code: '409 idempotency_in_progress' })
      await session.query('ROLLBACK')
    })
    expect(await rentOverRest(app, key, offer, 'slow')).toMatchObject({ code: 'OK' })
  })

  it('has at most 255 characters', async () => {
    const offer = await rentals.newOffer()
    expect(await rentOverRest(app, key, offer, 'k'.repeat(256))).toEqual({ code: '400 invalid_args' })
    expect(await rentOverGraphql(app, key, offer, `${'k'.repeat(254)}\0`)).toMatchObject({ code: 'INVALID_INPUT' })
    expect(await rentOverRest(app, key, offer, 'k'.repeat(255))).toMatchObject({ code: 'OK' })
  })

  it('does not admit an API key without the permission to rent', async () => {
    const offer = await rentals.newOffer()
    expect(await rentOverRest(app, key, offer, 'permitted')).toMatchObject({ code: 'OK' })
    const reader = await app.newScopedKey(key, { api: { instance_read: {} } })
    expect(await rentOverRest(app, reader, offer, 'permitted')).toEqual({ code: '403 forbidden' })
  })
})
