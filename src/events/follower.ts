import type { Actor } from '../domain/actor.ts'
import type { StreamEnding } from '../domain/errors.ts'
import type { Event, Position } from '../domain/events/events.ts'
import { maxEventsBehind, streamEnded } from '../domain/streams.ts'
import type { Following, Interest, News } from '../services/feed.ts'

/** One stream, seen from the feed. */
export type Follower = {
  actor: Actor
  interest: Interest
  since: number
  /** What its reader holds, once it is let in. */
  following: Promise<Following>
  admitted(): boolean
  admit(from: Position): void
  refuse(error: Error): void
  tell(events: Event[], machineIds: number[]): void
  end(ending: StreamEnding): void
}

const nothing = () => false

export function createFollower(
  actor: Actor,
  interest: Interest,
  { since, turn, onClose }: { since: number; turn: () => Promise<void>; onClose: () => void },
): Follower {
  const { promise: following, resolve: letIn, reject } = Promise.withResolvers<Following>()
  let events: Event[] = []
  let machineIds = new Set<number>()
  let woken = false
  let admitted = false
  let closed = false
  /** Undefined where the reader went by itself. */
  let why: Error | undefined
  let wakeReader = () => {}

  const hasNews = () => woken || events.length + machineIds.size > 0

  function close(reason?: Error): void {
    if (closed) return
    closed = true
    why = reason
    // What nobody is going to read.
    events = []
    machineIds = new Set()
    onClose()
    wakeReader()
    if (reason) reject(reason)
  }

  async function next(timeoutMs?: number): Promise<News | undefined> {
    if (!hasNews() && !closed) await news(timeoutMs)
    if (why) throw why
    if (closed) return undefined
    const read = { events, machineIds: [...machineIds] }
    events = []
    machineIds = new Set()
    woken = false
    return read
  }

  async function news(timeoutMs: number | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs)
    wakeReader = resolve
    await promise
    clearTimeout(timer)
  }

  return {
    actor,
    interest,
    since,
    following,
    admitted: () => admitted,
    admit(from) {
      admitted = true
      letIn({ from, next, turn, closed: () => closed, close: () => close() })
    },
    refuse: close,
    tell(told, changed) {
      if (closed) return
      const { wants = nothing, wakes = nothing, market } = interest
      events.push(...told.filter(wants))
      if (told.some(wakes)) woken = true
      for (const machineId of market ? changed : []) machineIds.add(machineId)
      if (events.length > maxEventsBehind) close(streamEnded('TOO_SLOW'))
      else if (hasNews()) wakeReader()
    },
    end: ending => close(streamEnded(ending)),
  }
}
