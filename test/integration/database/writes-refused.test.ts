// The database answers but refuses writes: its disk is full, it is a standby, or its storage fails.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { withDatabase } from '../../../src/database/embedded/server.ts'
import { monitorWrites } from '../../../src/database/write-monitor.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { manualClock } from '../../support/clock.ts'
import { serverUrl, type TestDatabase } from '../../support/database/database.ts'
import { urlAs } from '../../support/database/roles.ts'
import { type Rentals, rentalsOf, someCredit } from '../../support/instances/rentals.ts'

let app: TestApp
let rentals: Rentals
let key: string

async function start(database?: TestDatabase): Promise<void> {
  app = await startApp(database && { sharedApp: { database, clock: manualClock() } as TestApp })
  rentals = rentalsOf(app)
  key = await app.newKey(null, someCredit)
}

async function runOnServer(sql: string, url = serverUrl()): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return await client.query(sql).finally(() => client.end())
}

const rentOverRest = (offer: number) => app.rest(key, 'PUT', `/asks/${offer}/`, { image: 'ubuntu' })
const rentMutation = (offer: number) =>
  `mutation { rentInstance(input: { offerId: ${offer}, spec: { source: { image: "ubuntu" } } }) { __typename } }`
const rentOverGraphql = (offer: number) =>
  app.fetch(
    new Request('http://berth.test/graphql', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: rentMutation(offer) }),
    }),
  )
async function readReadiness() {
  const response = await app.fetch(new Request('http://berth.test/ready'))
  return [response.status, await response.json()]
}

async function expectRefusals(offer: number): Promise<void> {
  const msg = 'The database cannot do this now. Try again in a moment.'
  const rest = await rentOverRest(offer)
  expect(rest).toMatchObject({ status: 503, body: { success: false, error: 'unavailable', msg } })
  expect(rest.headers.get('retry-after')).toBe('1')
  const graphql = await rentOverGraphql(offer)
  expect(await graphql.json()).toMatchObject({
    data: { rentInstance: null },
    errors: [{ message: msg, path: ['rentInstance'], extensions: { code: 'UNAVAILABLE', retry: 'LATER' } }],
  })
}

/** Checks the gateway while writes fail, and after `repair`. */
async function expectRecovery(offer: number, repair: () => Promise<unknown>): Promise<void> {
  app.startWork()
  await expectRefusals(offer)
  expect(await readReadiness()).toEqual([503, { status: 'the database takes no writes' }])
  expect((await app.rest(key, 'GET', '/users/current/')).status).toBe(200)
  // Running work ends. Then due work waits, and the gateway logs nothing.
  await sleep(1_000)
  const before = app.logLines.length
  await sleep(2_500)
  expect(app.logLines.slice(before)).toEqual([])
  expect((await readReadiness())[0]).toBe(503)
  await repair()
  await expect.poll(readReadiness, { timeout: 10_000 }).toEqual([200, { status: 'ready' }])
  expect((await rentOverRest(offer)).status).toBe(200)
  expect((await rentOverGraphql(offer)).status).toBe(200)
}

