import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { withSession } from './sessions.ts'

/** Fails if PostgreSQL had to end a deadlock. The message then shows which statements waited for each other. */
export async function expectNoDeadlock(url: string): Promise<void> {
  const deadlocks = await countDeadlocks(url)
  expect(deadlocks, deadlocks > 0 ? await readDeadlockReports(url) : '').toBe(0)
}

/** A session reports its counts when it ends, or within a second. */
async function countDeadlocks(url: string): Promise<number> {
  return await withSession(url, async session => {
    const reportedAt = Date.now() + 1_500
    for (;;) {
      const isReported = Date.now() >= reportedAt
      const { rows } = await session.query(
        `SELECT deadlocks::int, (SELECT count(*)::int FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()) AS others
          FROM pg_stat_database WHERE datname = current_database()`,
      )
      if (isReported || rows[0].others === 0) return rows[0].deadlocks
      await sleep(20)
    }
  })
}

/** The deadlock reports in the log of an embedded server: which statements waited for each other. */
async function readDeadlockReports(url: string): Promise<string> {
  const [log] = await withSession(
    url,
    async session => (await session.query("SELECT pg_read_file('server.log', true)")).rows,
  )
  const lines = ((log.pg_read_file ?? '') as string).split('\n')
  return lines
    .flatMap((line, index) => (line.includes('deadlock detected') ? lines.slice(index, index + 16) : []))
    .join('\n')
}
