import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSimulated } from '../../src/providers/simulated.ts'
import { type Query, worldIn } from '../../src/providers/simulated-world.ts'
import { manualClock } from '../support/clock.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { keepsThePort, specOf } from './provider.ts'

const clock = manualClock()
let testDatabase: TestDatabase
let pool: pg.Pool

beforeAll(async () => {
  testDatabase = await createDatabase()
  pool = new pg.Pool({ connectionString: testDatabase.url, max: 2 })
})

afterAll(async () => {
  await pool.end()
  await testDatabase.drop()
})

const query: Query = async (text, values) => (await pool.query({ text, values, rowMode: 'array' })).rows
const open = (delayFactor = 1) => createSimulated({ world: worldIn(query), now: clock.now, delayFactor })

keepsThePort('simulated', () => ({ open, settle: async () => clock.advance(60_000) }))

const signal = AbortSignal.timeout(60_000)
const keys = { sshKeys: specOf(0n).sshKeys }

it('says when it expects to be further, and is further then', async () => {
  const driver = open()
  await driver.ensure(specOf(1n), signal)
  const truth = await driver.observe(1n, signal)
  expect(truth).toMatchObject({ state: 'preparing', until: expect.any(Date) })
  const until = 'until' in truth && truth.until ? truth.until : clock.now()
  clock.advance(until.getTime() - clock.now().getTime() - 1)
  expect(await driver.observe(1n, signal)).toMatchObject({ state: 'preparing' })
  clock.advance(1)
  expect(await driver.observe(1n, signal)).toEqual({ state: 'prepared', ...keys })
})

it('waits for nothing when its delays are scaled to nothing', async () => {
  const driver = open(0)
  await driver.ensure(specOf(2n), signal)
  await driver.start(2n, signal)
  expect(await driver.observe(2n, signal)).toEqual({ state: 'running', ...keys })
  await driver.stop(2n, signal)
  expect(await driver.observe(2n, signal)).toEqual({ state: 'stopped', ...keys })
})

it('shows how a container ended by itself, until it is started again', async () => {
  const driver = open(0)
  await driver.ensure(specOf(3n), signal)
  await driver.start(3n, signal)
  await pool.query('UPDATE simulated_containers SET exit_code = 137 WHERE instance_id = 3')
  expect(await driver.observe(3n, signal)).toEqual({ state: 'exited', exitCode: 137, ...keys })
  await driver.stop(3n, signal)
  expect(await driver.observe(3n, signal)).toEqual({ state: 'exited', exitCode: 137, ...keys })
  await driver.start(3n, signal)
  expect(await driver.observe(3n, signal)).toEqual({ state: 'running', ...keys })
})
