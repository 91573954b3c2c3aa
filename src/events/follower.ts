import type { Actor } from '../domain/actor.ts'
import type { StreamEnding } from '../domain/errors.ts'
import type { Event, Position } from '../domain/events.ts'
import { maxEventsBehind, streamEnded } from '../domain/streams.ts'
import type { Following, Interest, News } from '../services/feed.ts'

/** One stream, seen from the feed. */
export type Follower = {
  actor: Actor
  interest: Interest
  since: number
  admitted: Promise<Following>
  admit(from: Position): void
  tell(events: Event[], machineIds: number[]): void
  end(ending: StreamEnding): void
  closed(): boolean
}

export function createFollower(actor: Actor, interest: Interest, since: number, onClose: () => void): Follower {
  const { promise: admitted, resolve, reject } = Promise.withResolvers<Following>()
  let waiting: News = { events: [], machineIds: [] }
  let ending: StreamEnding | undefined
  let closed = false
  let wakeReader: (() => void) | undefined

  function close(): void {
    if (closed) return
    closed = true
    onClose()
    wakeReader?.()
  }

  async function next(timeoutMs?: number): Promise<News | undefined> {
    if (!hasNews() && !closed) await news(timeoutMs)
    if (closed) {
      if (ending === undefined) return undefined
      throw streamEnded(ending)
    }
    const read = waiting
    waiting = { events: [], machineIds: [] }
    return read
  }

  const hasNews = () => waiting.events.length + waiting.machineIds.length > 0

  async function news(timeoutMs: number | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs)
    wakeReader = resolve
    await promise
    wakeReader = undefined
    clearTimeout(timer)
  }

  return {
    actor,
    interest,
    since,
    admitted,
    closed: () => closed,
    admit: from => resolve({ from, next, closed: () => closed, close }),
    tell(events, machineIds) {
      if (closed) return
      if (interest.wants) waiting.events.push(...events.filter(interest.wants))
      if (interest.market) waiting.machineIds = [...new Set([...waiting.machineIds, ...machineIds])]
      if (waiting.events.length > maxEventsBehind) this.end('TOO_SLOW')
      else if (hasNews()) wakeReader?.()
    },
    end(reason) {
      if (closed) return
      ending = reason
      close()
      reject(streamEnded(reason))
    },
  }
}
