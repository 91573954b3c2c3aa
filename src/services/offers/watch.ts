// What changes on the market, for those who wait for something on it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from '../../domain/actor.ts'
import type { Condition, OfferFilter } from '../../domain/offers/filter.ts'
import { defaultPricing, type Offer, type Pricing } from '../../domain/offers/offers.ts'
import {
  dependsOnTime,
  maxRemembered,
  maxRememberedPerAccount,
  maxWatched,
  type OfferChange,
  tooManyWatched,
} from '../../domain/offers/watch.ts'
import { tooManyStreams } from '../../domain/streams.ts'
import { authorize } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { createStream, type FeedSubscription } from '../feed.ts'
import { findMachinesOfOffers, findOffers } from './offers.ts'
import { createOfferReader, createView, limitConcurrency, type OfferView } from './reader.ts'
import { createRememberedOffers, diffOffers, type RememberedOffers, takeEndedMachines } from './remembered.ts'

/** What happens faster is told at once, in its outcome. */
const coalesceMs = 250
/** How late it is told that an offer's time is over, which nothing else tells. */
const tickMs = 60_000
/** So many searches of streams at once: requests wait for the same connections. */
const maxConcurrentSearches = 2
/** A stream compares this many machines at a time while it opens, when nothing is told of them. */
const openingBatchSize = 200
/** And this many later: what it tells late was read just before. */
const updateBatchSize = 25

export function offerWatchServices(deps: Deps) {
  const { feed } = deps
  const now = () => deps.database.clock.now()
  const search = limitConcurrency(maxConcurrentSearches)
  const readings = createOfferReader(findMachineOffers)
  const open = new Set<RememberedOffers>()

  return {
    /** What becomes from now on of the offers that match: of each for itself, also of those that a bundle hides. */
    async watch(actor: Actor, filter: OfferFilter, pricing: Pricing): Promise<AsyncIterableIterator<OfferChange>> {
      authorize(actor, 'offers.watch')
      const seen = createRememberedOffers(actor.accountId)
      const view = createView(filter, pricing)
      // Followed before it is searched, so that nothing changes in between.
      const following = untilClosed(await feed.subscribe(actor, { includesMarket: true }), seen)
      try {
        const at = now()
        // What is there at the beginning is remembered, and not told.
        const pieces = splitIntoBatches(await findMatchingMachines(view), openingBatchSize)
        for await (const _ of differences(following, view, seen, pieces));
        return createStream(following, changes(following, view, seen, at))
      } catch (error) {
        following.close()
        throw error
      }
    },
  }

  /** What a stream remembers counts until it is closed. */
  function untilClosed(following: FeedSubscription, seen: RememberedOffers): FeedSubscription {
    open.add(seen)
    return {
      ...following,
      close() {
        open.delete(seen)
        following.close()
      },
    }
  }

  function checkMemoryLimits({ accountId }: RememberedOffers): void {
    const sizeOf = (all: RememberedOffers[]) => all.reduce((sum, { size }) => sum + size, 0)
    if (sizeOf([...open]) > maxRemembered) throw tooManyStreams('This gateway follows as many offers as it can.')
    const own = [...open].filter(seen => seen.accountId === accountId)
    if (sizeOf(own) <= maxRememberedPerAccount) return
    const message = `The streams of an account follow at most ${maxRememberedPerAccount} offers together. Close one, or follow fewer offers.`
    throw tooManyStreams(message)
  }

  async function* changes(
    following: FeedSubscription,
    view: OfferView,
    seen: RememberedOffers,
    since: Date,
  ): AsyncGenerator<OfferChange> {
    let lookedAtAll = since
    for (let news = await following.next(tickMs); news; news = await following.next(tickMs)) {
      const at = now()
      const machineIds = new Set([...news.machineIds, ...takeEndedMachines(seen, at)])
      if (dependsOnTime(view.filter) && at.getTime() - lookedAtAll.getTime() >= tickMs) {
        for (const id of [...(await findMatchingMachines(view)), ...seen.machines.keys()]) machineIds.add(id)
        lookedAtAll = at
      }
      yield* differences(following, view, seen, splitIntoBatches(machineIds, updateBatchSize))
      await sleep(coalesceMs)
    }
  }

  /** What is otherwise than was seen, a piece of the machines at a time. */
  async function* differences(
    { waitForTurn }: FeedSubscription,
    view: OfferView,
    seen: RememberedOffers,
    pieces: number[][],
  ): AsyncGenerator<OfferChange> {
    for (const some of pieces) {
      const [found, remembered] = [await readings(some, view), seen.size]
      await waitForTurn()
      yield* diffOffers(seen, found, some)
      if (seen.size > remembered) checkMemoryLimits(seen)
    }
  }

  /** The machines with offers that match. Refused when too many offers do. */
  async function findMatchingMachines({ filter, pricing }: OfferView): Promise<Set<number>> {
    const wanted = { filter, pricing, order: [], bundled: false }
    const machineIds = await search(() => findMachinesOfOffers(deps, wanted, maxWatched + 1))
    if (machineIds.length > maxWatched) throw tooManyWatched()
    return new Set(machineIds)
  }

  async function findMachineOffers(machineIds: number[]): Promise<Offer[]> {
    const conditions: Condition[] = [{ field: 'machineId', operator: 'in', values: machineIds }]
    const wanted = { filter: { conditions, alternatives: [] }, pricing: defaultPricing, order: [], bundled: false }
    return await findOffers(deps, wanted, Number.MAX_SAFE_INTEGER)
  }
}

/** In one order, so that streams which are behind alike ask for the same ones. */
function splitIntoBatches(machineIds: Set<number>, size: number): number[][] {
  const all = [...machineIds].toSorted((one, other) => one - other)
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, index) => index * size)
  return starts.map(start => all.slice(start, start + size))
}
