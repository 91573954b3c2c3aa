import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { Prisma } from '../../../../src/database/generated/client.ts'
import * as types from '../../../../src/database/row-types.ts'
import { insertSql } from '../../../../src/database/rows.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'

const { sql } = Prisma
let testDatabase: TestDatabase
let database: Database
beforeAll(async () => {
  testDatabase = await createDatabase()
  database = openDatabase({ url: testDatabase.url, poolSize: 1, onIdleError: () => {} })
  await database.execute(
    sql`CREATE TABLE insertions (id bigint, small int DEFAULT 7, words text, instant timestamptz, facts jsonb, bytes bytea)`,
  )
})
afterAll(async () => {
  await database.close()
  await testDatabase.drop()
})

const names = ['id', 'small', 'words', 'instant', 'facts', 'bytes']
const { nullable } = types
const shape = {
  ...{ id: types.int8, small: nullable(types.int4), words: nullable(types.text), instant: nullable(types.timestamptz) },
  ...{ facts: nullable(types.jsonb<unknown>()), bytes: nullable(types.bytea) },
}
const insert = async (records: Record<string, unknown>[]) => {
  await database.execute(sql`TRUNCATE insertions`)
  const statement = insertSql('insertions', { names, columns: names }, records)
  await database.execute(statement)
  return { rows: await database.query(sql`SELECT * FROM insertions ORDER BY id`, shape), values: statement.values }
}
const instant = '2026-01-02T03:04:05.678Z'

it('inserts values that all records share and values of their own, whatever their types', async () => {
  const { rows, values } = await insert(
    [1n, 2n, 3n].map(id => ({
      ...{ id, small: id === 2n ? null : 1, words: 'all the same', instant: new Date(instant) },
      ...{ facts: { of: ['all', null] }, bytes: Buffer.from([0, 255]) },
    })),
  )
  const shared = { words: 'all the same', instant: new Date(instant), facts: { of: ['all', null] } }
  const all = { ...shared, bytes: Buffer.from([0, 255]) }
  expect(rows).toEqual([1n, 2n, 3n].map(id => ({ ...all, id, small: id === 2n ? null : 1 })))
  expect(values.join().split('all the same')).toHaveLength(2)
})

it('inserts null where only some records have a field, and the default where none has it', async () => {
  const { rows } = await insert([
    { id: 1n, words: 'has it', facts: null, instant: undefined },
    { id: 2n, facts: null, instant: undefined },
  ])
  const empty = { small: 7, facts: null, instant: null, bytes: null }
  expect(rows).toEqual([
    { ...empty, id: 1n, words: 'has it' },
    { ...empty, id: 2n, words: null },
  ])
})

it('inserts a single record', async () => {
  expect((await insert([{ id: 9n, words: 'alone' }])).rows).toMatchObject([{ id: 9n, words: 'alone', small: 7 }])
})
