// The port through which streams learn what happens. Each gateway reads the events once, for all that follow them there.

import type { Actor } from '../domain/actor.ts'
import type { Event, Position } from '../domain/events.ts'

export type Feed = {
  /** Follows what happens from now on. Refused where there are too many streams, of a key or of all. */
  follow(actor: Actor, interest: Interest): Promise<Following>
}

/** What a stream is told of: events for which this holds, and machines whose offers changed. Nothing, when absent. */
export type Interest = { wants?: (event: Event) => boolean; market?: boolean }

/** What happened since it was asked before. */
export type News = { events: Event[]; machineIds: number[] }

export type Following = {
  /** What came before is in the database, and nothing of it comes here. */
  from: Position
  /** Waits for something new, or so long. Undefined once it is closed; throws when Berth ends the stream. */
  next(timeoutMs?: number): Promise<News | undefined>
  close(): void
}

/**
 * What a generator yields, for a reader that may go at any time. A generator that waits does not hear that, so whatever it
 * waits for is ended too.
 */
export function streamOf<Item>(following: Following, items: AsyncGenerator<Item>): AsyncIterableIterator<Item> {
  const ended = { done: true, value: undefined } as const
  return {
    async next() {
      const item = await items.next().catch((error: unknown) => {
        following.close()
        throw error
      })
      if (item.done) following.close()
      return item
    },
    async return() {
      following.close()
      await items.return(undefined)
      return ended
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
