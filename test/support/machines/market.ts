import fc from 'fast-check'
import type { Database } from '../../../src/database/client.ts'
import { compareVersions } from '../../../src/domain/machines/versions.ts'
import { type FieldValue, fieldTypeOf } from '../../../src/domain/offers/fields.ts'
import { matchesFilter } from '../../../src/domain/offers/filter.ts'
import { defaultPricing, type Offer, priceOf } from '../../../src/domain/offers/offers.ts'
import { completeOrder, type OrderKey, positionOf } from '../../../src/domain/offers/order.ts'
import type { OfferSearch } from '../../../src/services/offers/offers.ts'
import { createOperations } from '../../../src/services/operations.ts'
import { listingArbitrary } from '../arbitraries.ts'
import type { ManualClock } from '../clock.ts'
import { listMachines } from '../factories.ts'

/** Fills a database with a market that depends on the seed, with some rented and outbid offers. Returns all offers. */
export async function makeMarket(database: Database, clock: ManualClock, seed: number, size: number): Promise<Offer[]> {
  const [machines = []] = fc.sample(fc.array(listingArbitrary, { minLength: size, maxLength: size }), {
    numRuns: 1,
    seed,
  })
  await listMachines(createOperations({ database }), machines)
  await database.pool.query('UPDATE offers SET rentable = false WHERE id % 7 = 0')
  await database.pool.query('UPDATE machines SET limits_disk = id % 3 > 0')
  await database.pool.query(`
    UPDATE offers SET min_bid_nanos = min_bid_nanos + 1000000, bid_price_nanos = bid_price_nanos + 1000000 WHERE id % 5 = 0`)
  await database.pool.query(`
    UPDATE offers SET leads = front.leads, leads_bids = front.leads_bids FROM (
      SELECT id, id = min(id) OVER (PARTITION BY machine_id, num_gpus, rentable, gpu_price_nanos) AS leads,
        id = min(id) OVER (PARTITION BY machine_id, num_gpus, rentable, min_bid_nanos) AS leads_bids FROM offers
    ) front WHERE front.id = offers.id`)
  const rows = await database.prisma.offer.findMany({ include: { machine: { include: { gpuModel: true } } } })
  return rows.map(row => ({
    ...row,
    // A constraint of the column admits only known vendors.
    machine: row.machine as Offer['machine'],
    pricing: defaultPricing,
    price: priceOf(row, row.diskPricePerGbMonthNanos, defaultPricing),
    asOf: clock.now(),
  }))
}

/** The expected result of a search, computed from all offers in memory. */
export function searchInMemory(market: Offer[], { filter, order, pricing, bundled }: OfferSearch): Offer[] {
  const keys = completeOrder(order)
  const priced = market.map(offer => ({
    ...offer,
    pricing,
    price: priceOf(offer, offer.machine.diskPricePerGbMonthNanos, pricing),
  }))
  return priced
    .filter(offer => !bundled || offer === leaderOf(offer, priced))
    .filter(offer => matchesFilter(offer, filter))
    .sort((a, b) => comparePositions(positionOf(a, keys), positionOf(b, keys), keys))
}

/** The reference for the order in SQL. */
function comparePositions(a: FieldValue[], b: FieldValue[], keys: OrderKey[]): number {
  for (const [index, { field, direction }] of keys.entries()) {
    let [left, right] = [a[index], b[index]]
    if (left === undefined || right === undefined) continue
    if (fieldTypeOf(field) === 'version') [left, right] = [compareVersions(String(left), String(right)), 0]
    if (left === right) continue
    return left < right === (direction === 'asc') ? -1 : 1
  }
  return 0
}

/** The oldest offer of a bundle: blocks of one machine with the same size, price and rentable flag. */
function leaderOf(offer: Offer, all: Offer[]): Offer | undefined {
  const bundle = all.filter(
    other =>
      other.machineId === offer.machineId &&
      other.numGpus === offer.numGpus &&
      other.rentable === offer.rentable &&
      other.price.gpuPriceNanos === offer.price.gpuPriceNanos,
  )
  return bundle.sort((a, b) => Number(a.id - b.id))[0]
}
