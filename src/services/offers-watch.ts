// What changes on the market, for those who wait for something on it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from '../domain/actor.ts'
import { defaultPricing, type Offer, type Pricing } from '../domain/offers.ts'
import { type Condition, matches, type OfferFilter } from '../domain/offers-filter.ts'
import { dependsOnTime, maxRemembered, maxWatched, type OfferChange, tooManyWatched } from '../domain/offers-watch.ts'
import { tooManyStreams } from '../domain/streams.ts'
import { authorise } from './authorise.ts'
import type { Deps } from './deps.ts'
import { type Following, streamOf } from './feed.ts'
import { findOffers } from './offers.ts'
import { createReadings, type Found, inTurn, type Memory, memoryOf } from './offers-readings.ts'

type Wanted = { filter: OfferFilter; pricing: Pricing }
/** What a stream remembers of the offers that match. */
type Seen = Map<bigint, Memory>

/** What happens faster is told at once, in its outcome. */
const quietMs = 250
/** How late it is told that an offer's time is over, which nothing else tells. */
const tickMs = 60_000
/** So many searches of streams at once: requests wait for the same connections. */
const searchesAtOnce = 2
/** So many machines are compared at a time, which bounds what a stream holds of them. */
const machinesAtOnce = 200

export function offerWatchServices(deps: Deps) {
  const { feed } = deps
  const now = () => deps.database.clock.now()
  const search = inTurn(searchesAtOnce)
  const readings = createReadings(offersOf)
  const open = new Set<Seen>()

  return {
    /** What becomes from now on of the offers that match: of each for itself, also of those that a bundle hides. */
    async watch(actor: Actor, filter: OfferFilter, pricing: Pricing): Promise<AsyncIterableIterator<OfferChange>> {
      authorise(actor, 'offers.watch')
      const seen: Seen = new Map()
      // Followed before it is searched, so that nothing changes in between.
      const following = remembering(await feed.follow(actor, { market: true }), seen)
      try {
        const at = now()
        for (const { offer, memory } of await find({ filter, pricing })) seen.set(offer.id, memory)
        checkRoom()
        return streamOf(following, changes(following, { filter, pricing }, seen, at))
      } catch (error) {
        following.close()
        throw error
      }
    },
  }

  /** What a stream remembers counts until it is closed. */
  function remembering(following: Following, seen: Seen): Following {
    open.add(seen)
    return {
      ...following,
      close() {
        open.delete(seen)
        following.close()
      },
    }
  }

  function checkRoom(): void {
    if ([...open].reduce((sum, { size }) => sum + size, 0) <= maxRemembered) return
    throw tooManyStreams('This gateway follows as many offers as it can.')
  }

  async function* changes({ next }: Following, wanted: Wanted, seen: Seen, since: Date): AsyncGenerator<OfferChange> {
    let [looked, lookedAtAll] = [since, since]
    for (let news = await next(tickMs); news; news = await next(tickMs)) {
      const [at, remembered] = [now(), seen.size]
      const all = dependsOnTime(wanted.filter) && at.getTime() - lookedAtAll.getTime() >= tickMs
      const over = [...seen.values()].filter(({ listedUntil }) => listedUntil > looked && listedUntil <= at)
      const machineIds = new Set([...news.machineIds, ...over.map(({ machineId }) => machineId)])
      if (all) yield* compare(seen, await find(wanted))
      else for (const some of piecesOf(machineIds)) yield* compare(seen, await findOf(some, wanted), new Set(some))
      if (seen.size > remembered) checkRoom()
      if (all) lookedAtAll = at
      looked = at
      await sleep(quietMs)
    }
  }

  /** All offers that match. */
  async function find({ filter, pricing }: Wanted): Promise<Found[]> {
    const wanted = { filter, pricing, order: [], bundled: false }
    const offers = await search(() => findOffers(deps, wanted, maxWatched + 1))
    if (offers.length > maxWatched) throw tooManyWatched()
    return offers.map(offer => ({ offer, memory: memoryOf(offer) }))
  }

  /** The offers of these machines that match: filtered here, since all streams read the same ones. */
  async function findOf(machineIds: number[], { filter, pricing }: Wanted): Promise<Found[]> {
    const found = await readings(machineIds, pricing)
    return found.filter(({ offer }) => matches(offer, filter))
  }

  async function offersOf(machineIds: number[]): Promise<Offer[]> {
    const conditions: Condition[] = [{ field: 'machineId', operator: 'in', values: machineIds }]
    const wanted = { filter: { conditions, alternatives: [] }, pricing: defaultPricing, order: [], bundled: false }
    return await findOffers(deps, wanted, Number.MAX_SAFE_INTEGER)
  }
}

/** In one order, so that streams which are behind alike ask for the same ones. */
function piecesOf(machineIds: Set<number>): number[][] {
  const all = [...machineIds].toSorted((one, other) => one - other)
  const starts = Array.from({ length: Math.ceil(all.length / machinesAtOnce) }, (_, index) => index * machinesAtOnce)
  return starts.map(start => all.slice(start, start + machinesAtOnce))
}

/** Tells what is otherwise than was seen, and remembers it as it is. */
function* compare(seen: Seen, found: Found[], machineIds?: Set<number>): Generator<OfferChange> {
  const ids = new Set(found.map(({ offer }) => offer.id))
  for (const [offerId, { machineId }] of seen) {
    if (ids.has(offerId) || machineIds?.has(machineId) === false) continue
    seen.delete(offerId)
    yield { kind: 'removed', offerId, offer: null }
  }
  for (const { offer, memory } of found) {
    const before = seen.get(offer.id)
    if (before?.print === memory.print) continue
    seen.set(offer.id, memory)
    if (seen.size > maxWatched) throw tooManyWatched()
    yield { kind: before ? 'updated' : 'added', offerId: offer.id, offer }
  }
}
