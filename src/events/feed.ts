// Delivers events to all streams of this gateway. One read serves all of them.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { Actor } from '../domain/actor.ts'
import type { StreamEndReason } from '../domain/errors.ts'
import { cursorExpired, type EventCursor } from '../domain/events/cursor.ts'
import { type Event, isAfter } from '../domain/events/events.ts'
import { maxStreamMs, type StreamLimits, streamEnded, streamLimits, tooManyStreams } from '../domain/streams.ts'
import type { Outbox } from '../services/events/outbox.ts'
import type { Feed, FeedSubscription, Interest } from '../services/feed.ts'
import { createFollower, type Delivery, type Follower } from './follower.ts'
import { createTurnScheduler } from './turn-scheduler.ts'

type LiveFeed = Feed & {
  /** Reads soon, since there may be new events. */
  wake(): void
  streamCount(): number
  /** Ends every stream and refuses new ones. */
  stop(): void
}

type ActiveKeys = Awaited<ReturnType<Outbox['findActiveKeys']>>

export type FeedOptions = { outbox: Outbox; now: () => Date; log: Logger; limits?: StreamLimits }

/** What one read found, and the position up to which it read. */
type FoundChanges = {
  events: Event[]
  machineIds: number[]
  rebids: { accountId: number; instanceId: bigint }[]
  reached: EventCursor
}

/** Safety net: the longest delay of an event whose wake-up was missed. */
const pollMs = 1_000
/** Shortest pause between reads. The cost of a read grows with the number of accounts that follow. */
const minPauseMs = 10

