// Streams of the changes of offers, for subscriptions.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Actor } from '../../domain/actor.ts'
import type { Condition, OfferFilter } from '../../domain/offers/filter.ts'
import { defaultPricing, type OfferFacts, type Pricing } from '../../domain/offers/offers.ts'
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
import { limitConcurrency } from '../turns.ts'
import { refuseUnknownNames } from './names.ts'
import { findOffers } from './offers.ts'
import { createOfferReader, createView, type OfferView } from './reader.ts'
import { createRememberedOffers, diffOffers, type RememberedOffers, takeEndedMachines } from './remembered.ts'
import { wholeOffer } from './sql/source.ts'

/** Changes within this time are merged: the stream reports their outcome. */
const coalesceMs = 250
/** The end of an offer causes no change in the feed. The stream reports it within this time. */
const tickMs = 60_000
/** Streams run at most this many searches at once, because requests need the same connections. */
const maxConcurrentSearches = 2
/** A stream that opens compares at most this many machines at a time. It reports nothing yet. */
const openingBatchSize = 200
/** An open stream compares at most this many machines at a time: few, so that even a slow reader gets fresh facts. */
const updateBatchSize = 25

export function offerWatchServices(deps: Deps) {
  const { feed } = deps
  const now = () => deps.database.clock.now()
  const limitSearches = limitConcurrency(maxConcurrentSearches)
  const readOffers = createOfferReader(findMachineOffers)
  const open = new Set<RememberedOffers>()

  return {
    /** Streams the changes of matching offers from now on, including offers that a bundle hides in searches. */
    async watch(actor: Actor, filter: OfferFilter, pricing: Pricing): Promise<AsyncIterableIterator<OfferChange>> {
      authorize(actor, 'offers.watch')
      await refuseUnknownNames(deps, filter)
      const remembered = createRememberedOffers(actor.accountId)
      const view = createView(filter, pricing)
      // Subscribes before it searches, so that no change in between is lost.
      const subscription = untilClosed(await feed.subscribe(actor, { includesMarket: true }), remembered)
      try {
        const at = now()
        // Offers that match at the start are remembered, and not reported.
        const batches = splitIntoBatches(await findMatchingMachines(actor.accountId, view), openingBatchSize)
        for await (const _ of differences(subscription, view, remembered, batches));
        return createStream(subscription, changes(subscription, view, remembered, at))
      } catch (error) {
        subscription.close()
        throw error
      }
    },
  }

  /** The offers of a stream count toward the limits until it closes. */
  function untilClosed(subscription: FeedSubscription, remembered: RememberedOffers): FeedSubscription {
    open.add(remembered)
    return {
      ...subscription,
      close() {
        open.delete(remembered)
        subscription.close()
      },
    }
  }

  function checkMemoryLimits({ accountId }: RememberedOffers): void {
    const sizeOf = (all: RememberedOffers[]) => all.reduce((sum, { size }) => sum + size, 0)
    if (sizeOf([...open]) > maxRemembered) {
      throw tooManyStreams(
        `The streams of this gateway follow at most ${maxRemembered} offers together. Try again later, or narrow the filter.`,
      )
    }
    const own = [...open].filter(remembered => remembered.accountId === accountId)
    if (sizeOf(own) <= maxRememberedPerAccount) return
    const message = `The streams of an account follow at most ${maxRememberedPerAccount} offers together. Close a stream or narrow a filter.`
    throw tooManyStreams(message)
  }

  async function* changes(
    subscription: FeedSubscription,
    view: OfferView,
    remembered: RememberedOffers,
    since: Date,
  ): AsyncGenerator<OfferChange> {
    let searchedAt = since
    for (let update = await subscription.next(tickMs); update; update = await subscription.next(tickMs)) {
      const at = now()
      const machineIds = new Set([...update.machineIds, ...takeEndedMachines(remembered, at)])
      if (dependsOnTime(view.filter) && at.getTime() - searchedAt.getTime() >= tickMs) {
        for (const id of [...(await findMatchingMachines(remembered.accountId, view)), ...remembered.machines.keys()])
          machineIds.add(id)
        searchedAt = at
      }
      yield* differences(subscription, view, remembered, splitIntoBatches(machineIds, updateBatchSize))
      await sleep(coalesceMs)
    }
  }

  /** Yields the changes since the stream last compared, one batch of machines at a time. */
  async function* differences(
    { waitForTurn }: FeedSubscription,
    view: OfferView,
    remembered: RememberedOffers,
    batches: number[][],
  ): AsyncGenerator<OfferChange> {
    for (const machineIds of batches) {
      const [found, sizeBefore] = [await readOffers(machineIds, view), remembered.size]
      await waitForTurn()
      yield* diffOffers(remembered, found, machineIds)
      if (remembered.size > sizeBefore) checkMemoryLimits(remembered)
    }
  }

  /** The machines with matching offers. Fails if too many offers match. */
  async function findMatchingMachines(accountId: number, { filter, pricing }: OfferView): Promise<Set<number>> {
    const search = { filter, pricing, order: [], bundled: false }
    const offers = await limitSearches(accountId, () => findOffers(deps, search, maxWatched + 1, { machineId: true }))
    if (offers.length > maxWatched) throw tooManyWatched()
    return new Set(offers.map(({ machineId }) => machineId))
  }

  async function findMachineOffers(machineIds: number[]): Promise<OfferFacts[]> {
    const conditions: Condition[] = [{ field: 'machineId', operator: 'in', values: machineIds }]
    const search = { filter: { conditions, anyOf: [] }, pricing: defaultPricing, order: [], bundled: false }
    return await findOffers(deps, search, Number.MAX_SAFE_INTEGER, wholeOffer)
  }
}

/** Sorts the machines, so that streams with the same backlog request the same batches. */
function splitIntoBatches(machineIds: Set<number>, size: number): number[][] {
  const all = [...machineIds].toSorted((one, other) => one - other)
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, index) => index * size)
  return starts.map(start => all.slice(start, start + size))
}