describe('a server that refuses to write', () => {
  beforeAll(() => start())
  afterAll(() => app.close())

  it.each(['53000', '53100', '53200', '53400', '58000', '58030'])(
    'leads to a definite refusal on both faces with %s',
    async code => {
      const raised = `BEGIN RAISE EXCEPTION 'it fails' USING ERRCODE = '${code}'; END`
      await app.sql(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ ${raised} $$`)
      await app.sql('CREATE TRIGGER fail BEFORE INSERT ON instances FOR EACH ROW EXECUTE FUNCTION fail()')
      await expectRefusals(await rentals.newOffer())
      await app.sql('DROP FUNCTION fail CASCADE')
      await expect.poll(readReadiness).toEqual([200, { status: 'ready' }])
    },
  )

  it('leads to definite refusals for the failed offer of a bulk request and for the offers after it', async () => {
    const ids = [await rentals.newOffer(), await rentals.newOffer(), await rentals.newOffer()]
    const which = `IF NEW.offer_id = ${ids[1]} THEN RAISE EXCEPTION 'it fails' USING ERRCODE = '53100'; END IF`
    await app.sql(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${which}; RETURN NEW; END $$`)
    await app.sql('CREATE TRIGGER fail BEFORE INSERT ON instances FOR EACH ROW EXECUTE FUNCTION fail()')
    const { status, body } = await app.rest(key, 'POST', '/asks/bulk/', { image: 'ubuntu', ids })
    await app.sql('DROP FUNCTION fail CASCADE')
    const msgs = [undefined, expect.stringMatching('cannot do this now'), expect.stringMatching('not tried')]
    expect([status, body.results]).toEqual([200, msgs.map(msg => expect.objectContaining(msg ? { msg } : {}))])
    expect(body.created).toHaveLength(1)
  })

  it('leaves the gateway ready, without flooding the log, if it refuses writes to one table only', async () => {
    const raised = `BEGIN RAISE EXCEPTION 'it fails' USING ERRCODE = '53100'; END`
    await app.sql(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ ${raised} $$`)
    await app.sql('CREATE TRIGGER fail BEFORE INSERT ON instances FOR EACH ROW EXECUTE FUNCTION fail()')
    const offer = await rentals.newOffer()
    const before = app.logLines.length
    for (const _ of Array(10)) {
      expect((await rentOverRest(offer)).status).toBe(503)
      expect((await readReadiness())[0]).toBe(200)
    }
    await app.sql('DROP FUNCTION fail CASCADE')
    const logLines = app.logLines.slice(before).filter(({ msg }) => msg !== 'request')
    expect(logLines.length).toBeLessThan(2)
  })

  it('gets no trial writes while writes succeed', async () => {
    const xid = async () =>
      ((await app.sql('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid')) as [{ xid: string }])[0].xid
    // The server counts writes of all its databases, also its own when it analyzes a table.
    const isQuiet = async () => {
      const before = await xid()
      for (const _ of Array(5)) expect((await readReadiness())[0]).toBe(200)
      return (await xid()) === before
    }
    await expect.poll(isQuiet).toBe(true)
  })

  it('makes the gateway not ready as a standby, until new connections reach the new primary', async () => {
    const offer = await rentals.newOffer()
    const [{ name }] = (await app.sql('SELECT current_database() AS name')) as [{ name: string }]
    await app.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    const others =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
    await app.sql(others)
    await expect.poll(async () => (await app.rest(key, 'GET', '/users/current/')).status).toBe(200)
    await expectRecovery(offer, () => runOnServer(`ALTER DATABASE ${name} RESET default_transaction_read_only`))
  })
})

const folder = mkdtempSync(join(tmpdir(), 'berth-full-'))
const mount = () =>
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m,mode=711', 'tmpfs', folder], { stdio: 'ignore' })
const unmount = () => execFileSync('umount', [folder])

/** Whether this user may mount. Unmounts at once: the tests that need the disk may be filtered out. */
function mayMount(): boolean {
  try {
    mount()
    unmount()
    return true
  } catch {
    return false
  }
}

describe.runIf(mayMount())('a full disk', () => {
  const name = `berth_test_full_${process.pid}`

  beforeAll(async () => {
    mount()
    const { rows } = await runOnServer('SHOW data_directory')
    const { uid, gid } = statSync(rows[0].data_directory)
    execFileSync('install', ['-d', '-o', String(uid), '-g', String(gid), join(folder, 'space')])
    await runOnServer(`CREATE TABLESPACE ${name} LOCATION '${join(folder, 'space')}'`)
    const { username: owner } = inject('logins').owner
    await runOnServer(`CREATE DATABASE ${name} OWNER ${owner} TEMPLATE ${inject('templateName')} TABLESPACE ${name}`)
    await start({ url: withDatabase(serverUrl(), name), drop: async () => {} })
  })
  afterAll(async () => {
    await app.close()
    await runOnServer(`DROP DATABASE ${name} WITH (FORCE)`)
    await runOnServer(`DROP TABLESPACE ${name}`)
    unmount()
  })

  it('makes requests and /ready answer 503 until it has space again', async () => {
    const offer = await rentals.newOffer()
    const filler = join(folder, 'filler')
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(filler, Buffer.alloc(bavail * bsize))
    // First use up the free space inside the tables.
    const url = withDatabase(serverUrl(), name)
    for (const table of ['instances', 'events', 'gpus']) await runOnServer(`VACUUM FULL ${table}`, url).catch(() => {})
    await expectRecovery(offer, async () => rmSync(filler))
  })

  it('is detected by a role that may create no tables, not even temporary ones', async () => {
    await runOnServer(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`)
    const pool = new pg.Pool({ connectionString: urlAs('app', withDatabase(serverUrl(), name)) })
    // `end` does not wait until connections are closed, and dropping the database ends them.
    pool.on('connect', client => client.on('error', () => {}))
    const writes = monitorWrites({ pool, log: pino({ enabled: false }), onChange: () => {}, retryMs: 100 })
    const isFailing = async () => {
      writes.check(new Error('it was refused'))
      return await writes.isFailing()
    }
    expect(await isFailing()).toBe(false)
    const { bavail, bsize } = statfsSync(folder)
    writeFileSync(join(folder, 'filler'), Buffer.alloc(bavail * bsize))
    expect(await isFailing()).toBe(true)
    rmSync(join(folder, 'filler'))
    await expect.poll(writes.isFailing).toBe(false)
    writes.stop()
    await pool.end()
  })
})

afterAll(() => rmSync(folder, { recursive: true }))