export function createFeed({ outbox, now, log, limits = streamLimits }: FeedOptions): LiveFeed {
  /** All open streams: those that wait to be admitted, and those that receive events. */
  const followers = new Set<Follower>()
  /** The position up to which events were read for the admitted followers. */
  let position: EventCursor | undefined
  const waitForTurn = createTurnScheduler()
  let reading = false
  let readAgain = false
  let failing = false
  let stopped = false
  const timer = setInterval(wake, pollMs)
  timer.unref()

  /** A wake-up during a read causes another read: the current one may have begun before the new events. */
  function wake(): void {
    readAgain = true
    if (!reading && followers.size > 0) void readUntilIdle()
  }

  async function readUntilIdle(): Promise<void> {
    reading = true
    try {
      while (readAgain && followers.size > 0) {
        readAgain = false
        await readOnce()
        await sleep(minPauseMs)
      }
      failing = false
    } catch (error) {
      handleFailure(error instanceof Error ? error : new Error(String(error)))
    }
    // No await since the last check of `readAgain`, so no wake-up is lost.
    reading = false
  }

  /** A failure loses nothing: the next poll reads from the same position. */
  function handleFailure(error: Error): void {
    // Logged once, not every second while the database is away.
    if (!failing && !stopped) log.warn({ err: error }, 'Events cannot be read. Retrying.')
    failing = true
    for (const follower of followers) if (!follower.isAdmitted()) follower.fail(error)
  }

  async function readOnce(): Promise<void> {
    const all = [...followers]
    const joining = all.filter(follower => !follower.isAdmitted())
    const admitted = all.filter(follower => follower.isAdmitted())
    const found = await read(admitted)
    const { reached } = found
    // The horizon moves back only after a failover that lost transactions.
    if (position && (isAfter(position, reached) || position.epoch !== reached.epoch))
      return await startNewEpoch(admitted, position)
    // Read after the events, so that a stream gets no event from after its key ended.
    const activeKeys = await outbox.findActiveKeys([...new Set(all.map(({ actor }) => actor.publicId))])
    deliver(admitted, found, activeKeys)
    // New followers get events from the next read on, and none from this one.
    for (const follower of joining) {
      const reason = keyEndReason(follower.actor, activeKeys)
      if (reason) follower.end(reason)
      else follower.admit(reached)
    }
    // After a full batch, `reached` is the position of its last event and not the horizon, so there may be more events.
    if (reached.id > 0n) readAgain = true
    position = reached
  }

  /** Followers that are not admitted yet join at the next read. */
  async function startNewEpoch(admitted: Follower[], { epoch }: EventCursor): Promise<void> {
    await outbox.endEpoch(epoch)
    log.warn({ epoch }, 'The order of events starts again: cursors have expired, and streams end.')
    for (const follower of admitted) follower.fail(cursorExpired())
    position = undefined
    readAgain = true
  }

  async function read(admitted: Follower[]): Promise<FoundChanges> {
    const nothing = { events: [], machineIds: [], rebids: [] }
    if (!position || admitted.length === 0) return { ...nothing, reached: await outbox.readHorizon() }
    const { events, reached } = await outbox.readAfter(position, accountsOf(admitted))
    const wantsMarket = admitted.some(({ interest }) => interest.includesMarket)
    const machineIds = wantsMarket ? await outbox.findChangedMachines(position.xid, reached.xid) : []
    const bidders = accountsOf(admitted.filter(({ interest }) => interest.wakesOnBidOf))
    const rebids = bidders.length > 0 ? await outbox.findRebids(position.xid, reached.xid, bidders) : []
    return { events, machineIds, rebids, reached }
  }

  function deliver(admitted: Follower[], found: FoundChanges, activeKeys: ActiveKeys): void {
    const oldestMs = now().getTime() - maxStreamMs
    const { machineIds, reached } = found
    const eventsByAccount = Map.groupBy(found.events, ({ accountId }) => accountId)
    const rebidsByAccount = Map.groupBy(found.rebids, ({ accountId }) => accountId)
    const nothing: Delivery = { events: [], machineIds, rebidIds: [], reached }
    const deliveries = new Map(
      [...new Set([...eventsByAccount.keys(), ...rebidsByAccount.keys()])].map(accountId => {
        const rebidIds = rebidsByAccount.get(accountId)?.map(({ instanceId }) => instanceId) ?? []
        return [accountId, { ...nothing, events: eventsByAccount.get(accountId) ?? [], rebidIds }]
      }),
    )
    for (const follower of admitted) {
      const { actor, openedMs } = follower
      const reason = keyEndReason(actor, activeKeys)
      if (reason) follower.end(reason)
      else if (openedMs <= oldestMs) follower.end('TOO_LONG')
      else follower.deliver(deliveries.get(actor.accountId) ?? nothing)
    }
  }

  function checkStreamLimits({ apiKeyId, accountId }: Actor): void {
    if (followers.size >= limits.total)
      throw tooManyStreams(`This gateway has reached its limit of ${limits.total} streams. Try again later.`)
    let [ofAccount, ofKey] = [0, 0]
    // Makes no lists and no iterators: with many streams, those are most of the garbage of one that opens.
    followers.forEach(({ actor }) => {
      if (actor.accountId !== accountId) return
      ofAccount += 1
      if (actor.apiKeyId === apiKeyId) ofKey += 1
    })
    if (ofKey >= limits.perKey) throw tooManyStreams(limitMessage('key', limits.perKey))
    if (ofAccount >= limits.perAccount) throw tooManyStreams(limitMessage('account', limits.perAccount))
  }

  return {
    wake,
    streamCount: () => followers.size,
    async subscribe(actor: Actor, interest: Interest): Promise<FeedSubscription> {
      if (stopped) throw streamEnded('GATEWAY_STOPS')
      checkStreamLimits(actor)
      const follower = createFollower(actor, interest, {
        openedMs: now().getTime(),
        waitForTurn: () => waitForTurn(actor.accountId),
        onClose: () => void followers.delete(follower),
      })
      followers.add(follower)
      wake()
      return await follower.subscription
    },
    stop() {
      stopped = true
      clearInterval(timer)
      for (const follower of followers) follower.end('GATEWAY_STOPS')
    },
  }
}

function limitMessage(holder: string, most: number): string {
  return `This ${holder} has reached its limit of ${most} streams on this gateway. Close one first.`
}

/** Why a key ends its streams: a stream reads with the permissions that the key had when the stream was opened. */
function keyEndReason({ publicId, permissions }: Actor, activeKeys: ActiveKeys): StreamEndReason | undefined {
  const current = activeKeys.get(publicId)
  if (current === undefined) return 'KEY_ENDED'
  return isDeepStrictEqual(current, permissions) ? undefined : 'KEY_CHANGED'
}

function accountsOf(followers: Follower[]): number[] {
  return [...new Set(followers.map(({ actor }) => actor.accountId))]
}
