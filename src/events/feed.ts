// What happens, told to all who follow it on this gateway. The events are read once for all of them.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Actor } from '../domain/actor.ts'
import { cursorExpired, type EventCursor } from '../domain/events/cursor.ts'
import { type Event, isAfter } from '../domain/events/events.ts'
import { maxStreamMs, type StreamLimits, streamEnded, streamLimits, tooManyStreams } from '../domain/streams.ts'
import type { Outbox } from '../services/events/outbox.ts'
import type { Feed, FeedFilter, FeedSubscription, FeedUpdate } from '../services/feed.ts'
import { createFollower, type Follower } from './follower.ts'
import { createTurnScheduler } from './turn-scheduler.ts'

export type LiveFeed = Feed & {
  /** Something may have happened. */
  wake(): void
  /** How many streams are open. */
  streamCount(): number
  /** Ends every stream, and lets nobody follow from now on. */
  stop(): void
}

export type FeedOptions = { outbox: Outbox; now: () => Date; log: Logger; limits?: StreamLimits }

/** The safety net: what nobody was woken for is told so late at most. */
const pollMs = 1_000
/** However much happens, it is read so often at most: a reading costs the more the more accounts follow. */
const minPauseMs = 10

export function createFeed({ outbox, now, log, limits = streamLimits }: FeedOptions): LiveFeed {
  /** All who have a place here: those who wait to be let in, and those who are told. */
  const followers = new Set<Follower>()
  /** Up to where was read for those who are told. */
  let position: EventCursor | undefined
  const waitForTurn = createTurnScheduler()
  let reading = false
  let readAgain = false
  let failing = false
  let stopped = false
  const timer = setInterval(wake, pollMs)
  timer.unref()

  /** Whoever wakes it during a reading has another follow: that one may have begun before the news. */
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
    // Nothing is awaited since the last look at `again`, so nobody who wakes it is left unheard.
    reading = false
  }

  /** Nothing is lost to a failure: from where it stood is read at the next poll. */
  function handleFailure(error: Error): void {
    // Said once, not every second for as long as the database is gone.
    if (!failing && !stopped) log.warn({ err: error }, 'Events cannot be read. It is tried again.')
    failing = true
    for (const follower of followers) if (!follower.isAdmitted()) follower.refuse(error)
  }

  async function readOnce(): Promise<void> {
    const all = [...followers]
    const joining = all.filter(follower => !follower.isAdmitted())
    const admitted = all.filter(follower => follower.isAdmitted())
    const { events, machineIds, reached } = await read(admitted)
    // Nothing but a failover that lost transactions takes the horizon back.
    if (position && (isAfter(position, reached) || position.epoch !== reached.epoch))
      return await startNewEpoch(admitted, position)
    // Asked after the events were: what happened after a key ended is not told to its bearer.
    const activeKeys = await outbox.findActiveKeys([...new Set(all.map(({ actor }) => actor.publicId))])
    deliver(admitted, events, machineIds, activeKeys)
    // They hear everything of the next reading, and nothing of this one.
    for (const follower of joining)
      if (activeKeys.has(follower.actor.publicId)) follower.admit(reached)
      else follower.end('KEY_ENDED')
    // A full batch ends amid the events, and there are more.
    if (reached.id > 0n) readAgain = true
    position = reached
  }

  /** Whoever joins now does so at the next reading. */
  async function startNewEpoch(admitted: Follower[], { epoch }: EventCursor): Promise<void> {
    await outbox.endEpoch(epoch)
    log.warn({ epoch }, 'The order of events begins anew: cursors have expired, and streams end.')
    for (const follower of admitted) follower.refuse(cursorExpired())
    position = undefined
    readAgain = true
  }

  async function read(admitted: Follower[]): Promise<FeedUpdate & { reached: EventCursor }> {
    if (!position || admitted.length === 0) return { events: [], machineIds: [], reached: await outbox.readHorizon() }
    const accountIds = [...new Set(admitted.map(({ actor }) => actor.accountId))]
    const { events, reached } = await outbox.readAfter(position, accountIds)
    const wantsMarket = admitted.some(({ interest }) => interest.includesMarket)
    const machineIds = wantsMarket ? await outbox.findChangedMachines(position.xid, reached.xid) : []
    return { events, machineIds, reached }
  }

  function deliver(admitted: Follower[], events: Event[], machineIds: number[], activeKeys: Set<string>): void {
    const oldest = now().getTime() - maxStreamMs
    const byAccount = Map.groupBy(events, ({ accountId }) => accountId)
    for (const follower of admitted) {
      const { actor, since } = follower
      if (!activeKeys.has(actor.publicId)) follower.end('KEY_ENDED')
      else if (since <= oldest) follower.end('TOO_LONG')
      else follower.deliver(byAccount.get(actor.accountId) ?? [], machineIds)
    }
  }

  function checkStreamLimits({ apiKeyId, accountId }: Actor): void {
    if (followers.size >= limits.total) throw tooManyStreams('This gateway has as many streams open as it can.')
    const ofAccount = [...followers].filter(({ actor }) => actor.accountId === accountId)
    const ofKey = ofAccount.filter(({ actor }) => actor.apiKeyId === apiKeyId)
    if (ofKey.length >= limits.perKey) throw tooManyStreams(limitMessage('key', limits.perKey))
    if (ofAccount.length >= limits.perAccount) throw tooManyStreams(limitMessage('account', limits.perAccount))
  }

  return {
    wake,
    streamCount: () => followers.size,
    async subscribe(actor: Actor, interest: FeedFilter): Promise<FeedSubscription> {
      if (stopped) throw streamEnded('GATEWAY_STOPS')
      checkStreamLimits(actor)
      const follower = createFollower(actor, interest, {
        since: now().getTime(),
        turn: () => waitForTurn(actor.accountId),
        onClose: () => void followers.delete(follower),
      })
      followers.add(follower)
      wake()
      return await follower.following
    },
    stop() {
      stopped = true
      clearInterval(timer)
      for (const follower of followers) follower.end('GATEWAY_STOPS')
    },
  }
}

function limitMessage(holder: string, most: number): string {
  return `This ${holder} has ${most} streams open here, which is as many as it may have. Close one first.`
}
