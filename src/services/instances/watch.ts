// Streams of the changes of instances. A stream holds no list of its instances: after each wake-up it reads what is new
// since the snapshot that its reader was told of last. So it does not matter how it was interrupted, or on which gateway.

import { createHash } from 'node:crypto'
import { Prisma } from '../../database/generated/client.ts'
import { constraintsOf, isAllowed } from '../../domain/accounts/permissions/permissions.ts'
import type { Actor } from '../../domain/actor.ts'
import { checkCursorNotExpired } from '../../domain/events/cursor.ts'
import type { Event } from '../../domain/events/events.ts'
import { judgeAction } from '../../domain/instances/actions.ts'
import { checkInstanceFilter, type InstanceFilter } from '../../domain/instances/filter.ts'
import type { Instance } from '../../domain/instances/instances.ts'
import {
  maxUntoldEvents,
  maxWatchedInstances,
  oldestToldXid,
  parseWatchCursor,
  printWatchCursor,
  type ToldRange,
  tellUpTo,
  toldNothing,
  tooManyUntoldEvents,
  tooManyWatchedInstances,
  type WatchedChange,
  type WatchScope,
  type WatchSynced,
} from '../../domain/instances/watch.ts'
import { authorizeEach, authorizeOperation } from '../authorize.ts'
import type { Deps } from '../deps.ts'
import { createStream, type FeedSubscription, type Interest } from '../feed.ts'
import { limitConcurrency } from '../turns.ts'
import { loadMinimumBids } from './bid.ts'
import { findInstances } from './read.ts'
import { type News, type Round, readRound } from './watch-round.ts'

const { sql } = Prisma

/** Streams run at most this many of their reads at once, because requests need the same connections. */
const maxConcurrentReads = 4
/** Instances that are read at once. A stream holds no more of them, even if its reader is slow. */
const batchSize = 25

/** The bids to beat that the reader was told of. Market changes that leave one as it is are no news. */
type RememberedBids = Map<bigint, bigint | null>
type Watch = { actor: Actor; filter: InstanceFilter; scope: WatchScope }

export function instanceWatchServices(deps: Deps) {
  const { database, feed } = deps
  const limitReads = limitConcurrency(maxConcurrentReads)

  return {
    /**
     * Streams the instances that match, then that these are all, then their changes, in the order of ids. Changes while the
     * reader is busy are merged into one. With a cursor, the stream continues after it and leaves nothing out. A key with
     * a constraint on the id watches only the instances that it allows.
     */
    async watch(
      actor: Actor,
      filter: InstanceFilter,
      cursor?: string | null,
    ): Promise<AsyncIterableIterator<WatchedChange | WatchSynced>> {
      authorizeOperation(actor, 'instances.watch')
      checkInstanceFilter(filter)
      if (filter.ids?.length) authorizeEach(actor, 'instances.watch', filter.ids)
      const watch = { actor, filter, scope: scopeOf(actor, filter) }
      const start = cursor == null ? undefined : parseWatchCursor(cursor, watch.scope)
      const told = start?.told ?? toldNothing
      // Subscribes before it reads, so that no change in between is missed.
      const subscription = await feed.subscribe(actor, interestOf(watch))
      try {
        const first = await limitReads(actor.accountId, () => readRound(database, actor, filter, told))
        checkRound(first, told, start?.epoch ?? first.kept.epoch)
        checkCount(first, told)
        return createStream(subscription, changes(watch, subscription, told, first))
      } catch (error) {
        subscription.close()
        throw error
      }
    },
  }

  async function* changes(
    watch: Watch,
    subscription: FeedSubscription,
    start: readonly ToldRange[],
    first: Round,
  ): AsyncGenerator<WatchedChange | WatchSynced> {
    const bids = new Map() as RememberedBids
    const { actor, filter, scope } = watch
    const { epoch } = first.kept
    yield* tell(watch, subscription, start, first, bids)
    let told = tellUpTo(start, first.snapshot, null)
    yield { cursor: printWatchCursor({ ...scope, epoch, told }), kind: 'synced' }
    for (let update = await subscription.next(); update; update = await subscription.next()) {
      const since = update.since.xid
      const round = await limitReads(actor.accountId, () => readRound(database, actor, filter, told, since))
      checkRound(round, told, epoch)
      yield* tell(watch, subscription, told, round, bids)
      told = tellUpTo(told, round.snapshot, null)
    }
  }

  async function* tell(
    { actor, scope }: Watch,
    { waitForTurn }: FeedSubscription,
    told: readonly ToldRange[],
    { news, snapshot, kept }: Round,
    bids: RememberedBids,
  ): AsyncGenerator<WatchedChange> {
    const lastId = news.at(-1)?.id
    for (let first = 0; first < news.length; first += batchSize) {
      const batch = news.slice(first, first + batchSize)
      const instances = await limitReads(actor.accountId, () => loadInstances(actor, batch))
      await waitForTurn()
      for (const one of batch) {
        const instance = instances.get(one.id)
        if (!instance || !isNewTo(bids, one, instance)) continue
        const upTo = one.id === lastId ? null : one.id
        const cursor = printWatchCursor({ ...scope, epoch: kept.epoch, told: tellUpTo(told, snapshot, upTo) })
        yield { cursor, kind: kindOf(one), instanceId: one.id, instance: shownTo(actor, instance) }
      }
    }
  }

  /** Instances with the bids to beat of those that can change their bid. */
  async function loadInstances(actor: Actor, news: News[]): Promise<Map<bigint, Instance>> {
    const ids = news.map(({ id }) => String(id))
    const found = await findInstances(deps, [sql`i.id = ANY(${ids}::bigint[])`], sql`i.id`, ids.length)
    const bidders = found
      .filter(instance => judgeAction('updateBid', instance).outcome === 'applied')
      .map(({ id }) => id)
    const minimumBids = bidders.length > 0 ? await loadMinimumBids(database, actor, bidders) : []
    const bidById = new Map(minimumBids.map(({ id, minimumBidNanos }) => [id, minimumBidNanos]))
    const bidOf = (id: bigint) => (bidders.includes(id) ? { minimumBidNanos: bidById.get(id) ?? null } : {})
    return new Map(found.map(instance => [instance.id, { ...instance, ...bidOf(instance.id) }]))
  }
}

