// The port through which streams learn what happens. Each gateway reads the events once, for all that follow them there.

import type { Actor } from '../domain/actor.ts'
import type { Event, Position } from '../domain/events/events.ts'

export type Feed = {
  /** Follows what happens from now on. Refused where there are too many streams, of a key or of all. */
  follow(actor: Actor, interest: Interest): Promise<Following>
}

/**
 * What a stream is told of: events that it wants, that there were some by which it wakes, and machines whose offers
 * changed. Nothing, when absent. Only the events that it wants are kept for it.
 */
export type Interest = {
  wants?: (event: Event) => boolean
  wakes?: (event: Event) => boolean
  market?: boolean
}

/** What happened since it was asked before. */
export type News = { events: Event[]; machineIds: number[] }

export type Following = {
  /** What came before is in the database, and nothing of it comes here. */
  from: Position
  /** Waits for something new, or so long. Undefined once it is closed; throws when Berth ends the stream. */
  next(timeoutMs?: number): Promise<News | undefined>
  /** Waits until it is this stream's turn to work, on the share of the event loop that streams have. */
  turn(): Promise<void>
  closed(): boolean
  close(): void
}

/**
 * What a generator yields, for a reader that may go at any time. A generator that waits does not hear that, so whatever it
 * waits for is ended too. And when Berth ends the stream, what the generator has left is not told any more.
 */
export function streamOf<Item>(following: Following, items: AsyncGenerator<Item>): AsyncIterableIterator<Item> {
  const ended = { done: true, value: undefined } as const
  let over = false

  function close(): void {
    over = true
    following.close()
  }

  /** The reader makes a result of an item in the turn of the stream. */
  async function untilTurn(): Promise<void> {
    await following.turn()
    // Berth ended the stream meanwhile: this throws why.
    if (!over && following.closed()) await following.next()
  }

  return {
    async next() {
      if (over) return ended
      try {
        const isClosed = following.closed()
        const item = isClosed ? await following.next().then(() => ended) : await items.next()
        if (!item.done) await untilTurn()
        if (over) return ended
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
