// Actions on instances that REST clients send to paths of their own.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

const done = { status: 200, body: { success: true } }
const put = (path: string, body?: unknown) => app.rest(key, 'PUT', path, body)
const destroy = (instance_ids: unknown, path = '/instances/') => app.rest(key, 'DELETE', path, { instance_ids })

/** The exact answer, because some clients treat any other field as a failure. */
const answerOf = ({ status, body }: { status: number; body: unknown }) => ({ status, body })

describe('starting and stopping by path', () => {
  it.each(['', '/'])('works like an update (path ending in "%s")', async slash => {
    const id = await rentals.rentToStatus(key, 'running')
    expect(answerOf(await put(`/instances/${id}/stop${slash}`, {}))).toEqual(done)
    expect(await rentals.read(key, id)).toMatchObject({ intended_status: 'stopped' })
    expect(answerOf(await put(`/instances/${id}/start${slash}`))).toEqual(done)
    expect(await rentals.read(key, id)).toMatchObject({ intended_status: 'running' })
  })

  it('is refused like an update', async () => {
    const id = await rentals.rentToStatus(key, 'exited')
    expect(await put(`/instances/${id}/start/`)).toMatchObject({ status: 400, body: { error: 'invalid_state' } })
    expect(await put('/instances/987654/start/')).toMatchObject({ status: 404, body: { error: 'no_such_instance' } })
    expect(await put('/instances/987654/stop/')).toMatchObject({ status: 404, body: { instances: null } })
  })

  it('answers resources_unavailable when the GPUs are taken', async () => {
    const id = await rentals.rentToStatus(key, 'stopped')
    const { machine_id } = await rentals.read(key, id)
    const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machine_id } })
    await put(`/asks/${body.offers[0].id}/`, { image: 'ubuntu' })
    expect(await put(`/instances/${id}/start`, {})).toMatchObject({
      ...{ status: 200, body: { success: false, error: 'resources_unavailable' } },
    })
  })
})

describe('destroying many instances', () => {
  it.each(['/instances/', '/instances'])('destroys the instances that exist, at %s', async path => {
    const [one, other] = [await rentals.rent(key), await rentals.rent(key)]
    expect(answerOf(await destroy([one, 987_654, other, one], path))).toEqual(done)
    for (const id of [one, other]) expect((await app.rest(key, 'GET', `/instances/${id}/`)).status).toBe(404)
  })

  it('answers 404 and changes nothing when it is repeated', async () => {
    const [id, kept] = [await rentals.rent(key), await rentals.rent(key)]
    await destroy([id])
    const [events] = await app.sql('SELECT count(*) FROM events')
    for (let turn = 1; turn <= 5; turn += 1) {
      expect(answerOf(await destroy([id, 987_654]))).toEqual({
        status: 404,
        body: { success: false, error: 'instances_not_found', msg: `Instances ${id}, 987654 not found.` },
      })
    }
    expect(await app.sql('SELECT count(*) FROM events')).toEqual([events])
    expect((await rentals.read(key, kept)).id).toBe(kept)
  })

  it('leaves instances of another account unchanged', async () => {
    const stranger = await app.newKey(null, someCredit)
    const id = await rentals.rent(stranger)
    expect((await destroy([id])).status).toBe(404)
    expect((await rentals.read(stranger, id)).id).toBe(id)
  })

  it.each([
    ['no list', undefined, 'instance_ids array is required'],
    ['an empty list', [], 'instance_ids array is required'],
    ['null', null, 'instance_ids array is required'],
    ['65 ids', Array(65).fill(1), 'chunk length of 65 > 64'],
    ['texts', ['x'], 'instance_ids.0: must be a number.'],
    ['a number', 7, 'instance_ids: must be a list.'],
  ])('refuses %s', async (_what, ids, msg) => {
    expect(answerOf(await destroy(ids))).toEqual({ status: 400, body: { success: false, error: 'invalid_args', msg } })
  })

  it('destroys nothing without a body or with invalid JSON', async () => {
    expect((await app.rest(key, 'DELETE', '/instances/')).body).toMatchObject({ msg: 'instance_ids array is required' })
    expect(await app.rest(key, 'DELETE', '/instances/', '{')).toMatchObject({
      ...{ status: 400, body: { success: false, error: 'invalid_args' } },
    })
  })
})

