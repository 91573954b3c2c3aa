// The spans of statements, of those that wait for one connection, and of what runs outside of spans.

import { SpanStatusCode } from '@opentelemetry/api'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../../../src/database/client.ts'
import { Prisma } from '../../../../src/database/generated/client.ts'
import { int4 } from '../../../../src/database/row-types.ts'
import { transaction } from '../../../../src/database/transaction.ts'
import { createWakeUps } from '../../../../src/database/wake-ups.ts'
import { createLog } from '../../../../src/http/log.ts'
import { currentCause } from '../../../../src/traces/causes.ts'
import { inTrace } from '../../../../src/traces/spans.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { childrenOf, type Recorded, recordSpans, traceOf } from '../../../support/spans.ts'

const { sql } = Prisma
let server: TestDatabase
let recorded: Recorded | undefined
const opened: Database[] = []

beforeAll(async () => {
  server = await createDatabase()
})
afterAll(() => server.drop())
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close()
  await recorded?.stop()
  recorded = undefined
})

/** One connection. */
function open(): Database {
  const database = openDatabase({ url: server.url, poolSize: 1, onIdleError: () => {} })
  opened.push(database)
  return database
}

const one = (database: Pick<Database, 'query'>, number = 1) =>
  database.query(sql`SELECT ${number}::int4 AS n`, { n: int4 })
const failing = (database: Database) => database.execute(sql`SELECT 1 / 0 FROM accounts_that_are_not_there`)

/** The ended span of this name. */
function spanOf(name: string) {
  const found = recorded?.spans().filter(span => span.name === name) ?? []
  expect(found).toHaveLength(1)
  return found[0] as (typeof found)[0]
}
const namesBelow = (name: string) => childrenOf(recorded?.spans() ?? [], spanOf(name)).map(span => span.name)

it('leaves connections as they are without an SDK', async () => {
  const client = await open().pool.connect()
  expect(Object.hasOwn(client, 'query')).toBe(false)
  client.release()
})

it('makes a span of each statement, of Prisma and of our own, within a span and a transaction of it', async () => {
  recorded = recordSpans()
  const database = open()
  await one(database)
  await inTrace('work', {}, async () => {
    await one(database)
    await database.prisma.account.findFirst({ select: { id: true } })
    await transaction(database, async tx => {
      await tx.execute(sql`DELETE FROM outbox WHERE false`)
      await tx.prisma(prisma => prisma.gpuModel.findFirst({ select: { id: true } }))
    })
  })
  expect(namesBelow('work')).toEqual([
    ...['SELECT', 'SELECT accounts', 'BEGIN SELECT', 'DELETE outbox', 'SELECT gpu_models', 'COMMIT'],
  ])
  // The first one ran outside of spans.
  expect(recorded.spans()).toHaveLength(7)
})

it('makes a span of the wait for a connection, and keeps the statement in the trace of who waited', async () => {
  recorded = recordSpans()
  const database = open()
  const ask = (name: string, number: number) => inTrace(name, {}, () => one(database, number))
  expect(await Promise.all([ask('first', 1), ask('second', 2), ask('third', 3)])).toEqual([
    [{ n: 1 }],
    [{ n: 2 }],
    [{ n: 3 }],
  ])
  expect(namesBelow('first')).toEqual(['SELECT'])
  for (const name of ['second', 'third']) expect(namesBelow(name)).toEqual(['wait for a connection', 'SELECT'])
})

it('says of a failed statement its code', async () => {
  recorded = recordSpans()
  const database = open()
  await inTrace('work', {}, () => failing(database).catch(() => {}))
  const failed = spanOf('SELECT accounts_that_are_not_there')
  expect(failed.status).toEqual({ code: SpanStatusCode.ERROR })
  expect(failed.attributes['error.type']).toBe('42P01')
  expect(failed.events).toEqual([])
})

it('wakes loops outside of the trace that causes it, with a link to it', async () => {
  recorded = recordSpans()
  const log = createLog('silent', { write: () => {} })
  const causes: unknown[] = []
  const ignored = { onKeyChange: () => {}, onListening: () => {} }
  const wake = () =>
    void causes.push(
      currentCause()?.context.traceId,
      inTrace('loop', {}, () => 'done'),
    )
  const wakeUps = createWakeUps({ url: server.url, pool: open().pool, log, wake, ...ignored })
  inTrace('request', {}, () => wakeUps.notify(new Set(['instances'])))
  expect(causes).toEqual([traceOf(spanOf('request')), 'done'])
  expect(traceOf(spanOf('loop'))).not.toBe(traceOf(spanOf('request')))
})
