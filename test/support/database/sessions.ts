import pg from 'pg'

/** A session of its own, that does what another gateway would at just that moment. */
export async function withSession<T>(url: string, work: (session: pg.Client) => Promise<T>): Promise<T> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  return await work(session).finally(() => session.end())
}

/** Ends when somebody, or so many, wait for a lock, or when it is done without. */
export async function waitForLockWaiters(session: pg.Client, isDone = () => false, count = 1): Promise<void> {
  while (!isDone()) {
    // In a transaction the same is seen again and again otherwise.
    await session.query('SELECT pg_stat_clear_snapshot()')
    const { rows } = await session.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    if (rows.length >= count) return
  }
}

/** Ends when somebody waits for what this session has locked. */
export async function waitUntilBlocksOthers(session: pg.Client): Promise<void> {
  for (;;) {
    await session.query('SELECT pg_stat_clear_snapshot()')
    const { rows } = await session.query(
      'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))',
    )
    if (rows.length > 0) return
  }
}