/** Wakes for every event of an instance that may match, and for every change of its bid to beat. */
function interestOf({ actor, filter }: Watch): Interest {
  const ids = filter.ids && new Set(filter.ids)
  const mayMatch = (id: bigint) =>
    (!ids || ids.has(id)) && isAllowed(actor.permissions, 'instances.watch', { id: Number(id) })
  const wakesOn = ({ instanceId }: Event) => instanceId !== null && mayMatch(instanceId)
  return { wakesOn, wakesOnBidOf: mayMatch }
}

/** Refuses to continue when events that the reader was not told of may be gone, or are too many. */
function checkRound({ kept, untoldEvents }: Round, told: readonly ToldRange[], epoch: number): void {
  const xid = oldestToldXid(told)
  if (xid !== undefined) checkCursorNotExpired({ xid, id: 0n, epoch }, kept)
  if (untoldEvents > maxUntoldEvents) throw tooManyUntoldEvents()
}

/** Refuses a start with more instances than a round reads. */
function checkCount({ news }: Round, told: readonly ToldRange[]): void {
  if (told.at(-1)?.snapshot !== null) return
  const after = told.at(-2)?.upTo ?? 0n
  if (news.filter(({ id }) => id > after).length > maxWatchedInstances) throw tooManyWatchedInstances()
}

/** Remembers the bid to beat. False if the reader was told of it and nothing else can be new. */
function isNewTo(bids: RememberedBids, { id, matches, onlyBid }: News, { minimumBidNanos }: Instance): boolean {
  if (onlyBid && bids.get(id) === (minimumBidNanos ?? null)) return false
  if (matches && minimumBidNanos !== undefined) bids.set(id, minimumBidNanos)
  else bids.delete(id)
  return true
}

function kindOf({ matched, matches }: News): WatchedChange['kind'] {
  if (!matches) return 'removed'
  return matched ? 'updated' : 'added'
}

/** Without the bid to beat if the key may not read it: a request for it is then refused as in other reads. */
function shownTo({ permissions }: Actor, { minimumBidNanos, ...instance }: Instance): Instance {
  const isReadable =
    minimumBidNanos !== undefined && isAllowed(permissions, 'instances.get', { id: Number(instance.id) })
  return isReadable ? { ...instance, minimumBidNanos } : instance
}

function scopeOf({ accountId, permissions }: Actor, filter: InstanceFilter): WatchScope {
  return {
    filterHash: hashOf([accountId, filter]),
    keyHash: hashOf(constraintsOf(permissions, 'instances.watch') ?? null),
  }
}

function hashOf(value: unknown): string {
  const text = JSON.stringify(value, (_name, part) => (typeof part === 'bigint' ? String(part) : part))
  return createHash('sha256').update(text).digest('base64url').slice(0, 11)
}
