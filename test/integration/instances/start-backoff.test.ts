import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { failuresBeforeBackoff } from '../../../src/domain/instances/start-backoff.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Faces, facesOf } from '../../support/faces/faces.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const slow = 'simulated/slow-pull:3600'

let app: TestApp
let rentals: Rentals
let faces: Faces
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  faces = facesOf(app)
})

afterAll(() => app.close())

beforeEach(async () => {
  key = await app.newKey(null, someCredit)
})

/** Rents an instance, lets its image load for a moment, and gives the instance up. */
async function giveUp(end: (id: number) => Promise<unknown> = id => app.rest(key, 'DELETE', `/instances/${id}/`)) {
  const id = await rentals.rent(key, { image: slow })
  await app.runUntilIdle()
  await end(id)
  return id
}

async function giveUpOften(end?: (id: number) => Promise<unknown>, times = failuresBeforeBackoff + 1) {
  for (let time = 0; time < times; time += 1) await giveUp(end)
}

const mustWait = async (ms = 60_000) => {
  const retry_after = (app.clock.now().getTime() + ms) / 1000
  expect(await rentals.tryRent(key, { image: slow })).toMatchObject({
    status: 409,
    body: { success: false, error: 'start_backoff', retry_after },
  })
}

describe('an account that repeatedly gives up loading instances', () => {
  it('must wait after a few failures, over both faces, and longer after each further failure', async () => {
    await giveUpOften()
    await mustWait()
    const offerId = String(await rentals.newOffer())
    const input = { offerId, spec: { source: { image: slow } } }
    const fields = '... on Error { code retry retryAfter }'
    const quote = `query ($input: RentInstanceInput!) { rentQuote(input: $input) { blockers { ${fields} } } }`
    const rent = `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { ${fields} } }`
    const retryAfter = new Date(app.clock.now().getTime() + 60_000).toISOString()
    const refusal = { code: 'START_BACKOFF', retry: 'LATER', retryAfter }
    expect((await app.graphql(key, quote, { input })).data.rentQuote.blockers).toEqual([refusal])
    expect((await app.graphql(key, rent, { input })).data.rentInstance).toEqual(refusal)
    app.clock.advance(60_000)
    await giveUp()
    await mustWait(120_000)
  })

  it('can rent a stopped instance meanwhile, and start it afterwards', async () => {
    await giveUpOften()
    const id = await rentals.rent(key, { image: 'ubuntu', target_state: 'stopped' })
    const start = () => app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    expect(await start()).toMatchObject({ status: 409, body: { error: 'start_backoff' } })
    app.clock.advance(60_000)
    expect(await start()).toMatchObject({ status: 200 })
  })

  it('has no failures once an instance runs', async () => {
    await giveUpOften()
    app.clock.advance(60_000)
    await rentals.rentToStatus(key, 'running')
    await giveUpOften(undefined, failuresBeforeBackoff)
    await rentals.rent(key)
  })

  it('must wait after it stops loading instances', async () => {
    await giveUpOften(id => app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' }))
    await mustWait()
  })

  it('must wait after a policy ends loading instances', async () => {
    await giveUpOften(async id => {
      const destroyAt = new Date(app.clock.now().getTime() + 1_000).toISOString()
      const query = `mutation { updateInstancePolicy(input: { id: "${id}", destroyAt: "${destroyAt}" }) { __typename } }`
      expect((await app.graphql(key, query)).errors).toBeUndefined()
      app.clock.advance(2_000)
      await app.runUntilIdle()
    })
    await mustWait()
  })

  it('must wait after it recycles one instance or changes its image each time', async () => {
    const id = await rentals.rent(key, { image: slow })
    await rentals.converge()
    expect(await faces.mutate(key, 'recycleInstance', { id: String(id) })).toHaveProperty('instance')
    for (let time = 0; time < failuresBeforeBackoff; time += 1) {
      await rentals.converge()
      const changed = await app.rest(key, 'PUT', `/instances/update_template/${id}/`, { image: `${slow}${time}` })
      expect(changed).toMatchObject({ status: 200 })
    }
    await mustWait()
    const changed = await app.rest(key, 'PUT', `/instances/update_template/${id}/`, { image: 'ubuntu' })
    expect(changed).toMatchObject({ status: 409, body: { error: 'start_backoff' } })
  })
})

describe('an account whose instances fail to start', () => {
  it.each(['simulated/not-found', 'simulated/no-start', 'simulated/slow-pull:86400'])(
    'must wait after a few instances with the image %s',
    async image => {
      const refusals: number[] = []
      for (let time = 0; time < failuresBeforeBackoff + 3; time += 1) {
        const { status, body } = await rentals.tryRent(key, { image })
        if (status === 409) {
          expect(body.error).toBe('start_backoff')
          refusals.push(time)
          continue
        }
        expect(status).toBe(200)
        await rentals.converge()
        if (!image.includes('slow')) continue
        app.clock.advance(31 * 60_000)
        await app.runUntilIdle()
      }
      expect(refusals[0]).toBeGreaterThan(failuresBeforeBackoff)
    },
  )

  it('counts no further failure during its wait', async () => {
    for (let count = 0; count < 12; count += 1) await rentals.rent(key, { image: 'simulated/not-found' })
    await rentals.converge()
    const [row] = await app.sql('SELECT start_failures AS failures FROM accounts ORDER BY id DESC LIMIT 1')
    expect(row).toEqual({ failures: failuresBeforeBackoff + 1 })
  })
})

describe('an account whose own bids alternate on the GPUs of a machine', () => {
  const bid = (id: number, price: number) => app.rest(key, 'PUT', `/instances/bid_price/${id}/`, { price })
  const countOf = async () => {
    const rows = await app.sql('SELECT start_failures AS failures FROM accounts ORDER BY id DESC LIMIT 1')
    return (rows as { failures: number }[])[0]?.failures
  }

  async function outbid(id: number, price: number, rival = key): Promise<number> {
    const { machine_id } = await rentals.read(key, id)
    const filter = { machine_id: { eq: machine_id }, type: 'bid', order: [['num_gpus', 'desc']] }
    const { body } = await app.rest(rival, 'POST', '/bundles/', filter)
    const rented = await app.rest(rival, 'PUT', `/asks/${body.offers[0].id}/`, { image: slow, price })
    expect(rented).toMatchObject({ status: 200 })
    return rented.body.new_contract
  }

  async function aLoadingBid() {
    const id = await rentals.rent(key, { image: slow, price: 0.3 })
    await rentals.converge()
    return id
  }

  it.each([
    ['at once', async () => {}],
    ['after a while', () => rentals.converge()],
  ])(
    'must wait when it keeps outbidding its own loading instance and destroys the outbid one %s',
    async (_when, pause) => {
      let id = await aLoadingBid()
      for (let time = 0; time <= failuresBeforeBackoff; time += 1) {
        const next = await outbid(id, 0.4 + time / 100)
        await pause()
        await app.rest(key, 'DELETE', `/instances/${id}/`)
        await rentals.converge()
        id = next
      }
      expect(await countOf()).toBe(failuresBeforeBackoff + 1)
    },
  )

  it('cannot lower one bid during the backoff so that its other bid gets the GPUs', async () => {
    const one = await aLoadingBid()
    const other = await outbid(one, 0.302)
    await app.runUntilIdle()
    const answers: unknown[] = []
    for (let time = 0; time < failuresBeforeBackoff; time += 1) {
      answers.push((await bid(time % 2 ? one : other, 0.299 - time / 1000)).status)
      await app.runUntilIdle()
    }
    expect([answers, await countOf()]).toEqual([Array(failuresBeforeBackoff).fill(200), failuresBeforeBackoff + 1])
    const refused = await bid(one, 0.25)
    expect(refused).toMatchObject({ status: 409, body: { error: 'start_backoff' } })
    expect(await bid(other, 0.25)).toMatchObject({ status: 200 })
  })

  it('has no failure when another account outbids it', async () => {
    const id = await aLoadingBid()
    await outbid(id, 0.4, await app.newKey(null, someCredit))
    await rentals.converge()
    await app.rest(key, 'DELETE', `/instances/${id}/`)
    expect(await app.sql('SELECT start_failures AS failures FROM accounts ORDER BY id DESC LIMIT 2')).toEqual([
      { failures: 0 },
      { failures: 0 },
    ])
  })
})

it('counts no failure when the machine leaves the market and ends a loading rental', async () => {
  const listedUntil = new Date(app.clock.now().getTime() + 60_000)
  const id = await rentals.rent(key, { image: slow }, { listedUntil })
  await app.runUntilIdle()
  expect((await rentals.read(key, id)).actual_status).toBe('loading')
  app.clock.advance(61_000)
  await app.runUntilIdle()
  const [row] = await app.sql(`SELECT a.start_failures AS failures, i.destroyed_at IS NOT NULL AS ended
    FROM instances i JOIN accounts a ON a.id = i.account_id WHERE i.id = ${id}`)
  expect(row).toEqual({ failures: 0, ended: true })
})

it('counts no failure for an instance given up before the reconciler begins', async () => {
  for (let time = 0; time <= failuresBeforeBackoff; time += 1) {
    const id = await rentals.rent(key, { image: slow })
    await app.rest(key, 'DELETE', `/instances/${id}/`)
  }
  await rentals.rent(key)
})
