// What happens, told to all who follow it on this gateway. The events are read once for all of them.

import type { Logger } from 'pino'
import type { Actor } from '../domain/actor.ts'
import type { Event, Position } from '../domain/events.ts'
import { longestStreamMs, type StreamLimits, streamEnded, streamLimits, tooManyStreams } from '../domain/streams.ts'
import type { Outbox } from '../services/events-outbox.ts'
import type { Feed, Following, Interest } from '../services/feed.ts'
import { createFollower, type Follower } from './follower.ts'

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

export function createFeed({ outbox, now, log, limits = streamLimits }: FeedOptions): LiveFeed {
  const followers = new Set<Follower>()
  let joining: Follower[] = []
  let position: Position | undefined
  let market = 0n
  let reading = false
  let again = false
  let failing = false
  let stopped = false
  const timer = setInterval(wake, pollMs)
  timer.unref()

  function wake(): void {
    again = true
    if (reading) return
    reading = true
    void readAll().finally(() => {
      reading = false
      // Somebody may have asked after the last look at `again`.
      if (again && !failing) wake()
    })
  }

  async function readAll(): Promise<void> {
    try {
      while (again && followers.size + joining.length > 0) {
        again = false
        await admit()
        await read()
      }
      again = false
      failing = false
    } catch (error) {
      // Said once, not every second for as long as the database is gone. Nothing is lost: it is read from where it stood.
      if (!failing) log.warn({ err: error }, 'Events cannot be read. It is tried again.')
      failing = true
    }
  }

  /** Between two readings, so that whoever joins hears everything of the next, and nothing of the last. */
  async function admit(): Promise<void> {
    if (joining.length === 0) return
    if (followers.size === 0) position = undefined
    const here = position ?? (await outbox.here())
    if (!position) market = here.xid
    position = here
    const admitted = joining
    joining = []
    for (const follower of admitted) {
      if (follower.closed()) continue
      followers.add(follower)
      follower.admit(here)
    }
  }

  async function read(): Promise<void> {
    if (!position || followers.size === 0) return
    const accountIds = [...new Set([...followers].map(({ actor }) => actor.accountId))]
    const { events, position: reached } = await outbox.readOn(position, accountIds)
    const wantsMarket = [...followers].some(({ interest }) => interest.market)
    const machineIds = wantsMarket ? await outbox.changedMachines(market, reached.xid) : []
    // Asked after the events were: what happened after a key ended is not told to its bearer.
    const living = await outbox.livingKeys([...new Set([...followers].map(({ actor }) => actor.publicId))])
    tell(events, machineIds, living)
    // A full batch ends amid the events, and there are more.
    if (reached.id > 0n) again = true
    market = reached.xid
    position = reached
  }

  function tell(events: Event[], machineIds: number[], living: Set<string>): void {
    const oldest = now().getTime() - longestStreamMs
    const byAccount = Map.groupBy(events, ({ accountId }) => accountId)
    for (const follower of followers) {
      const { actor, since } = follower
      if (!living.has(actor.publicId)) follower.end('KEY_ENDED')
      else if (since <= oldest) follower.end('TOO_LONG')
      else follower.tell(byAccount.get(actor.accountId) ?? [], machineIds)
    }
  }

  function checkRoom({ apiKeyId }: Actor): void {
    const open = [...followers, ...joining]
    if (open.length >= limits.inAll) throw tooManyStreams('This gateway has as many streams open as it can.')
    if (open.filter(({ actor }) => actor.apiKeyId === apiKeyId).length >= limits.perKey)
      throw tooManyStreams(
        `This key has ${limits.perKey} streams open, which is as many as a key may have. Close one first.`,
      )
  }

  return {
    wake: () => {
      if (followers.size + joining.length > 0) wake()
    },
    streams: () => followers.size,
    async follow(actor: Actor, interest: Interest): Promise<Following> {
      if (stopped) throw streamEnded('GATEWAY_STOPS')
      checkRoom(actor)
      const follower = createFollower(actor, interest, now().getTime(), () => {
        followers.delete(follower)
        joining = joining.filter(other => other !== follower)
      })
      joining.push(follower)
      wake()
      return await follower.admitted
    },
    stop() {
      stopped = true
      clearInterval(timer)
      for (const follower of [...followers, ...joining]) follower.end('GATEWAY_STOPS')
    },
  }
}
