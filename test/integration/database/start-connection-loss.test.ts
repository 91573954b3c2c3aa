import { expect, it } from 'vitest'
import { startApp } from '../../support/app.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'

it('starts although the database closes its connections during the start', async () => {
  const first = await startApp()
  await withSession(first.database.url, async session => {
    await session.query('BEGIN; LOCK TABLE secret_check')
    const starting = startApp({ sharedApp: first })
    await waitUntilBlocksOthers(session)
    const { rowCount } = await session.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))',
    )
    expect(rowCount).toBe(1)
    await session.query('COMMIT')
    await (await starting).close()
  })
  await first.close()
})
