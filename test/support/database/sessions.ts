import pg from 'pg'

/** Runs work on a separate connection, as another gateway would at that moment. */
export async function withSession<T>(url: string, work: (session: pg.Client) => Promise<T>): Promise<T> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  return await work(session).finally(() => session.end())
}

/** Resolves when `count` sessions wait for a lock, or when `isDone` returns true. */
export async function waitForLockWaiters(session: pg.Client, isDone = () => false, count = 1): Promise<void> {
  while (!isDone()) {
    // Otherwise a transaction would see the same statistics again and again.
    await session.query('SELECT pg_stat_clear_snapshot()')
    const { rows } = await session.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    if (rows.length >= count) return
  }
}

/** Resolves when another session waits for a lock of this session. */
export async function waitUntilBlocksOthers(session: pg.Client): Promise<void> {
  for (;;) {
    await session.query('SELECT pg_stat_clear_snapshot()')
    const { rows } = await session.query(
      'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))',
    )
    if (rows.length > 0) return
  }
}
