import pg from 'pg'

/** A session of its own, that does what another gateway would at just that moment. */
export async function withSession<T>(url: string, work: (session: pg.Client) => Promise<T>): Promise<T> {
  const session = new pg.Client({ connectionString: url })
  await session.connect()
  return await work(session).finally(() => session.end())
}

/** Ends when somebody waits for a lock, or is done without. */
export async function untilSomebodyWaits(session: pg.Client, isDone = () => false): Promise<void> {
  while (!isDone()) {
    const { rows } = await session.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    if (rows.length > 0) return
  }
}
