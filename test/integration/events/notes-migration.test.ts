// Migrates events whose free text was a reason, and whose exit code was only in the message.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database/database.ts'
import { withSession } from '../../support/database/sessions.ts'

const migration = new URL('../../../prisma/migrations/20261123140000_event_notes/migration.sql', import.meta.url)
let testDatabase: TestDatabase

beforeAll(async () => {
  testDatabase = await createDatabase()
})

afterAll(() => testDatabase.drop())

it('makes notes of free texts, and finds exit codes', async () => {
  await withSession(testDatabase.url, async session => {
    await session.query(`INSERT INTO accounts (email) VALUES ('old@example.com')`)
    await session.query('ALTER TABLE events DROP COLUMN note')
    const rows = [
      { kind: 'CREDIT_GRANTED', reason: 'OUTBID', after: { creditNanos: '1' } },
      { kind: 'CREDIT_GRANTED', reason: null, after: { creditNanos: '1' } },
      { kind: 'INSTANCE_OUTBID', reason: 'OUTBID', after: { granted: false } },
      { kind: 'INSTANCE_STATUS_CHANGED', reason: 'EXITED', after: { message: 'The container exited with code 137.' } },
      { kind: 'INSTANCE_STATUS_CHANGED', reason: 'EXITED', after: { message: 'Odd.' } },
      { kind: 'INSTANCE_STATUS_CHANGED', reason: 'STARTED', after: { message: 'Ends with code 1.' } },
    ]
    await session.query(
      `INSERT INTO events (kind, account_id, actor_kind, subject_type, subject_id, reason, after, created_at)
      SELECT r.kind, a.id, 'system', 'Account', a.id, r.reason, r.after, now()
      FROM json_to_recordset($1) AS r(kind text, reason text, after jsonb), accounts a`,
      [JSON.stringify(rows)],
    )
    await session.query(await readFile(migration, 'utf8'))
    const { rows: events } = await session.query('SELECT reason, note, after FROM events ORDER BY id')
    const [granted, silent, outbid, exited, ...others] = rows
    expect(events).toEqual([
      { reason: null, note: 'OUTBID', after: granted?.after },
      { reason: null, note: null, after: silent?.after },
      { reason: 'OUTBID', note: null, after: outbid?.after },
      { reason: 'EXITED', note: null, after: { ...exited?.after, exitCode: 137 } },
      ...others.map(({ reason, after }) => ({ reason, note: null, after })),
    ])
  })
})
