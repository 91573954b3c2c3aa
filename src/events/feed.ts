// What happens, told to all who follow it on this gateway. The events are read once for all of them.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Actor } from '../domain/actor.ts'
import { type Event, isAfter } from '../domain/events/events.ts'
import { cursorExpired, type EventCursor } from '../domain/events/page.ts'
import { longestStreamMs, type StreamLimits, streamEnded, streamLimits, tooManyStreams } from '../domain/streams.ts'
import type { Outbox } from '../services/events/outbox.ts'
import type { Feed, Following, Interest, News } from '../services/feed.ts'
import { createFollower, type Follower } from './follower.ts'
import { createPace } from './pace.ts'

export type LiveFeed = Feed & {
  /** Something may have happened. */
  wake(): void
  /** How many streams are open. */
  streams(): number
  /** Ends every stream, and lets nobody follow from now on. */
  stop(): void
}

export type FeedOptions = { outbox: Outbox; now: () => Date; log: Logger; limits?: StreamLimits }

/** The safety net: what nobody was woken for is told so late at most. */
const pollMs = 1_000
/** However much happens, it is read so often at most: a reading costs the more the more accounts follow. */
const quietMs = 10

export function createFeed({ outbox, now, log, limits = streamLimits }: FeedOptions): LiveFeed {
  /** All who have a place here: those who wait to be let in, and those who are told. */
  const followers = new Set<Follower>()
  /** Up to where was read for those who are told. */
  let position: EventCursor | undefined
  const pace = createPace()
  let reading = false
  let again = false
  let failing = false
  let stopped = false
  const timer = setInterval(wake, pollMs)
  timer.unref()

  /** Whoever wakes it during a reading has another follow: that one may have begun before the news. */
  function wake(): void {
    again = true
    if (!reading && followers.size > 0) void readAll()
  }

  async function readAll(): Promise<void> {
    reading = true
    try {
      while (again && followers.size > 0) {
        again = false
        await round()
        await sleep(quietMs)
      }
      failing = false
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)))
    }
    // Nothing is awaited since the last look at `again`, so nobody who wakes it is left unheard.
    reading = false
  }

  /** Nothing is lost to a failure: from where it stood is read at the next poll. */
  function fail(error: Error): void {
    // Said once, not every second for as long as the database is gone.
    if (!failing && !stopped) log.warn({ err: error }, 'Events cannot be read. It is tried again.')
    failing = true
    for (const follower of followers) if (!follower.admitted()) follower.refuse(error)
  }

  async function round(): Promise<void> {
    const all = [...followers]
    const joining = all.filter(follower => !follower.admitted())
    const told = all.filter(follower => follower.admitted())
    const { events, machineIds, reached } = await read(told)
    // Nothing but a failover that lost transactions takes the horizon back.
    if (position && (isAfter(position, reached) || position.epoch !== reached.epoch))
      return await beginAnew(told, position)
    // Asked after the events were: what happened after a key ended is not told to its bearer.
    const living = await outbox.livingKeys([...new Set(all.map(({ actor }) => actor.publicId))])
    tell(told, events, machineIds, living)
    // They hear everything of the next reading, and nothing of this one.
    for (const follower of joining)
      if (living.has(follower.actor.publicId)) follower.admit(reached)
      else follower.end('KEY_ENDED')
    // A full batch ends amid the events, and there are more.
    if (reached.id > 0n) again = true
    position = reached
  }

  /** Whoever joins now does so at the next reading. */
  async function beginAnew(told: Follower[], { epoch }: EventCursor): Promise<void> {
    await outbox.endEpoch(epoch)
    log.warn({ epoch }, 'The order of events begins anew: cursors have expired, and streams end.')
    for (const follower of told) follower.refuse(cursorExpired())
    position = undefined
    again = true
  }

  async function read(told: Follower[]): Promise<News & { reached: EventCursor }> {
    if (!position || told.length === 0) return { events: [], machineIds: [], reached: await outbox.here() }
    const accountIds = [...new Set(told.map(({ actor }) => actor.accountId))]
    const { events, reached } = await outbox.readOn(position, accountIds)
    const wantsMarket = told.some(({ interest }) => interest.market)
    const machineIds = wantsMarket ? await outbox.changedMachines(position.xid, reached.xid) : []
    return { events, machineIds, reached }
  }

  function tell(told: Follower[], events: Event[], machineIds: number[], living: Set<string>): void {
    const oldest = now().getTime() - longestStreamMs
    const byAccount = Map.groupBy(events, ({ accountId }) => accountId)
    for (const follower of told) {
      const { actor, since } = follower
      if (!living.has(actor.publicId)) follower.end('KEY_ENDED')
      else if (since <= oldest) follower.end('TOO_LONG')
      else follower.tell(byAccount.get(actor.accountId) ?? [], machineIds)
    }
  }

  function checkRoom({ apiKeyId, accountId }: Actor): void {
    if (followers.size >= limits.inAll) throw tooManyStreams('This gateway has as many streams open as it can.')
    const ofAccount = [...followers].filter(({ actor }) => actor.accountId === accountId)
    const ofKey = ofAccount.filter(({ actor }) => actor.apiKeyId === apiKeyId)
    if (ofKey.length >= limits.perKey) throw tooManyStreams(hasAll('key', limits.perKey))
    if (ofAccount.length >= limits.perAccount) throw tooManyStreams(hasAll('account', limits.perAccount))
  }

  return {
    wake,
    streams: () => followers.size,
    async follow(actor: Actor, interest: Interest): Promise<Following> {
      if (stopped) throw streamEnded('GATEWAY_STOPS')
      checkRoom(actor)
      const follower = createFollower(actor, interest, {
        since: now().getTime(),
        turn: () => pace(actor.accountId),
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

function hasAll(holder: string, most: number): string {
  return `This ${holder} has ${most} streams open here, which is as many as it may have. Close one first.`
}
