// One test per row of the specification's tables of errors and of limits.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { creditSql } from '../../support/billing/credit-sql.ts'
import { muchCredit, type Rentals, rentalsOf } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, muchCredit)
})

afterAll(() => app.close())

const updateInBulk = (body: object, by = key) => app.rest(by, 'PUT', '/instances/', body)
const failure = (status: number, error: string, msg: string) => [status, { success: false, error, msg }]
const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)

describe('Errors, bulk update', () => {
  it.each([
    ['an empty list', { ids: [], state: 'stopped' }],
    ['no list', { state: 'stopped' }],
    ['a list that is null', { ids: null, state: 'running' }],
    ['an empty body', {}],
  ])('400 invalid_args "ids list required" when no ids are provided: %s', async (_what, body) => {
    const { status, body: answer } = await updateInBulk(body)
    expect([status, answer]).toEqual(failure(400, 'invalid_args', 'ids list required'))
  })

  it.each([
    [65, { state: 'stopped' }],
    [200, { state: 'running' }],
    [65, {}],
  ])('400 invalid_args "chunk length of %i > 64" when more than 64 IDs are sent, with %j', async (count, body) => {
    const { status, body: answer } = await updateInBulk({ ids: idsFrom(1, count), ...body })
    expect([status, answer]).toEqual(failure(400, 'invalid_args', `chunk length of ${count} > 64`))
  })

  it('400 insufficient_credit "You lack credit." for billing problems', async () => {
    const poor = await app.newKey(null, muchCredit)
    const id = await rentals.rent(poor, { target_state: 'stopped' })
    await app.sql(creditSql(0n, `id = (SELECT account_id FROM instances WHERE id = ${id})`))
    const { status, body } = await updateInBulk({ ids: [id], state: 'running' }, poor)
    expect([status, body]).toEqual(failure(400, 'insufficient_credit', 'You lack credit.'))
    expect(await rentals.read(poor, id)).toMatchObject({ intended_status: 'stopped' })
    for (const allowed of [{ state: 'stopped' }, { label: 'x' }])
      expect((await updateInBulk({ ids: [id], ...allowed }, poor)).body).toEqual({ success: true })
  })

  it('404 invalid_args "Invalid instance ID list ids." when no listed instance matches', async () => {
    const destroyed = await rentals.rent(key)
    await app.rest(key, 'DELETE', `/instances/${destroyed}/`)
    const foreign = await rentals.rent(await app.newKey(null, muchCredit))
    for (const ids of [[987_654], [destroyed], [foreign], [987_654, destroyed, foreign]]) {
      const { status, body } = await updateInBulk({ ids, state: 'stopped' })
      expect([status, body]).toEqual(failure(404, 'invalid_args', 'Invalid instance ID list ids.'))
    }
    expect(await updateInBulk({ ids: [2 ** 53 - 1], state: 'stopped' })).toMatchObject({ status: 404 })
  })
})

describe('Errors, any', () => {
  it('401 for an authentication failure', async () => {
    expect(await updateInBulk({}, 'wrong')).toMatchObject({
      status: 401,
      body: { success: false, error: 'auth_error', msg: 'Invalid user key' },
    })
  })

  it('403 for a permission failure, before any other check', async () => {
    const reader = await app.newKey({ api: { instance_read: {} } })
    for (const body of [{}, { ids: [1], state: 'stopped' }])
      expect(await updateInBulk(body, reader)).toMatchObject({
        status: 403,
        body: { success: false, error: 'forbidden' },
      })
  })
})

describe('Errors of a creation', () => {
  const errorOf = async (body: object, by = key) => {
    const answer = await rentals.tryRent(by, { image: 'ubuntu', ...body })
    return [answer.status, answer.body.error, answer.body.msg]
  }

  it('404 no_such_ask for an offer that is gone or unknown, 410 with cancel_unavail', async () => {
    const used = await rentals.newOffer()
    await app.rest(await app.newKey(null, muchCredit), 'PUT', `/asks/${used}/`, { image: 'ubuntu' })
    for (const id of [used, 987_654_321]) {
      const [plain, atOnce] = await Promise.all(
        [false, true].map(cancel_unavail => app.rest(key, 'PUT', `/asks/${id}/`, { image: 'ubuntu', cancel_unavail })),
      )
      expect([plain?.status, plain?.body]).toEqual(failure(404, 'no_such_ask', `Offer ${id} is not available.`))
      expect([atOnce?.status, atOnce?.body]).toEqual(failure(410, 'no_such_ask', `Offer ${id} is not available.`))
    }
  })

  it('404 no_such_ask that names the instance, if the caller rented the offer', async () => {
    const id = await rentals.newOffer()
    const { body } = await app.rest(key, 'PUT', `/asks/${id}/`, { image: 'ubuntu' })
    const again = await app.rest(key, 'PUT', `/asks/${id}/`, { image: 'ubuntu' })
    expect(again).toMatchObject({ status: 404, body: { error: 'no_such_ask' } })
    expect(again.body.msg).toContain(`instance ${body.new_contract}`)
  })

  it('404 no_such_ask from the instant that the listing ends', async () => {
    const listedUntil = new Date(app.clock.now().getTime() + 1000)
    const ids = [await rentals.newOffer({ listedUntil }), await rentals.newOffer({ listedUntil })]
    app.clock.advance(999)
    expect((await app.rest(key, 'PUT', `/asks/${ids[0]}/`, { image: 'ubuntu' })).status).toBe(200)
    app.clock.advance(1)
    expect((await app.rest(key, 'PUT', `/asks/${ids[1]}/`, { image: 'ubuntu' })).status).toBe(404)
  })

  it('400 insufficient_credit without credit', async () => {
    expect(await errorOf({}, await app.newKey())).toEqual([400, 'insufficient_credit', 'You lack credit.'])
  })

  it('400 invalid_price for a bid below the minimum of the host', async () => {
    expect((await errorOf({ price: 0.199 })).slice(0, 2)).toEqual([400, 'invalid_price'])
    expect(await rentals.rent(key, { price: 0.2 })).toEqual(expect.any(Number))
  })

  it('400 invalid_args with every issue', async () => {
    const [status, error, msg] = await errorOf({
      image: '',
      disk: 1,
      runtype: 'ssh',
      args_str: 'x',
      env: { '-x': '1' },
    })
    expect([status, error]).toEqual([400, 'invalid_args'])
    for (const name of ['env', 'image: ', 'disk: ', 'args_str: ']) expect(msg).toContain(name)
  })

  it('400 invalid_args for an invalid offer id', async () => {
    for (const id of ['abc', '1.5', '-1'])
      expect(await app.rest(key, 'PUT', `/asks/${id}/`, { image: 'ubuntu' })).toMatchObject({
        status: 400,
        body: { error: 'invalid_args' },
      })
  })
})

