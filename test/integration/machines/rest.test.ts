// The machines of a host over REST.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from '../../support/app.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let host: string
let renter: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  renter = await app.newKey(null, someCredit)
  host = await app.newKey()
})

afterAll(() => app.close())

/** Lists a machine of the host. Returns the id of its offer and the id of the machine. */
async function ownMachine(machine = {}) {
  const offer = await rentals.newOffer(machine)
  const { body } = await app.rest(host, 'GET', '/users/current')
  const [row] = await app.sql(`UPDATE machines SET host_id = ${body.id}
    WHERE id = (SELECT machine_id FROM offers WHERE id = ${offer}) RETURNING id`)
  return { offer, id: (row as { id: number }).id }
}

it('shows a host its own machines and their rentals', async () => {
  expect((await app.rest(host, 'GET', '/machines?owner=me')).body).toEqual({ machines: [] })
  const { id } = await ownMachine({ numGpus: 4 })
  const offersOf = async (count: number) =>
    (await app.rest(renter, 'POST', '/bundles/', { machine_id: { eq: id }, num_gpus: { eq: count } })).body.offers
  const rent = async (count: number, body = {}) => {
    const [offer] = await offersOf(count)
    expect((await app.rest(renter, 'PUT', `/asks/${offer.id}/`, { image: 'ubuntu', ...body })).status).toBe(200)
    return offer
  }
  const offer = await rent(1)
  await rent(2, { price: 1 })
  await rentals.converge()
  await rent(1, { target_state: 'stopped' })
  const { body } = await app.rest(host, 'GET', '/machines/?owner=me')
  const [row] = body.machines
  expect(row).toMatchObject({
    ...{ id, machine_id: id, num_gpus: 4, gpu_name: offer.gpu_name, listed: true },
    ...{ listed_gpu_cost: offer.dph_base, listed_storage_cost: offer.storage_cost, min_bid_price: expect.any(Number) },
    ...{ current_rentals_resident: 3, current_rentals_running: 2, cuda_max_good: offer.cuda_max_good.toFixed(1) },
    ...{ hostname: null, earn_hour: null, public_ipaddr: offer.public_ipaddr, end_date: offer.end_date },
  })
  expect(row.gpu_occupancy.split(' ').toSorted()).toEqual(['D', 'I', 'I', 'x'])
  expect((await app.rest(host, 'GET', `/machines/${id}`)).body).toEqual([row])
})

it('does not count destroyed instances of a machine', async () => {
  const { offer, id } = await ownMachine()
  const { body } = await app.rest(renter, 'PUT', `/asks/${offer}/`, { image: 'ubuntu' })
  const shown = async () => (await app.rest(host, 'GET', `/machines/${id}/`)).body
  await rentals.converge()
  expect(await shown()).toMatchObject([{ current_rentals_resident: 1, current_rentals_running: 1, gpu_occupancy: 'D' }])
  await app.rest(renter, 'DELETE', `/instances/${body.new_contract}/`)
  const none = { current_rentals_resident: 0, current_rentals_running: 0 }
  expect(await shown()).toMatchObject([none])
  await rentals.converge()
  expect(await shown()).toMatchObject([{ ...none, gpu_occupancy: 'x' }])
})

it('shows a machine that left the market as not listed', async () => {
  const { id } = await ownMachine()
  await app.sql(`UPDATE machines SET drained_at = listed_at, unlisted_at = listed_at WHERE id = ${id}`)
  const { body } = await app.rest(host, 'GET', `/machines/${id}/`)
  expect(body).toMatchObject([{ id, listed: false, gpu_occupancy: 'x' }])
  const other = await ownMachine()
  await app.sql(`UPDATE machines SET listed_until = '2000-01-01' WHERE id = ${other.id}`)
  expect((await app.rest(host, 'GET', `/machines/${other.id}/`)).body).toMatchObject([{ listed: false }])
})

it('answers 404 for a machine of another host', async () => {
  const { id } = await ownMachine()
  for (const missing of [id, 987_654_321, '9'.repeat(18)]) {
    const { status, body } = await app.rest(renter, 'GET', `/machines/${missing}/`)
    const failure = { success: false, error: 'not_found', msg: `Machine ${missing} not found.` }
    expect([status, body]).toEqual([404, failure])
  }
  expect((await app.rest(renter, 'GET', '/machines/')).body).toEqual({ machines: [] })
})

it('refuses a machine id that is not a number', async () => {
  const { status, body } = await app.rest(host, 'GET', '/machines/mine/')
  expect([status, body.error]).toEqual([400, 'invalid_args'])
})
