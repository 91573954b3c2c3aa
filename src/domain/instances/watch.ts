// Streams of the changes of instances, and the cursors from which they continue.

import { DomainError, invalidInput } from '../errors.ts'
import type { EventKind } from '../events/events.ts'
import { invalidCursor, parseCursor, printCursor } from '../pages.ts'
import type { Instance } from './instances.ts'

/** A change of an instance that matches the filter of its stream now, or matched it before. */
export type WatchedChange = {
  cursor: string
  kind: 'added' | 'updated' | 'removed'
  instanceId: bigint
  instance: Instance
}

/** Says that the reader was told of everything that a stream had to tell when it began, or continued after a cursor. */
export type WatchSynced = { cursor: string; kind: 'synced' }

/** At most this many instances may match when a stream begins. */
export const maxWatchedInstances = 1_000

/** At most this many events of the account are read to continue a stream. */
export const maxUntoldEvents = 10_000

export function tooManyUntoldEvents(): DomainError {
  const message = `The account has had more than ${maxUntoldEvents} events since the cursor, or since the reader of the stream was told of the last change. Start without a cursor.`
  return new DomainError('CURSOR_EXPIRED', message)
}

export function tooManyWatchedInstances(): DomainError {
  const advice = 'Narrow the filter, for example to one label.'
  const message = `matches more than ${maxWatchedInstances} instances, the limit of a stream. ${advice}`
  return invalidInput([{ path: 'filter', message }])
}

/**
 * What the reader of a stream was told: of the instances with ids up to `upTo` (all others if null) the state that a
 * snapshot of the database shows, or nothing yet if `snapshot` is null. A list of ranges ascends, without gaps, and its
 * last range has no `upTo`. A snapshot is exact where a position in the order of transactions is not: it also says which of
 * the transactions that were open then are missing.
 */
export type ToldRange = { upTo: bigint | null; snapshot: string | null }

export const toldNothing: ToldRange[] = [{ upTo: null, snapshot: null }]

/** The ranges after a stream has told the instances up to `upTo` (all if null) as `snapshot` shows them. */
export function tellUpTo(told: readonly ToldRange[], snapshot: string, upTo: bigint | null): ToldRange[] {
  if (upTo === null) return [{ upTo: null, snapshot }]
  return [{ upTo, snapshot }, ...told.filter(range => range.upTo === null || range.upTo > upTo)]
}

/**
 * Hashes of what decides which instances a reader is told of: `filterHash` of the account and the filter, `keyHash` of the
 * constraints of the key.
 */
export type WatchScope = { filterHash: string; keyHash: string }
export type WatchCursor = WatchScope & { epoch: number; told: ToldRange[] }

const cursorScope = 'instanceChanges'
/** More ranges than interrupted streams leave. */
const maxRanges = 50

export function printWatchCursor({ epoch, filterHash, keyHash, told }: WatchCursor): string {
  const ranges = told.flatMap(({ upTo, snapshot }) => [upTo === null ? '' : String(upTo), snapshot ?? ''])
  return printCursor(cursorScope, [epoch, filterHash, keyHash, ...ranges])
}

/** Refuses a cursor that no stream in this scope returned. */
export function parseWatchCursor(cursor: string, { filterHash, keyHash }: WatchScope): WatchCursor {
  const [epoch, filter, key, ...parts] = parseCursor(cursor, cursorScope)
  const told = Array.from({ length: Math.ceil(parts.length / 2) }, (_, index) =>
    parseRange(parts[2 * index], parts[2 * index + 1]),
  )
  const isOrdered = told.every(({ upTo, snapshot }, index) => {
    if (index === told.length - 1) return upTo === null
    const before = told[index - 1]?.upTo ?? -1n
    return upTo !== null && upTo > before && snapshot !== null
  })
  if (typeof epoch !== 'number' || told.length === 0 || told.length > maxRanges || !isOrdered) throw invalidCursor()
  if (filter !== filterHash) throw new DomainError('INVALID_CURSOR', otherFilter)
  if (key !== keyHash) throw new DomainError('CURSOR_EXPIRED', otherPermissions)
  return { epoch, filterHash, keyHash, told }
}

const otherFilter =
  'This cursor belongs to a stream with another filter, or of another account. Repeat that filter, or start without the cursor.'
const otherPermissions =
  'This cursor is of a key that may watch other instances, or of this key before its permissions changed. Start without the cursor.'

function parseRange(upTo: unknown, snapshot: unknown): ToldRange {
  if (typeof upTo !== 'string' || typeof snapshot !== 'string' || !/^\d{0,18}$/.test(upTo)) throw invalidCursor()
  if (snapshot !== '' && oldestOpenXid(snapshot) === undefined) throw invalidCursor()
  return { upTo: upTo === '' ? null : BigInt(upTo), snapshot: snapshot === '' ? null : snapshot }
}

/**
 * The first transaction whose changes a snapshot may lack. A snapshot is written as in PostgreSQL: the oldest open
 * transaction, the first one that had not begun, and all that were open. Undefined for any other text.
 */
export function oldestOpenXid(snapshot: string): bigint | undefined {
  if (!/^\d{1,18}:\d{1,18}:(\d{1,18}(,\d{1,18})*)?$/.test(snapshot)) return undefined
  const [oldest = 0n, next = 0n, ...open] = snapshot.split(/[:,]/).filter(Boolean).map(BigInt)
  const isAscending = open.every((xid, index) => xid > (open[index - 1] ?? oldest - 1n) && xid < next)
  return oldest > 0n && oldest <= next && isAscending ? oldest : undefined
}

/** The oldest of these ranges: all changes since this transaction are needed to continue. */
export function oldestToldXid(told: readonly ToldRange[]): bigint | undefined {
  const xids = told.flatMap(({ snapshot }) => (snapshot === null ? [] : (oldestOpenXid(snapshot) ?? [])))
  return xids.reduce<bigint | undefined>((least, xid) => (least === undefined || xid < least ? xid : least), undefined)
}

/** The events of an instance that can change which bid wins the GPUs of its machine. */
export const claimEventKinds = [
  'INSTANCE_CREATED',
  'INSTANCE_TARGET_CHANGED',
  'INSTANCE_STATUS_CHANGED',
  'INSTANCE_DESTROYED',
  'INSTANCE_BID_CHANGED',
  'INSTANCE_GRANTED',
  'INSTANCE_OUTBID',
] as const satisfies EventKind[]
