import type { Actor } from '../domain/actor.ts'
import type { StreamEndReason } from '../domain/errors.ts'
import type { EventCursor } from '../domain/events/cursor.ts'
import type { Event, Position } from '../domain/events/events.ts'
import { maxBufferedEvents, streamEnded } from '../domain/streams.ts'
import type { FeedSubscription, FeedUpdate, Interest } from '../services/feed.ts'

/** What one read of the feed found for an account, and the position up to which it read. */
export type Delivery = {
  events: Event[]
  /** Machines whose offers changed. */
  machineIds: number[]
  /** Instances whose bid to beat may have changed. */
  rebidIds: bigint[]
  reached: Position
}

/** One stream, as the feed sees it. */
export type Follower = {
  actor: Actor
  interest: Interest
  /** When the stream was opened. */
  openedMs: number
  /** Resolves to the subscription once the stream is admitted. */
  subscription: Promise<FeedSubscription>
  isAdmitted(): boolean
  admit(startPosition: EventCursor): void
  fail(error: Error): void
  deliver(delivery: Delivery): void
  end(reason: StreamEndReason): void
}

const matchesNothing = () => false

export function createFollower(
  actor: Actor,
  interest: Interest,
  { openedMs, waitForTurn, onClose }: { openedMs: number; waitForTurn: () => Promise<void>; onClose: () => void },
): Follower {
  const { promise: subscription, resolve, reject } = Promise.withResolvers<FeedSubscription>()
  let events: Event[] = []
  let machineIds = new Set<number>()
  let woken = false
  /** Where this stream has last seen that nothing is new. */
  let quietUntil: Position = { xid: 0n, id: 0n }
  let admitted = false
  let closed = false
  /** Undefined when the reader closed the stream. */
  let closeReason: Error | undefined
  let wakeReader = () => {}

  const hasUpdate = () => woken || events.length + machineIds.size > 0

  function close(reason?: Error): void {
    if (closed) return
    closed = true
    closeReason = reason
    // Frees the updates that the reader will not take.
    events = []
    machineIds = new Set()
    onClose()
    wakeReader()
    if (reason) reject(reason)
  }

  async function next(timeoutMs?: number): Promise<FeedUpdate | undefined> {
    if (!hasUpdate() && !closed) await waitForUpdate(timeoutMs)
    if (closeReason) throw closeReason
    if (closed) return undefined
    const update = { events, machineIds: [...machineIds], since: quietUntil }
    events = []
    machineIds = new Set()
    woken = false
    return update
  }

  function waitForUpdate(timeoutMs: number | undefined): Promise<void> {
    const { promise: waiting, resolve: endWait } = Promise.withResolvers<void>()
    wakeReader = endWait
    if (timeoutMs === undefined) return waiting
    const timer = setTimeout(endWait, timeoutMs)
    return waiting.then(() => clearTimeout(timer))
  }

  return {
    actor,
    interest,
    openedMs,
    subscription,
    isAdmitted: () => admitted,
    admit(startPosition) {
      admitted = true
      quietUntil = startPosition
      resolve({ startPosition, next, waitForTurn, isClosed: () => closed, close: () => close() })
    },
    fail: close,
    deliver(delivery) {
      if (closed) return
      const { includes = matchesNothing, wakesOn = matchesNothing, wakesOnBidOf = matchesNothing } = interest
      events.push(...delivery.events.filter(includes))
      if (delivery.events.some(wakesOn) || delivery.rebidIds.some(wakesOnBidOf)) woken = true
      for (const machineId of interest.includesMarket ? delivery.machineIds : []) machineIds.add(machineId)
      if (events.length > maxBufferedEvents) close(streamEnded('TOO_SLOW'))
      else if (hasUpdate()) wakeReader()
      else quietUntil = delivery.reached
    },
    end: reason => close(streamEnded(reason)),
  }
}
