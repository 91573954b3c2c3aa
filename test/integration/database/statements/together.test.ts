import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { Prisma } from '../../../../src/database/generated/client.ts'
import * as types from '../../../../src/database/row-types.ts'
import { inOrder, readOf, readTogether, writeTogether } from '../../../../src/database/together.ts'
import { transaction } from '../../../../src/database/transaction.ts'
import { captureQueries } from '../../../support/database/captured-statements.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'

const { sql } = Prisma
let testDatabase: TestDatabase
let database: Database
beforeAll(async () => {
  testDatabase = await createDatabase()
  database = openDatabase({ url: testDatabase.url, poolSize: 2, onIdleError: () => {} })
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

const { nullable } = types
const everyType = readOf(
  sql`
    SELECT * FROM (VALUES
      (true, 1, 9007199254740993, 0.1::float8, 123456789012345678901.5::numeric, 'it''s "text" \\ {}', ARRAY['a,b', NULL, '"'],
        '\\x00ff'::bytea, '2026-01-02 03:04:05.678+00'::timestamptz, '{"a": [1]}'::json, '{"b": null}'::jsonb, 'running'::target_state),
      (false, NULL, NULL, 'Infinity', NULL, '', '{}', '\\x', NULL, NULL, NULL, 'stopped')
    ) AS rows(truth, small, large, fraction, exact, words, list, bytes, instant, old_json, new_json, state)`,
  {
    ...{ truth: types.bool, small: nullable(types.int4), large: nullable(types.int8), fraction: types.float8 },
    ...{ exact: nullable(types.numeric), words: types.text, list: types.textArray, bytes: types.bytea },
    ...{ instant: nullable(types.timestamptz), oldJson: nullable(types.json()), newJson: nullable(types.jsonb()) },
    state: types.enumeration<'running' | 'stopped'>(),
  },
)

describe('reads together', () => {
  it('are one statement, and have the rows that each has alone', async () => {
    const alone = await database.query(everyType.statement, everyType.shape)
    expect(alone).toHaveLength(2)
    const noRows = readOf(sql`SELECT 1 AS one WHERE false`, { one: types.int4 })
    let together: unknown
    const queries = await captureQueries(async () => {
      together = await readTogether(database, { everyType, noRows })
    })
    expect(together).toEqual({ everyType: alone, noRows: [] })
    expect(queries).toHaveLength(1)
  })

  it('keep the order of their rows', async () => {
    const descending = readOf(sql`SELECT n FROM generate_series(1, 500) n ORDER BY n DESC`, { n: types.int4 })
    const { descending: rows } = await readTogether(database, { descending })
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 500 }, (_, index) => 500 - index))
  })

  it('refuse a null that the shape does not expect', async () => {
    const missing = readOf(sql`SELECT NULL::int AS count`, { count: types.int4 })
    await expect(readTogether(database, { missing })).rejects.toThrow('count is null')
  })
})

describe('writes together', () => {
  beforeEach(() => database.execute(sql`DELETE FROM accounts`))
  const accounts = () =>
    database.query(sql`SELECT email, name FROM accounts ORDER BY email`, { email: types.text, name: types.text })
  const insert = (email: string, name: string) =>
    sql`INSERT INTO accounts (email, name) VALUES (${email}, ${name}) RETURNING name`

  it('are one statement, count what each returned, and read what one before returned', async () => {
    const writes = {
      first: insert('a@example.com', 'first'),
      second: sql`INSERT INTO accounts (email, name) SELECT 'b@example.com', 'after ' || name FROM first RETURNING 1`,
      nothing: sql`UPDATE accounts SET name = 'changed' RETURNING 1`,
    }
    let counts: unknown
    const queries = await captureQueries(async () => {
      counts = await writeTogether(database, writes)
    })
    expect(counts).toEqual({ first: 1, second: 1, nothing: 0 })
    expect(queries).toHaveLength(1)
    expect(await accounts()).toEqual([
      { email: 'a@example.com', name: 'first' },
      { email: 'b@example.com', name: 'after first' },
    ])
  })

  it('are all undone if one fails', async () => {
    const writes = { one: insert('a@example.com', 'one'), same: insert('a@example.com', 'other') }
    await expect(transaction(database, tx => writeTogether(tx, writes))).rejects.toMatchObject({ code: '23505' })
    expect(await accounts()).toEqual([])
  })

  it('of several parts are one statement, and no two of them may have one name', async () => {
    const [first, second] = [{ one: insert('a@example.com', 'a') }, { two: insert('b@example.com', 'b') }]
    expect(await writeTogether(database, first, {}, second)).toEqual({ one: 1, two: 1 })
    await expect(writeTogether(database, second, first, { one: insert('c@example.com', 'c') })).rejects.toThrow(
      'Two writes of one statement have the name one.',
    )
    expect(await accounts()).toMatchObject([{ name: 'a' }, { name: 'b' }])
  })

  it('are never spread into one object, where one would silently replace another', () => {
    const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
    const spread = sources.filter(file => /\.\.\.\w*[wW]rites\(/.test(readFileSync(join('src', file), 'utf8')))
    expect(spread).toEqual([])
  })

  it('send nothing if there are none', async () => {
    expect(await captureQueries(() => writeTogether(database, {}))).toEqual([])
  })
})

describe('work in order', () => {
  const clock = sql`SELECT clock_timestamp() AS at`
  const failing = (message: string) => sql`SELECT 1 / 0 AS ${Prisma.raw(message)}`

  it('sends a statement before the one ahead is answered', async () => {
    const readings = await transaction(database, async tx => {
      const work = [tx.query(clock, { at: types.timestamptz }), tx.query(clock, { at: types.timestamptz })] as const
      // No answer can be read meanwhile.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
      return await inOrder([...work])
    })
    const [first, second] = readings.map(([row]) => row?.at.getTime() ?? 0) as [number, number]
    expect(second - first).toBeLessThan(400)
  })

  it('fails as the first one that failed, whatever fails behind it', async () => {
    const work = transaction(database, async tx => {
      const writing = tx.execute(sql`SELECT no_such_column`)
      return await inOrder([writing, tx.query(clock, { at: types.timestamptz }), tx.execute(failing('late'))])
    })
    await expect(work).rejects.toMatchObject({ code: '42703' })
    // The connection goes on.
    expect(await database.query(clock, { at: types.timestamptz })).toHaveLength(1)
  })

  it('waits for all before it fails, so that nothing runs on behind the rollback', async () => {
    let isDone = false
    const slow = Promise.resolve().then(async () => {
      await database.execute(sql`SELECT pg_sleep(0.1)`)
      isDone = true
    })
    await expect(inOrder([Promise.reject(new Error('first')), slow])).rejects.toThrow('first')
    expect(isDone).toBe(true)
  })
})
