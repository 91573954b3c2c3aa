// Which cluster a database is in. The order of events is that of its transactions, so a place in it means something only
// there: not in a cluster that a copy was restored to, and not in one that lost its last transactions to a failover. A
// gateway that starts sees that by the cluster. One that runs sees a failover only where it finds itself ahead of the
// horizon (`events/feed.ts`). In a cluster that is past that place already, cursors expire when the next gateway starts.

import pg from 'pg'

/** The caller holds the lock of migrations. Tells whether this cluster is another than the one before. */
export async function settleEpoch(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: 'berth epoch' })
  await client.connect()
  try {
    await client.query('BEGIN')
    const isNew = await settle(client)
    await client.query('COMMIT')
    return isNew
  } finally {
    await client.end()
  }
}

async function settle(client: pg.Client): Promise<boolean> {
  const cluster = await clusterOf(client)
  const { rows } = await client.query('SELECT cluster FROM outbox FOR UPDATE')
  const known: string = rows[0].cluster
  const moved = await moveStrays(client)
  const isNew = moved || (known !== '' && cluster !== '' && cluster !== known)
  if (isNew) await client.query('UPDATE outbox SET epoch = epoch + 1')
  await client.query("UPDATE outbox SET cluster = $1 WHERE $1 NOT IN (cluster, '')", [cluster])
  return isNew
}

/** The server, the line of its history, and the database there. Empty where the role may not ask. */
async function clusterOf(client: pg.Client): Promise<string> {
  await client.query('SAVEPOINT asking')
  const { rows } = await client
    .query(
      `SELECT concat_ws('/', s.system_identifier, c.timeline_id, d.oid) AS cluster
      FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database()`,
    )
    .catch(async () => {
      await client.query('ROLLBACK TO asking')
      return { rows: [{ cluster: '' }] }
    })
  return rows[0].cluster
}

/**
 * Transactions that this cluster has yet to make wrote what came from a dump of another. All of that came first, so it goes
 * to the beginning, in the order of ids, which is the only one that is left.
 */
async function moveStrays(client: pg.Client): Promise<boolean> {
  const next = 'pg_snapshot_xmax(pg_current_snapshot())'
  const { rows } = await client.query(`SELECT FROM events WHERE xid >= ${next} LIMIT 1`)
  await client.query(`UPDATE machines SET offers_xid = '0' WHERE offers_xid >= ${next}`)
  if (rows.length === 0) return false
  await client.query("UPDATE events SET xid = '0' WHERE xid <> '0'")
  await client.query("UPDATE outbox SET purged_xid = '0', purged_id = 0")
  return true
}
