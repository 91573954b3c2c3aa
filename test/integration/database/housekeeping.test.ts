import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { locks } from '../../../src/database/locks.ts'
import { createHousekeepingLoop } from '../../../src/reconciler/housekeeping-loop.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { manualClock } from '../../support/clock.ts'
import { withSession } from '../../support/database/sessions.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

const dayMs = 24 * 3_600_000
let app: TestApp
let rentals: Rentals
let key: string

beforeAll(async () => {
  app = await startApp()
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
})

afterAll(() => app.close())

async function runForMinute(): Promise<void> {
  app.clock.advance(60_000)
  await app.runUntilIdle()
}

/** Inserts idempotency keys of one age, as earlier requests left them. */
async function insertKeys(age: number, prefix: string, count = 1): Promise<void> {
  const at = new Date(app.clock.now().getTime() - age).toISOString()
  await app.sql(`
    INSERT INTO idempotency_keys (account_id, key, input_hash, result, created_at)
    SELECT (SELECT min(id) FROM accounts), '${prefix} ' || n, '', '', '${at}' FROM generate_series(1, ${count}) n`)
}
const readKeys = async () =>
  (await app.sql('SELECT key FROM idempotency_keys ORDER BY key')).map(row => (row as { key: string }).key)

describe('idempotency keys', () => {
  it('are deleted after they expire, in any number, and not before', async () => {
    await insertKeys(dayMs, 'old', 2_500)
    await insertKeys(dayMs - 120_000, 'alive')
    await runForMinute()
    expect(await readKeys()).toEqual(['alive 1'])
  })

  it('are not deleted while a request reserves them again', async () => {
    await app.sql('DELETE FROM idempotency_keys')
    await insertKeys(dayMs, 'held')
    await insertKeys(dayMs, 'free')
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query(`SELECT FROM idempotency_keys WHERE key = 'held 1' FOR UPDATE`)
      await runForMinute()
      await session.query('COMMIT')
    })
    expect(await readKeys()).toEqual(['held 1'])
  })

  it('are left alone while another gateway deletes them', async () => {
    await insertKeys(dayMs, 'old')
    await withSession(app.database.url, async session => {
      await session.query('BEGIN')
      await session.query('SELECT pg_advisory_xact_lock($1)', [locks.housekeeping])
      await runForMinute()
      expect(await readKeys()).toContain('old 1')
      await session.query('COMMIT')
    })
    await runForMinute()
    expect(await readKeys()).toEqual([])
  })
})

it('deletes events that are older than the retention time', async () => {
  const readEventIds = async () => (await app.sql('SELECT id FROM events')).map(row => (row as { id: string }).id)
  await app.sql(`UPDATE events SET created_at = created_at - interval '91 days'`)
  const old = await readEventIds()
  // New events go to the next partition.
  await runForMinute()
  await app.newKey(null, someCredit)
  const young = (await readEventIds()).filter(id => !old.includes(id))
  // An open transaction elsewhere on the server may delay the deletion.
  do await runForMinute()
  while ((await readEventIds()).some(id => old.includes(id)))
  expect([old.length, young.length]).toEqual([2, 2])
  expect(await readEventIds()).toEqual(young)
})

it('deletes simulated containers of removed or unknown instances, and keeps other containers', async () => {
  const id = await rentals.rentToStatus(key, 'running')
  const gone = await rentals.rentToStatus(key, 'running')
  await app.rest(key, 'DELETE', `/instances/${gone}/`)
  await rentals.converge()
  await app.sql(`INSERT INTO simulated_containers (instance_id, prepared_at) VALUES (${gone}, now()), (987654, now())`)
  await runForMinute()
  expect(await app.sql('SELECT instance_id FROM simulated_containers')).toEqual([{ instance_id: String(id) }])
})

describe('the housekeeping loop', () => {
  it('runs every chore once a minute, even if one chore fails', async () => {
    const clock = manualClock()
    const done: string[] = []
    const chores = {
      fails: async () => {
        done.push('fails')
        throw new Error('No.')
      },
      works: async (limit: number) => {
        done.push('works')
        return done.length < 4 ? limit : 0
      },
    }
    const loop = createHousekeepingLoop({ chores, now: clock.now, log: pino({ level: 'silent' }) })
    await loop.idle()
    expect(done).toEqual(['fails', 'works', 'works', 'works'])
    clock.advance(59_999)
    expect(await loop.idle()).toBe(false)
    clock.advance(1)
    expect(await loop.idle()).toBe(true)
  })

  it('continues after the clock of the database goes back', async () => {
    const clock = manualClock()
    const loop = createHousekeepingLoop({ chores: {}, now: clock.now, log: pino({ level: 'silent' }) })
    expect(await loop.idle()).toBe(true)
    clock.advance(-3_600_000)
    expect(await loop.idle()).toBe(true)
    expect(await loop.idle()).toBe(false)
  })

  it('ends after the current batch when the gateway stops', async () => {
    let batches = 0
    const endless = async (limit: number) => {
      batches += 1
      if (batches === 3) stopped = loop.stop()
      if (batches > 5) throw new Error('It does not stop.')
      return limit
    }
    const next = async () => {
      batches += 10
      return 0
    }
    let stopped: Promise<void> | undefined
    const chores = { endless, next }
    const loop = createHousekeepingLoop({ chores, now: manualClock().now, log: pino({ level: 'silent' }) })
    await loop.idle()
    await stopped
    expect(batches).toBe(3)
  })
})

it('deletes failed starts after 30 days, and not before', async () => {
  const at = (days: number) => new Date(app.clock.now().getTime() - days * dayMs).toISOString()
  await app.sql(`INSERT INTO failed_starts (instance_id, account_id, machine_id, by_machine, at)
    VALUES (1, 1, 1, true, '${at(30)}'), (2, 1, 1, true, '${at(29)}')`)
  await runForMinute()
  expect(await app.sql('SELECT instance_id::int AS id FROM failed_starts')).toEqual([{ id: 2 }])
})
