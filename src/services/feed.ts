// The port through which streams receive events. Each gateway reads the events once for all of its streams.

import type { Actor } from '../domain/actor.ts'
import type { EventCursor } from '../domain/events/cursor.ts'
import type { Event, Position } from '../domain/events/events.ts'

export type Feed = {
  /** Follows the events from now on. Throws if the key, the account or the gateway has too many streams. */
  subscribe(actor: Actor, interest: Interest): Promise<FeedSubscription>
}

/**
 * Selects what a stream receives; an absent field selects nothing.
 * - `includes`: events that the feed buffers and delivers
 * - `wakesOn`: events that only end a wait
 * - `wakesOnBidOf`: instances of the account whose bid to beat may have changed, which also only ends a wait
 * - `includesMarket`: ids of machines whose offers changed
 */
export type Interest = {
  includes?: (event: Event) => boolean
  wakesOn?: (event: Event) => boolean
  wakesOnBidOf?: (instanceId: bigint) => boolean
  includesMarket?: boolean
}

/**
 * Everything new since the previous update. Nothing that this stream selects happened between the previous update and
 * `since`.
 */
export type FeedUpdate = { events: Event[]; machineIds: number[]; since: Position }

export type FeedSubscription = {
  /** Earlier events are in the database, and the feed does not deliver them. */
  startPosition: EventCursor
  /**
   * Waits for an update, which is empty after a timeout. Returns undefined once closed; throws if Berth ended the
   * stream.
   */
  next(timeoutMs?: number): Promise<FeedUpdate | undefined>
  /** Waits until this stream may work: streams take turns (`events/turn-scheduler.ts`). */
  waitForTurn(): Promise<void>
  isClosed(): boolean
  close(): void
}

/**
 * Yields a generator's items to a reader that may leave at any time. A waiting generator does not notice when the
 * reader leaves, so closing also ends its wait. When Berth ends the stream, the generator's remaining items are
 * dropped.
 */
export function createStream<Item>(
  subscription: FeedSubscription,
  items: AsyncGenerator<Item>,
): AsyncIterableIterator<Item> {
  const done = { done: true, value: undefined } as const
  let isOver = false

  function close(): void {
    isOver = true
    subscription.close()
  }

  /** Waits for the stream's turn, in which GraphQL makes a result of the item. Throws if Berth ended the stream meanwhile. */
  async function untilTurn(): Promise<void> {
    await subscription.waitForTurn()
    if (!isOver && subscription.isClosed()) await throwIfBerthEndedIt()
  }

  /** For a closed subscription: throws the reason if Berth ended the stream. */
  async function throwIfBerthEndedIt(): Promise<void> {
    await subscription.next()
  }

  return {
    async next() {
      if (isOver) return done
      try {
        const isClosed = subscription.isClosed()
        if (isClosed) await throwIfBerthEndedIt()
        const item = isClosed ? done : await items.next()
        if (!item.done) await untilTurn()
        if (isOver) return done
        if (item.done) close()
        return item
      } catch (error) {
        close()
        throw error
      }
    },
    async return() {
      close()
      await items.return(undefined)
      return done
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
