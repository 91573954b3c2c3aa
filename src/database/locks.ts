import pg from 'pg'

/** The numbers of advisory locks. A connection holds a lock, so a crash releases it. */
export const locks = {
  /** Shared: the embedded server is in use. Exclusive: the holder may stop the server. */
  serverInUse: 815_001,
  /** Held by the one gateway on a data folder. */
  gateway: 815_002,
  /** Migrating and seeding a database. */
  migration: 815_003,
  /** Reading which machines exist and adding the missing ones. */
  market: 815_004,
  /** Deleting expired rows. */
  housekeeping: 815_005,
} as const

/**
 * Runs the work while this process holds the lock. Other processes on the database wait. Fails as soon as the connection
 * that holds the lock is lost: the work may continue then, but its result is not used.
 */
export async function withLock<T>(url: string, lock: number, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'berth lock', keepAlive: true })
  const lost = new Promise<never>((_, reject) => client.on('error', reject))
  // Before and after the work, no code awaits `lost`. An unhandled rejection would end the process.
  lost.catch(() => {})
  await client.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [lock])
    return await Promise.race([work(), lost])
  } finally {
    await client.end()
  }
}
