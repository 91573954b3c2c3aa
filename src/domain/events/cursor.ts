import { DomainError } from '../errors.ts'
import { defaultPageSize, type PageArguments, parseCursor, printCursor } from '../pages.ts'
import { isAfter, type Position } from './events.ts'

/** A cursor of events is one in every history and in every stream: each goes on where another ended. */
export type EventCursor = Position & { epoch: number }

/** Which events there are: those of this epoch after this place. */
export type EventHorizon = { epoch: number; purged: Position }

const cursorScope = 'events'

export function printEventCursor({ xid, id }: Position, epoch: number): string {
  return printCursor(cursorScope, [epoch, String(xid), String(id)])
}

export function parseEventCursor(cursor: string): EventCursor {
  const [epoch, ...rest] = parseCursor(cursor, cursorScope)
  const [xid, id] = rest.map(part => (typeof part === 'string' && /^\d{1,18}$/.test(part) ? BigInt(part) : undefined))
  if (typeof epoch === 'number' && xid !== undefined && id !== undefined) return { epoch, xid, id }
  throw new DomainError('INVALID_CURSOR', 'This is not a cursor of events.')
}

/** Whoever reads on from a cursor must miss nothing. */
export function checkCursorNotExpired(cursor: EventCursor, { epoch, purged }: EventHorizon): void {
  if (cursor.epoch !== epoch || isAfter(purged, cursor)) throw cursorExpired()
}

export function cursorExpired(): DomainError {
  const message = 'Events after this cursor are not kept any more. Read what there is now, and begin without a cursor.'
  return new DomainError('CURSOR_EXPIRED', message)
}

/** Events are read from the oldest on, and people look at the newest: these are meant where nothing else is said. */
export function withDefaultPage(page: PageArguments): PageArguments {
  const isSpecified = [page.first, page.after, page.last, page.before].some(argument => argument != null)
  return isSpecified ? page : { last: defaultPageSize }
}
