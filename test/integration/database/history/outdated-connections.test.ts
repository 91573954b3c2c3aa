// What becomes of connections that a gateway opened before it found a new primary: they may lead to the old one.

import pg from 'pg'
import { expect, it } from 'vitest'
import { openDatabase } from '../../../../src/database/client.ts'
import { createEpochCheck } from '../../../../src/database/history/epoch.ts'
import { startApp } from '../../../support/app.ts'
import { urlAs } from '../../../support/database/roles.ts'

it('nobody gets one any longer, and a new one takes its place', async () => {
  const app = await startApp()
  const url = urlAs('app', app.database.url)
  const checkEpoch = createEpochCheck()
  const database = openDatabase({ url, poolSize: 4, checkEpoch, onIdleError: () => {} })
  const process = async () => Number((await database.pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid)
  const first = await process()
  expect(await process()).toBe(first)

  // Another pool of the gateway finds the new primary.
  await app.sql('UPDATE outbox SET epoch = epoch + 1')
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  await checkEpoch.check(other)
  const second = await process()
  expect(second).not.toBe(first)
  expect(await process()).toBe(second)
  expect(database.pool.totalCount).toBe(1)

  await other.end()
  await database.close()
  await app.close()
})
