// The port through which streams learn what happens. Each gateway reads the events once, for all that follow them there.

import type { Actor } from '../domain/actor.ts'
import type { Event, Position } from '../domain/events/events.ts'

export type Feed = {
  /** Follows what happens from now on. Refused where there are too many streams, of a key or of all. */
  subscribe(actor: Actor, interest: FeedFilter): Promise<FeedSubscription>
}

/**
 * What a stream is told of: events that it wants, that there were some by which it wakes, and machines whose offers
 * changed. Nothing, when absent. Only the events that it wants are kept for it.
 */
export type FeedFilter = {
  includes?: (event: Event) => boolean
  wakesOn?: (event: Event) => boolean
  includesMarket?: boolean
}

/** What happened since it was asked before. */
export type FeedUpdate = { events: Event[]; machineIds: number[] }

export type FeedSubscription = {
  /** What came before is in the database, and nothing of it comes here. */
  startPosition: Position
  /** Waits for something new, or so long. Undefined once it is closed; throws when Berth ends the stream. */
  next(timeoutMs?: number): Promise<FeedUpdate | undefined>
  /** Waits until it is this stream's turn to work, on the share of the event loop that streams have. */
  waitForTurn(): Promise<void>
  isClosed(): boolean
  close(): void
}

/**
 * What a generator yields, for a reader that may go at any time. A generator that waits does not hear that, so whatever it
 * waits for is ended too. And when Berth ends the stream, what the generator has left is not told any more.
 */
export function createStream<Item>(
  subscription: FeedSubscription,
  items: AsyncGenerator<Item>,
): AsyncIterableIterator<Item> {
  const ended = { done: true, value: undefined } as const
  let isOver = false

  function close(): void {
    isOver = true
    subscription.close()
  }

  /** The reader makes a result of an item in the turn of the stream. */
  async function untilTurn(): Promise<void> {
    await subscription.waitForTurn()
    // Berth ended the stream meanwhile: this throws why.
    if (!isOver && subscription.isClosed()) await subscription.next()
  }

  return {
    async next() {
      if (isOver) return ended
      try {
        const isClosed = subscription.isClosed()
        const item = isClosed ? await subscription.next().then(() => ended) : await items.next()
        if (!item.done) await untilTurn()
        if (isOver) return ended
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
      return ended
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
