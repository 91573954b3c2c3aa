import { expect, it } from 'vitest'
import { summaryOf } from '../../../src/database/statement-summary.ts'

it.each([
  ['SELECT id FROM instances i JOIN machines m ON m.id = i.machine_id', 'SELECT instances machines'],
  ['BEGIN; SELECT clock_timestamp()', 'BEGIN SELECT'],
  ['COMMIT', 'COMMIT'],
  ['INSERT INTO "events" ("id") SELECT id FROM json_populate_recordset(NULL::"events", $1)', 'INSERT events SELECT'],
  ['UPDATE instance_looks SET due_at = $1 WHERE instance_id = ANY($2)', 'UPDATE instance_looks'],
  ['DELETE FROM port_bindings WHERE instance_id = $1', 'DELETE port_bindings'],
  ['SELECT "public"."accounts"."id" FROM "public"."accounts" WHERE 1=1 LIMIT $1', 'SELECT accounts'],
  ['SELECT pg_notify($1, $2)', 'SELECT'],
  ['LOCK TABLE instances', 'STATEMENT'],
])('tells of %s what it does to which tables', (text, summary) => {
  expect(summaryOf(text)).toBe(summary)
})

it('leaves out the names that the statement gives itself', () => {
  const text = `WITH due (id) AS (SELECT id FROM accounts), instances AS (INSERT INTO instances (a) VALUES ($1) RETURNING 1)
    SELECT (SELECT count(*) FROM instances) FROM due`
  expect(summaryOf(text)).toBe('SELECT accounts INSERT instances SELECT')
})

it('takes neither locks, nor functions, nor columns for tables', () => {
  const text = `SELECT extract(epoch FROM k.expires_at) FROM unnest($1::int[]) JOIN api_keys k ON k.a IS DISTINCT FROM b
    FOR NO KEY UPDATE SKIP LOCKED`
  expect(summaryOf(text)).toBe('SELECT api_keys')
  expect(summaryOf('INSERT INTO a (b) VALUES ($1) ON CONFLICT DO UPDATE SET c = 1')).toBe('INSERT a')
})

it('leaves out texts inside the statement', () => {
  expect(summaryOf("SELECT 'it''s FROM secrets' FROM accounts")).toBe('SELECT accounts')
})

it('cuts a long summary between two names', () => {
  const tables = Array.from({ length: 100 }, (_, index) => `FROM table_${index}`)
  const summary = summaryOf(`SELECT ${tables.join(' ')}`)
  expect(summary.length).toBeLessThanOrEqual(255)
  expect(summary).toMatch(/ table_\d+$/)
})
