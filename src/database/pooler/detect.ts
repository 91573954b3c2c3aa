// Finds a pooler of transactions, such as PgBouncer: it gives each transaction any of its connections to PostgreSQL. Behind one,
// nothing is left of a session: no LISTEN, no lock, no prepared statement and no setting.

import type pg from 'pg'

/** Each may lead a client to a connection that the other one had before. A pooler that others keep busy may miss some. */
const rounds = 20

/** Whether this connection leads through a pooler of transactions. `openOther` opens another one to the same address. */
export async function isPooled(client: pg.Client, openOther: () => Promise<pg.Client>): Promise<boolean> {
  // PostgreSQL tells a client which process serves it. A pooler tells it a number of its own.
  if ((client as pg.Client & { processID: number }).processID === (await processOf(client))) return false
  const other = await openOther()
  try {
    const [processes, others] = [new Set<number>(), new Set<number>()]
    for (let round = 0; round < rounds; round += 1) {
      processes.add(await processOf(client))
      others.add(await processOf(other))
    }
    // A pooler of sessions gives each client one connection, for as long as the client is there.
    return processes.size > 1 || others.size > 1 || [...processes].some(one => others.has(one))
  } finally {
    await other.end()
  }
}

async function processOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid as number
}
