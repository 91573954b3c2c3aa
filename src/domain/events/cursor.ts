import { DomainError } from '../errors.ts'
import { defaultPageSize, type PageArguments, parseCursor, printCursor } from '../pages.ts'
import { isAfter, type Position } from './events.ts'

/** Histories and streams share event cursors: each can continue where the other ended. */
export type EventCursor = Position & { epoch: number }

/** The events that retention has kept: those of this epoch after the position `purged`. */
export type KeptRange = { epoch: number; purged: Position }

const cursorScope = 'events'

export function printEventCursor({ xid, id }: Position, epoch: number): string {
  return printCursor(cursorScope, [epoch, String(xid), String(id)])
}

export function parseEventCursor(cursor: string): EventCursor {
  const [epoch, ...rest] = parseCursor(cursor, cursorScope)
  const [xid, id] = rest.map(part => (typeof part === 'string' && /^\d{1,18}$/.test(part) ? BigInt(part) : undefined))
  if (typeof epoch === 'number' && xid !== undefined && id !== undefined) return { epoch, xid, id }
  throw new DomainError('INVALID_CURSOR', 'This is not an event cursor.')
}

/** Refuses a cursor when events after it may be gone: a reader must not miss events without notice. */
export function checkCursorNotExpired(cursor: EventCursor, { epoch, purged }: KeptRange): void {
  if (cursor.epoch !== epoch || isAfter(purged, cursor)) throw cursorExpired()
}

export function cursorExpired(): DomainError {
  const message =
    'Events after this cursor are no longer available. Read the current state, then start without a cursor.'
  return new DomainError('CURSOR_EXPIRED', message)
}

/** Defaults to the newest events: people look at these, although pages start at the oldest event. */
export function withDefaultPage(page: PageArguments): PageArguments {
  const isSpecified = [page.first, page.after, page.last, page.before].some(argument => argument != null)
  return isSpecified ? page : { last: defaultPageSize }
}
