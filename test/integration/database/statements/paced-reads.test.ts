import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { Prisma } from '../../../../src/database/generated/client.ts'
import { text } from '../../../../src/database/row-types.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'

let test: TestDatabase
let database: Database
let reads: number[]

beforeAll(async () => {
  test = await createDatabase({ empty: true })
  database = openDatabase({ url: test.url, poolSize: 1, onIdleError: () => {} })
  database.pool.on('connect', client => {
    // The driver has no types for its connection.
    const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection
    stream.on('data', (chunk: Uint8Array) => reads.push(chunk.byteLength))
  })
})

afterAll(async () => {
  await database.close()
  await test.drop()
})

it('lets other work run after each part of a long answer, and loses nothing of it', async () => {
  reads = []
  const parts: number[] = []
  const rows = database.query(Prisma.sql`SELECT n || repeat('x', 1000) AS text FROM generate_series(1, 20000) n`, {
    text,
  })
  let isDone = false
  rows.finally(() => {
    isDone = true
  })
  while (!isDone) {
    await nextTurn()
    parts.push(reads.splice(0).reduce((sum, bytes) => sum + bytes, 0))
  }
  expect((await rows).map(row => Number.parseInt(row.text, 10))).toEqual(
    Array.from({ length: 20_000 }, (_, n) => n + 1),
  )
  expect(Math.max(...parts)).toBeLessThan(500_000)
  expect(parts.reduce((sum, bytes) => sum + bytes)).toBeGreaterThan(20_000_000)
})