describe('a bid', () => {
  const bidOf = async (id: number) => (await rentals.read(key, id)).dph_base

  it.each(['', '/'])('changes with the request of the command-line tool (path ending in "%s")', async slash => {
    const id = await rentals.rent(key, { price: 0.3 })
    const body = { client_id: 'me', price: 0.45 }
    expect(answerOf(await put(`/instances/bid_price/${id}${slash}`, body))).toEqual(done)
    expect(await bidOf(id)).toBe(0.45)
  })

  it('without a price becomes the minimum that wins now', async () => {
    const id = await rentals.rent(key, { price: 0.4 })
    const { machine_id } = await rentals.read(key, id)
    expect(answerOf(await put(`/instances/bid_price/${id}/`, { client_id: 'me', price: null }))).toEqual(done)
    expect(await bidOf(id)).toBe(0.2)
    // A rival bids more, and the renter wins the GPUs back.
    const rival = await app.newKey(null, someCredit)
    const { body } = await app.rest(rival, 'POST', '/bundles/', { machine_id: { eq: machine_id }, type: 'bid' })
    await app.rest(rival, 'PUT', `/asks/${body.offers[0].id}/`, { image: 'ubuntu', price: 0.35 })
    expect(await rentals.read(key, id)).toMatchObject({ intended_status: 'running', cur_state: 'stopped' })
    expect(answerOf(await put(`/instances/bid_price/${id}/`))).toEqual(done)
    expect(await rentals.read(key, id)).toMatchObject({ dph_base: 0.351, cur_state: 'running' })
  })

  it('without a price is refused when no bid wins', async () => {
    const id = await rentals.rent(key, { price: 0.3 })
    const { machine_id } = await rentals.read(key, id)
    const { body } = await app.rest(key, 'POST', '/bundles/', { machine_id: { eq: machine_id } })
    await put(`/asks/${body.offers[0].id}/`, { image: 'ubuntu' })
    expect(await put(`/instances/bid_price/${id}/`, {})).toMatchObject({
      status: 400,
      body: { error: 'invalid_state' },
    })
    expect(await bidOf(id)).toBe(0.3)
  })

  it.each([
    [0, 400, 'invalid_args', 'price: must be from 0.001'],
    [0.0001, 400, 'invalid_args', 'price: must be from 0.001'],
    [1e9, 400, 'invalid_args', 'price: must be from 0.001'],
    ['much', 400, 'invalid_args', 'price: must be a number.'],
    [0.1, 400, 'invalid_price', 'The host accepts no bid under $0.2'],
  ])('of %s is refused', async (price, status, error, msg) => {
    const id = await rentals.rent(key, { price: 0.3 })
    expect(answerOf(await put(`/instances/bid_price/${id}/`, { price }))).toEqual({
      ...{ status, body: { success: false, error, msg: expect.stringContaining(msg) } },
    })
    expect(await bidOf(id)).toBe(0.3)
  })

  it.each([{ price: 0.3 }, { price: null }])('for an on-demand rental is refused: %j', async body => {
    const id = await rentals.rent(key)
    expect(answerOf(await put(`/instances/bid_price/${id}/`, body))).toEqual({
      status: 400,
      body: { success: false, error: 'invalid_args', msg: "Can't change price of on-demand contract." },
    })
  })

  it('for an unknown instance is not found', async () => {
    expect(await put('/instances/bid_price/987654/', { price: 0.3 })).toMatchObject({
      ...{ status: 404, body: { success: false, error: 'no_such_instance', instances: null } },
    })
  })
})

describe('an unsupported feature', () => {
  it.each([
    ['PUT', '/commands/copy_direct/', { client_id: 'me', src_id: '1', dst_id: '2', src_path: '/a', dst_path: '/b' }],
    ['DELETE', '/commands/copy_direct/', { client_id: 'me', dst_id: '2' }],
    ['PUT', '/commands/rsync/', { client_id: 'me', src_id: null, dst_id: '2', src_path: '/a', dst_path: '/b' }],
    ['DELETE', '/commands/rsync', { dst_id: '2' }],
    ['POST', '/commands/rclone/', { src: '/a', dst: '/b', instance_id: 2, selected: 3, transfer: 'x', flags: null }],
    ['DELETE', '/commands/rclone/', undefined],
  ])('answers %s %s with a reference to SSH', async (method, path, body) => {
    expect(answerOf(await app.rest(key, method, path, body))).toEqual({
      ...{ status: 501, body: { success: false, error: 'not_implemented', msg: expect.stringContaining('SSH') } },
    })
  })

  it.each([
    ['PUT', '/instances/prepay/{id}/', { amount: 10 }],
    ['PUT', '/instances/prepay/{id}', {}],
    ['GET', '/instances/balance/{id}/', undefined],
    ['GET', '/instances/balance/{id}?owner=me', undefined],
    ['POST', '/instances/take_snapshot/{id}/', { id: '1', container_registry: 'docker.io', pause: 'true' }],
  ])('answers %s %s with an alternative', async (method, path, body) => {
    const id = await rentals.rent(key)
    expect(answerOf(await app.rest(key, method, path.replace('{id}', String(id)), body))).toEqual({
      ...{
        status: 501,
        body: { success: false, error: 'not_implemented', msg: expect.stringMatching(/credit|volume/) },
      },
    })
    expect((await app.rest(key, method, path.replace('{id}', '987654'), body)).status).toBe(404)
  })
})
