// Detects that the database is on another line of history, and raises the cursors' epoch. Events are ordered by
// transaction id, so a cursor is valid on one line only. It is invalid on another server that a copy was restored to,
// and on a standby that was promoted without the last transactions. The gateway compares the line at start and on each
// new connection, so it never reads a new line with the old epoch.

import pg from 'pg'
import { errorCodesOf } from '../failure-codes.ts'
import { isOtherLine, isSameDatabase, outdatedError, readHistoryLine, standbyError } from './line.ts'
import { beginLine, longStatement, type NewLine } from './new-line.ts'

/** Runs at start, under the migration lock. Returns what is new if it raised the epoch. */
export async function updateEpoch(url: string): Promise<NewLine | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'berth epoch' })
  await client.connect()
  try {
    const { name } = await readHistoryLine(client)
    return await raiseEpoch(client, { name, witnessed: false, isStart: true })
  } finally {
    await client.end()
  }
}

/** Checks the connections of a running gateway. */
export type EpochCheck = {
  /** Checks a new connection. Returns what is new if it raised the epoch. */
  check(client: pg.ClientBase): Promise<NewLine | undefined>
  /** Whether another connection has found a newer epoch since this one was checked: it may lead to a primary that was replaced. */
  isOutdated(client: pg.ClientBase): boolean
}

/**
 * The check refuses a standby, and raises the epoch if the line of history has changed. It remembers the line, so it knows
 * whether the same database goes on elsewhere, and refuses a primary that another one has replaced: a server that hung
 * does not know of that for a moment.
 */
export function createEpochCheck(): EpochCheck {
  let last: SeenLine | undefined
  const seen = new WeakMap<pg.ClientBase, SeenLine>()

  async function check(client: pg.ClientBase): Promise<NewLine | undefined> {
    const { name, standby } = await readHistoryLine(client)
    if (standby) throw standbyError()
    const known = await readOutbox(client)
    if (!known) return undefined
    const before = ifSameDatabase(last, name)
    const witnessed = before !== undefined
    const isOther = isOtherLine(known.cluster, name)
    if (!isOther && before && known.epoch < before.epoch) throw outdatedError()
    const raised = isOther
      ? await unless(missingCodes, raiseEpoch(client, { name, witnessed, isStart: false }), undefined)
      : undefined
    // This connection may have waited while another one raised the epoch.
    const epoch = raised?.epoch ?? (isOther ? (await readOutbox(client))?.epoch : undefined) ?? known.epoch
    // Another process raised the epoch, and may not have known what this one knows.
    if (!raised && before && before.epoch !== epoch)
      await client.query('UPDATE failovers SET witnessed = true WHERE epoch = $1 AND NOT witnessed AND NOT restored', [
        epoch,
      ])
    last = newerOf(last, { name, epoch })
    seen.set(client, { name, epoch })
    return raised
  }

  return {
    check,
    isOutdated(client) {
      const line = seen.get(client)
      return line !== undefined && newerOf(last, line) !== line
    },
  }
}

type SeenLine = { name: string; epoch: number }

/** Another connection may have seen a newer epoch while this one asked. */
function newerOf(last: SeenLine | undefined, line: SeenLine): SeenLine {
  const before = ifSameDatabase(last, line.name)
  return before && before.epoch > line.epoch ? before : line
}

function ifSameDatabase(last: SeenLine | undefined, name: string): SeenLine | undefined {
  return last && isSameDatabase(last.name, name) ? last : undefined
}

async function readOutbox(client: pg.ClientBase): Promise<{ cluster: string; epoch: number } | undefined> {
  const { rows } = await unless([...missingCodes, notAllowedCode], client.query('SELECT cluster, epoch FROM outbox'), {
    rows: [],
  })
  return rows[0]
}

/** A table, a column or a function does not exist yet. The start calls `updateEpoch` after the migration. */
const missingCodes = ['42P01', '42703', '42883']
/** This role may not read the table yet. The start gives it the right. */
const notAllowedCode = '42501'

async function unless<Result, Otherwise>(codes: string[], work: Promise<Result>, otherwise: Otherwise) {
  try {
    return await work
  } catch (error) {
    if (errorCodesOf(error).some(code => codes.includes(code))) return otherwise
    throw error
  }
}

type Raising = { name: string; witnessed: boolean; isStart: boolean }

/** The first connection locks the row and raises the epoch. Connections that waited for the lock find the new line. */
async function raiseEpoch(client: pg.ClientBase, { name, witnessed, isStart }: Raising): Promise<NewLine | undefined> {
  await client.query('BEGIN')
  try {
    // This may take minutes. New connections wait for the lock: no event may be read before the move.
    await client.query('SET LOCAL statement_timeout = 0')
    const { rows } = await client.query('SELECT cluster FROM outbox FOR UPDATE')
    const known: string = rows[0].cluster
    if (!isStart && !isOtherLine(known, name)) {
      // COMMIT would wait for a synchronous standby, one connection after another.
      await client.query('ROLLBACK')
      return undefined
    }
    const moved = await moveForeignEvents(client)
    const isNew = moved || isOtherLine(known, name)
    const begun = isNew ? await beginLine(client, { name, witnessed }) : undefined
    // A role that may not read the server's identifier must not erase the identifier that another role found.
    const isBetter = isOtherLine(known, name) || known === '' || known.startsWith('/')
    if (isBetter && name !== known) await client.query('UPDATE outbox SET cluster = $1', [name])
    await client.query('COMMIT')
    return begun
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Moves events that a dump brought from another server to the beginning. The role of a gateway may not, but the function may. */
async function moveForeignEvents(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query(longStatement('SELECT move_foreign_events() AS moved'))
  return rows[0].moved
}
