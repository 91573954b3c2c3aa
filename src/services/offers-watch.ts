// What changes on the market, for those who wait for something on it.

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from '../domain/actor.ts'
import type { Offer, Pricing } from '../domain/offers.ts'
import type { Condition, OfferFilter } from '../domain/offers-filter.ts'
import { dependsOnTime, factsOf, maxWatched, type OfferChange, tooManyWatched } from '../domain/offers-watch.ts'
import { authorise } from './authorise.ts'
import type { Deps } from './deps.ts'
import { type Following, streamOf } from './feed.ts'
import { findOffers } from './offers.ts'

type Wanted = { filter: OfferFilter; pricing: Pricing }
/** What a stream remembers of the offers that match: enough to see that one is another now. */
type Seen = Map<bigint, { machineId: number; listedUntil: Date; print: string }>

/** What happens faster is told at once, in its outcome. */
const quietMs = 250
/** How late it is told that an offer's time is over, which nothing else tells. */
const tickMs = 60_000

export function offerWatchServices(deps: Deps) {
  const { feed, now } = deps

  return {
    /** What becomes from now on of the offers that match: of each for itself, also of those that a bundle hides. */
    async watch(actor: Actor, filter: OfferFilter, pricing: Pricing): Promise<AsyncIterableIterator<OfferChange>> {
      authorise(actor, 'offers.watch')
      // Followed before it is searched, so that nothing changes in between.
      const following = await feed.follow(actor, { market: true })
      try {
        const [at, offers] = [now(), await find({ filter, pricing })]
        const seen: Seen = new Map(offers.map(offer => [offer.id, memoryOf(offer)]))
        return streamOf(following, changes(following, { filter, pricing }, seen, at))
      } catch (error) {
        following.close()
        throw error
      }
    },
  }

  async function* changes({ next }: Following, wanted: Wanted, seen: Seen, since: Date): AsyncGenerator<OfferChange> {
    let [looked, lookedAtAll] = [since, since]
    for (let news = await next(tickMs); news; news = await next(tickMs)) {
      const at = now()
      const all = dependsOnTime(wanted.filter) && at.getTime() - lookedAtAll.getTime() >= tickMs
      const over = [...seen.values()].filter(({ listedUntil }) => listedUntil > looked && listedUntil <= at)
      const machineIds = new Set([...news.machineIds, ...over.map(({ machineId }) => machineId)])
      if (all) yield* compare(seen, await find(wanted))
      else if (machineIds.size > 0) yield* compare(seen, await find(wanted, machineIds), machineIds)
      if (all) lookedAtAll = at
      looked = at
      await sleep(quietMs)
    }
  }

  /** The offers that match, of some machines or of all. */
  async function find({ filter, pricing }: Wanted, machineIds?: Set<number>): Promise<Offer[]> {
    const of: Condition[] = machineIds ? [{ field: 'machineId', operator: 'in', values: [...machineIds] }] : []
    const conditions = [...filter.conditions, ...of]
    const search = { filter: { ...filter, conditions }, pricing, order: [], bundled: false }
    const offers = await findOffers(deps, search, maxWatched + 1)
    if (offers.length > maxWatched) throw tooManyWatched()
    return offers
  }
}

/** Tells what is otherwise than was seen, and remembers it as it is. */
function* compare(seen: Seen, offers: Offer[], machineIds?: Set<number>): Generator<OfferChange> {
  const found = new Set(offers.map(({ id }) => id))
  for (const [offerId, { machineId }] of seen) {
    if (found.has(offerId) || machineIds?.has(machineId) === false) continue
    seen.delete(offerId)
    yield { kind: 'removed', offerId, offer: null }
  }
  for (const offer of offers) {
    const [before, after] = [seen.get(offer.id), memoryOf(offer)]
    if (before?.print === after.print) continue
    seen.set(offer.id, after)
    if (seen.size > maxWatched) throw tooManyWatched()
    yield { kind: before ? 'updated' : 'added', offerId: offer.id, offer }
  }
}

function memoryOf(offer: Offer) {
  const { machineId, machine } = offer
  const facts = JSON.stringify(factsOf(offer), (_key, value) => (typeof value === 'bigint' ? String(value) : value))
  return { machineId, listedUntil: machine.listedUntil, print: createHash('sha1').update(facts).digest('base64') }
}
