import type { Actor } from '../domain/actor.ts'
import type { StreamEndReason } from '../domain/errors.ts'
import type { Event, Position } from '../domain/events/events.ts'
import { maxBufferedEvents, streamEnded } from '../domain/streams.ts'
import type { FeedSubscription, FeedUpdate, Interest } from '../services/feed.ts'

/** One stream, as the feed sees it. */
export type Follower = {
  actor: Actor
  interest: Interest
  /** When the stream was opened. */
  openedMs: number
  /** Resolves to the subscription once the stream is admitted. */
  subscription: Promise<FeedSubscription>
  isAdmitted(): boolean
  admit(startPosition: Position): void
  fail(error: Error): void
  deliver(events: Event[], machineIds: number[]): void
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
    const update = { events, machineIds: [...machineIds] }
    events = []
    machineIds = new Set()
    woken = false
    return update
  }

  async function waitForUpdate(timeoutMs: number | undefined): Promise<void> {
    const { promise: waiting, resolve: endWait } = Promise.withResolvers<void>()
    const timer = timeoutMs === undefined ? undefined : setTimeout(endWait, timeoutMs)
    wakeReader = endWait
    await waiting
    clearTimeout(timer)
  }

  return {
    actor,
    interest,
    openedMs,
    subscription,
    isAdmitted: () => admitted,
    admit(startPosition) {
      admitted = true
      resolve({ startPosition, next, waitForTurn, isClosed: () => closed, close: () => close() })
    },
    fail: close,
    deliver(newEvents, changedMachineIds) {
      if (closed) return
      const { includes = matchesNothing, wakesOn = matchesNothing, includesMarket } = interest
      events.push(...newEvents.filter(includes))
      if (newEvents.some(wakesOn)) woken = true
      for (const machineId of includesMarket ? changedMachineIds : []) machineIds.add(machineId)
      if (events.length > maxBufferedEvents) close(streamEnded('TOO_SLOW'))
      else if (hasUpdate()) wakeReader()
    },
    end: reason => close(streamEnded(reason)),
  }
}
