// Detects that the database is on another line of history, and raises the cursors' epoch. Events are ordered by
// transaction id, so a cursor is valid on one line only. It is invalid on another server that a copy was restored to,
// and on a standby that was promoted without the last transactions. The gateway compares the line at start and on each
// new connection, so it never reads a new line with the old epoch.

import pg from 'pg'
import { readHistoryLine, standbyError } from './epoch-line.ts'

/** Runs at start, under the migration lock. Returns whether it raised the epoch. */
export async function updateEpoch(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: 'berth epoch' })
  await client.connect()
  try {
    return await raiseEpoch(client, await readHistoryLine(client))
  } finally {
    await client.end()
  }
}

/**
 * Runs on each new connection of a running gateway. Refuses a standby, and raises the epoch if the line of history has
 * changed. Returns whether it raised the epoch.
 */
export async function checkEpoch(client: pg.ClientBase): Promise<boolean> {
  const line = await readHistoryLine(client)
  if (line.standby) throw standbyError()
  const { rows } = await client.query('SELECT cluster FROM outbox').catch((error: { code?: string }) => {
    // The schema does not exist yet. The start calls `updateEpoch` after the migration.
    if (error.code === '42P01') return { rows: [] }
    throw error
  })
  const known: string = rows[0]?.cluster ?? ''
  return isOtherLine(known, line.name) && (await raiseEpoch(client, line))
}

/** The first connection locks the row and raises the epoch. Connections that waited for the lock find the new line. */
async function raiseEpoch(client: pg.ClientBase, { name }: { name: string }): Promise<boolean> {
  await client.query('BEGIN')
  try {
    // Moving foreign events may take minutes. New connections wait for the lock: no event may be read before the move.
    await client.query('SET LOCAL statement_timeout = 0')
    const { rows } = await client.query('SELECT cluster FROM outbox FOR UPDATE')
    const known: string = rows[0].cluster
    const moved = await moveForeignEvents(client)
    const isNew = moved || isOtherLine(known, name)
    if (isNew) await client.query('UPDATE outbox SET epoch = epoch + 1')
    // A role that may not read the server's identifier must not erase the identifier that another role found.
    const isBetter = isOtherLine(known, name) || known === '' || known.startsWith('/')
    if (isBetter && name !== known) await client.query('UPDATE outbox SET cluster = $1', [name])
    await client.query('COMMIT')
    return isNew
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Empty parts are unknown, so they match any value. */
function isOtherLine(known: string, name: string): boolean {
  if (known === '' || name === '') return false
  const parts = name.split('/')
  return known.split('/').some((part, index) => part !== '' && parts[index] !== '' && part !== parts[index])
}

/**
 * A dump brings events with transaction ids of its original server. This server has yet to assign some of these ids.
 * All events move to the beginning, ordered by their own ids: no other order is left.
 */
async function moveForeignEvents(client: pg.ClientBase): Promise<boolean> {
  const next = 'pg_snapshot_xmax(pg_current_snapshot())'
  const { rows } = await client.query(`SELECT FROM events WHERE xid >= ${next} LIMIT 1`)
  await client.query(`UPDATE market_changes SET xid = '0' WHERE xid >= ${next}`)
  if (rows.length === 0) return false
  const text = "UPDATE events SET xid = '0' WHERE xid <> '0'"
  await client.query({ text, query_timeout: moveTimeoutMs } as pg.QueryConfig)
  await client.query("UPDATE outbox SET purged_xid = '0', purged_id = 0")
  return true
}

/** Timeout of the UPDATE that moves all events, which may take minutes. Other queries time out within seconds. */
const moveTimeoutMs = 600_000