describe('Limits', () => {
  it('ids per request: 64', async () => {
    const id = await rentals.rent(key)
    expect((await updateInBulk({ ids: [id, ...idsFrom(900_000, 63)], state: 'stopped' })).body).toEqual({
      success: true,
    })
    expect((await updateInBulk({ ids: Array(64).fill(id), state: 'stopped' })).body).toEqual({ success: true })
    expect((await updateInBulk({ ids: Array(65).fill(id), state: 'stopped' })).body.msg).toBe('chunk length of 65 > 64')
  })

  const limits: [name: string, good: object, bad: object, says: string][] = [
    ['onstart length: 4048 characters', { onstart: 'é'.repeat(4048) }, { onstart: 'é'.repeat(4049) }, 'onstart: must'],
    ['onstart length, in code points', { onstart: '🚀'.repeat(4048) }, { onstart: '🚀'.repeat(4049) }, 'onstart: must'],
    ['label length: 256 characters', { label: '🚀'.repeat(256) }, { label: 'x'.repeat(257) }, 'label: must'],
    ['image length: 1024 characters', { image: 'x'.repeat(1024) }, { image: 'x'.repeat(1025) }, 'image: must'],
    ['disk at least: 8 GB', { disk: 8 }, { disk: 7.999 }, 'disk: must'],
    ['disk at most: the free disk of the machine', { disk: 900 }, { disk: 900.001 }, 'disk: must'],
    ['price at most: $128/h', { price: 128 }, { price: 128.001 }, 'price: must'],
    [
      'variable name: 256 characters',
      { env: { ['A'.repeat(256)]: '' } },
      { env: { ['A'.repeat(257)]: '' } },
      'env.AAA',
    ],
    ['env in all: 32768', { env: { A: 'x'.repeat(32_767) } }, { env: { A: 'x'.repeat(32_768) } }, 'env: must'],
  ]
  it.each(limits)('%s', async (_name, good, bad, says) => {
    expect((await rentals.tryRent(key, { image: 'ubuntu', ...good })).status).toBe(200)
    const { status, body } = await rentals.tryRent(key, { image: 'ubuntu', ...bad })
    expect([status, body.error]).toEqual([400, 'invalid_args'])
    expect(body.msg).toContain(says)
  })

  it('ports: 64, including the ports of the runtype', async () => {
    const env = (count: number) => Object.fromEntries(idsFrom(3000, count).map(port => [`-p ${port}:${port}`, '1']))
    expect((await rentals.tryRent(key, { image: 'ubuntu', env: env(64) })).status).toBe(200)
    expect((await rentals.tryRent(key, { image: 'ubuntu', env: env(65) })).status).toBe(400)
    expect((await rentals.tryRent(key, { image: 'ubuntu', runtype: 'ssh_direct', env: env(64) })).status).toBe(400)
  })

  it('price at least: $0.001/h', async () => {
    const machine = { minBidGpuNanos: 1n }
    expect((await rentals.tryRent(key, { image: 'ubuntu', price: 0.001 }, machine)).status).toBe(200)
    expect((await rentals.tryRent(key, { image: 'ubuntu', price: 0.000_999 }, machine)).status).toBe(400)
  })

  it('disk default: 8 GB', async () => {
    expect(await rentals.read(key, await rentals.rent(key))).toMatchObject({ disk_space: 8 })
  })

  it.each(['/instances/{id}/', '/instances/'])('label length of an update at %s: 256 characters', async path => {
    const id = await rentals.rent(key)
    const label = (length: number) =>
      app.rest(key, 'PUT', path.replace('{id}', `${id}`), { ids: [id], label: 'x'.repeat(length) })
    expect((await label(256)).status).toBe(200)
    expect((await label(257)).body.error).toBe('invalid_args')
    expect((await rentals.read(key, id)).label).toHaveLength(256)
  })
})
