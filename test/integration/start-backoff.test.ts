import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freeFailures } from '../../src/domain/instances-backoff.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { type Faces, facesOf } from '../support/faces.ts'
import { type Rentals, rentalsOf, someCredit } from '../support/rentals.ts'

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

/** Rents, lets the image load for a moment, and gives it up. */
async function giveUp(end: (id: number) => Promise<unknown> = id => app.rest(key, 'DELETE', `/instances/${id}/`)) {
  const id = await rentals.rent(key, { image: slow })
  await app.idle()
  await end(id)
  return id
}

async function giveUpOften(end?: (id: number) => Promise<unknown>, times = freeFailures + 1) {
  for (let time = 0; time < times; time += 1) await giveUp(end)
}

const mustWait = async (ms = 60_000) => {
  const retry_after = (app.clock.now().getTime() + ms) / 1000
  expect(await rentals.ask(key, { image: slow })).toMatchObject({
    status: 409,
    body: { success: false, error: 'start_backoff', retry_after },
  })
}

describe('an account that gives up what loads, again and again', () => {
  it('waits after a few times, on both faces, and longer each time', async () => {
    await giveUpOften()
    await mustWait()
    const offerId = String(await rentals.newOffer())
    const input = { offerId, spec: { source: { image: slow } } }
    const fields = '... on Error { code retryable } ... on StartBackoffError { retryAfter }'
    const quote = `query ($input: RentInstanceInput!) { rentQuote(input: $input) { blockers { ${fields} } } }`
    const rent = `mutation ($input: RentInstanceInput!) { rentInstance(input: $input) { ${fields} } }`
    const retryAfter = new Date(app.clock.now().getTime() + 60_000).toISOString()
    const told = { code: 'START_BACKOFF', retryable: true, retryAfter }
    expect((await app.graphql(key, quote, { input })).data.rentQuote.blockers).toEqual([told])
    expect((await app.graphql(key, rent, { input })).data.rentInstance).toEqual(told)
    app.clock.advance(60_000)
    await giveUp()
    await mustWait(120_000)
  })

  it('may rent meanwhile what is not to run, and start it afterwards', async () => {
    await giveUpOften()
    const id = await rentals.rent(key, { image: 'ubuntu', target_state: 'stopped' })
    const start = () => app.rest(key, 'PUT', `/instances/${id}/`, { state: 'running' })
    expect(await start()).toMatchObject({ status: 409, body: { error: 'start_backoff' } })
    app.clock.advance(60_000)
    expect(await start()).toMatchObject({ status: 200 })
  })

  it('is as if nothing had been as soon as one runs', async () => {
    await giveUpOften()
    app.clock.advance(60_000)
    await rentals.rentTo(key, 'running')
    await giveUpOften(undefined, freeFailures)
    await rentals.rent(key)
  })

  it('waits also when it stops them', async () => {
    await giveUpOften(id => app.rest(key, 'PUT', `/instances/${id}/`, { state: 'stopped' }))
    await mustWait()
  })

  it('waits also when it arranged their end', async () => {
    await giveUpOften(async id => {
      const destroyAt = new Date(app.clock.now().getTime() + 1_000).toISOString()
      const query = `mutation { setInstancePolicy(input: { instanceId: "${id}", destroyAt: "${destroyAt}" }) { __typename } }`
      expect((await app.graphql(key, query)).errors).toBeUndefined()
      app.clock.advance(2_000)
      await app.idle()
    })
    await mustWait()
  })

  it('waits also when it makes one instance anew each time, by recycling or by another image', async () => {
    const id = await rentals.rent(key, { image: slow })
    await rentals.settle()
    expect(await faces.mutate(key, 'recycleInstance', { id: String(id) })).toHaveProperty('instance')
    for (let time = 0; time < freeFailures; time += 1) {
      await rentals.settle()
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
    'waits after a few %s',
    async image => {
      const refusals: number[] = []
      for (let time = 0; time < freeFailures + 3; time += 1) {
        const { status, body } = await rentals.ask(key, { image })
        if (status === 409) {
          expect(body.error).toBe('start_backoff')
          refusals.push(time)
          continue
        }
        expect(status).toBe(200)
        await rentals.settle()
        if (!image.includes('slow')) continue
        app.clock.advance(31 * 60_000)
        await app.idle()
      }
      expect(refusals[0]).toBeGreaterThan(freeFailures)
    },
  )

  it('counts those once that fail together', async () => {
    for (let count = 0; count < 12; count += 1) await rentals.rent(key, { image: 'simulated/not-found' })
    await rentals.settle()
    const [row] = await app.sql('SELECT start_failures AS failures FROM accounts ORDER BY id DESC LIMIT 1')
    expect(row).toEqual({ failures: freeFailures + 1 })
  })
})

it('counts nothing that gave up before it was begun, or held no GPUs', async () => {
  for (let time = 0; time <= freeFailures; time += 1) {
    const id = await rentals.rent(key, { image: slow })
    await app.rest(key, 'DELETE', `/instances/${id}/`)
  }
  await rentals.rent(key)
})
