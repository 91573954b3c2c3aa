// Which line of history a database is on. Events are ordered by transaction id, so a cursor is good on one line only: not
// on another server that a copy was restored to, and not on a standby that was promoted without the last transactions.
// The line is compared at start and on each new connection, so nothing is read on a new line with the old epoch.

import pg from 'pg'
import { readHistoryLine, standbyError } from './epoch-line.ts'

/** At start, with the lock of migrations. Returns whether the epoch was raised. */
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
 * On a new connection of a gateway that runs. Refuses a standby, and raises the epoch if this is another line than the
 * database was on. Returns whether it did.
 */
export async function checkEpoch(client: pg.ClientBase): Promise<boolean> {
  const line = await readHistoryLine(client)
  if (line.standby) throw standbyError()
  const { rows } = await client.query('SELECT cluster FROM outbox').catch((error: { code?: string }) => {
    // The schema is not there yet: the start settles it.
    if (error.code === '42P01') return { rows: [] }
    throw error
  })
  const known: string = rows[0]?.cluster ?? ''
  return isOtherLine(known, line.name) && (await raiseEpoch(client, line))
}

/** The first that comes locks the row and raises the epoch. Those who waited for it find the new line there. */
async function raiseEpoch(client: pg.ClientBase, { name }: { name: string }): Promise<boolean> {
  await client.query('BEGIN')
  try {
    // Moving strays may take long, and connections wait for the lock meanwhile: no event may be read before that.
    await client.query('SET LOCAL statement_timeout = 0')
    const { rows } = await client.query('SELECT cluster FROM outbox FOR UPDATE')
    const known: string = rows[0].cluster
    const moved = await moveForeignEvents(client)
    const isNew = moved || isOtherLine(known, name)
    if (isNew) await client.query('UPDATE outbox SET epoch = epoch + 1')
    // A role that may not ask for the server does not erase what another role found.
    const isBetter = isOtherLine(known, name) || known === '' || known.startsWith('/')
    if (isBetter && name !== known) await client.query('UPDATE outbox SET cluster = $1', [name])
    await client.query('COMMIT')
    return isNew
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Parts that are empty are not known. */
function isOtherLine(known: string, name: string): boolean {
  if (known === '' || name === '') return false
  const parts = name.split('/')
  return known.split('/').some((part, index) => part !== '' && parts[index] !== '' && part !== parts[index])
}

/**
 * A dump brings events with transaction ids of the server it came from, some of which this server has yet to assign. All of
 * them go to the beginning, in the order of their own ids, which is the only order that is left.
 */
async function moveForeignEvents(client: pg.ClientBase): Promise<boolean> {
  const next = 'pg_snapshot_xmax(pg_current_snapshot())'
  const { rows } = await client.query(`SELECT FROM events WHERE xid >= ${next} LIMIT 1`)
  await client.query(`UPDATE machines SET offers_xid = '0' WHERE offers_xid >= ${next}`)
  if (rows.length === 0) return false
  const text = "UPDATE events SET xid = '0' WHERE xid <> '0'"
  await client.query({ text, query_timeout: moveTimeoutMs } as pg.QueryConfig)
  await client.query("UPDATE outbox SET purged_xid = '0', purged_id = 0")
  return true
}

/** Connections of the pool give up on other queries within seconds. */
const moveTimeoutMs = 600_000
