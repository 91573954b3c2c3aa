import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, it } from 'vitest'
import { createEpochCheck } from '../../../../src/database/history/epoch.ts'
import { startApp } from '../../../support/app.ts'
import { urlAs } from '../../../support/database/roles.ts'
import { rentalsOf, someCredit } from '../../../support/instances/rentals.ts'

it('begins a new line however long all instances take, unlike other statements', async () => {
  const app = await startApp()
  await rentalsOf(app).rent(await app.newKey(null, someCredit))
  const client = new pg.Client({ connectionString: urlAs('app', app.database.url), query_timeout: 500 })
  const other = new pg.Client({ connectionString: app.database.url })
  await Promise.all([client.connect(), other.connect()])
  const { check } = createEpochCheck()
  expect(await check(client)).toBeUndefined()
  await app.sql(`UPDATE outbox SET cluster = regexp_replace(cluster, '/\\d+/', '/99/')`)
  await other.query('BEGIN')
  await other.query('SELECT FROM instance_looks FOR UPDATE')
  const checked = check(client)
  checked.catch(() => {})
  await sleep(1_000)
  await other.query('COMMIT')
  expect(await checked).toMatchObject({ epoch: expect.any(Number) })
  expect(await app.sql('SELECT witnessed FROM failovers')).toEqual([{ witnessed: true }])
  await Promise.all([client.end(), other.end()])
  await app.close()
})
