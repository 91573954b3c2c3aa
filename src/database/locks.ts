import pg from 'pg'

/** Advisory locks, by number. They are held by connections, so a crash releases them. */
export const locks = {
  /** Shared: the embedded server is in use. Alone: it may be stopped. */
  serverInUse: 815_001,
  /** The one gateway on a data folder. */
  gateway: 815_002,
  /** Migrating and seeding a database. */
  migration: 815_003,
  /** Adding machines, by whoever asked before which there are. */
  market: 815_004,
  /** Deleting what nobody needs any more. */
  housekeeping: 815_005,
} as const

/**
 * Runs alone among all processes on a database; others wait. It fails as soon as the lock is lost with the connection that
 * holds it: the work may go on then, but nobody takes it for done.
 */
export async function withLock<T>(url: string, lock: number, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'berth lock', keepAlive: true })
  const lost = new Promise<never>((_, reject) => client.on('error', reject))
  // Before and after the work, nobody looks.
  lost.catch(() => {})
  await client.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [lock])
    return await Promise.race([work(), lost])
  } finally {
    await client.end()
  }
}
