import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrate } from '../../../src/database/migrations.ts'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { migrateUntil } from '../../support/database/migrations.ts'
import { waitUntilBlocksOthers, withSession } from '../../support/database/sessions.ts'

let testDatabase: TestDatabase

beforeAll(async () => {
  testDatabase = await createDatabase({ empty: true })
  await migrateUntil(testDatabase.url, '20261121170000_billing')
  const tables = JSON.parse(await readFile(new URL('../../data/before-billing.json', import.meta.url), 'utf8'))
  await withSession(testDatabase.url, async session => {
    await session.query('SET session_replication_role = replica')
    for (const [table, rows] of Object.entries(tables))
      await session.query(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, [
        JSON.stringify(rows),
      ])
  })
  await migrateUntil(testDatabase.url, '20261124030000_instance_looks')
})

afterAll(() => testDatabase.drop())

it('keeps what a gateway of the earlier version changes of an instance while the migration waits for it', async () => {
  await withSession(testDatabase.url, async session => {
    await session.query('BEGIN')
    const change = "UPDATE instances SET generation = 77, due_at = '2026-01-01' WHERE id = 1 RETURNING account_id"
    expect((await session.query(change)).rows).toHaveLength(1)
    const migrating = migrate(testDatabase.url)
    await waitUntilBlocksOthers(session)
    await session.query('COMMIT')
    await migrating
    const { rows } = await session.query('SELECT generation, due_at FROM instance_looks WHERE instance_id = 1')
    expect(rows).toEqual([{ generation: 77, due_at: new Date('2026-01-01T00:00:00Z') }])
  })
})
