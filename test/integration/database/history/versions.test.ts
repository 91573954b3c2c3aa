// Which versions may use a database at the same time. test/long/deploy tries whole versions under load.

import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../../src/database/client.ts'
import { newestMigration, sessionName } from '../../../../src/database/history/versions.ts'
import { applyMigrations, readMigrations } from '../../../../src/database/migrations.ts'
import { createDatabase, type TestDatabase } from '../../../support/database/database.ts'
import { takenAway } from '../../../support/database/migrations.ts'
import { urlAs } from '../../../support/database/roles.ts'

let database: TestDatabase
let owner: pg.Client

beforeEach(async () => {
  database = await createDatabase()
  owner = await connect('berth lock', urlAs('owner', database.url))
})

afterEach(async () => {
  await owner.end()
  await database.drop()
})

async function connect(application_name: string, url = urlAs('app', database.url)): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name })
  await client.connect()
  return client
}

const expand = { name: '20990101000000_expand', script: 'ALTER TABLE accounts ADD COLUMN later text' }
const contract = {
  name: '20990201000000_contract',
  script: `ALTER TABLE accounts DROP COLUMN later; UPDATE oldest_version SET migration = '${expand.name}'`,
}
const readState = async () =>
  (
    await owner.query(`SELECT migration AS oldest, (SELECT count(*)::int FROM _prisma_migrations WHERE migration_name LIKE '2099%') AS applied,
      EXISTS (SELECT FROM information_schema.columns WHERE column_name = 'later') AS "hasColumn" FROM oldest_version`)
  ).rows[0]
const refusal = (running: string) =>
  `The migration ${contract.name} failed: a gateway or command of an older version uses the database, and would fail without what this takes away. It knows the migrations up to ${running}. Upgrade it to a version that knows ${expand.name}, or stop it; then start again.`

describe('a migration that takes something away', () => {
  it('is refused, and changes nothing, while a gateway runs that does not know what it needs', async () => {
    const gateway = openDatabase({ url: urlAs('app', database.url), poolSize: 1, onIdleError: () => {} })
    await gateway.pool.query('SELECT 1')
    expect(await applyMigrations(owner, [expand])).toEqual([expand.name])
    const before = await readState()
    await expect(applyMigrations(owner, [contract])).rejects.toThrow(refusal(newestMigration.slice(0, 14)))
    expect(await readState()).toEqual(before)
    await gateway.close()
    expect(await applyMigrations(owner, [contract])).toEqual([contract.name])
    expect(await readState()).toEqual({ oldest: expand.name, applied: 2, hasColumn: false })
  })

  it('names the oldest version that runs', async () => {
    await applyMigrations(owner, [expand])
    const clients = await Promise.all(['berth 20980101000000', 'berth 20970101000000'].map(name => connect(name)))
    await expect(applyMigrations(owner, [contract])).rejects.toThrow(refusal('20970101000000'))
    for (const client of clients) await client.end()
  })

  it('is no trouble for versions that know what it needs, other programs, and other databases', async () => {
    await applyMigrations(owner, [expand])
    const other = await createDatabase({ empty: true })
    const names = ['berth 20990101000000', 'berth 20990201000000', 'berth metrics', 'psql', 'berth 1']
    const clients = await Promise.all([...names.map(name => connect(name)), connect('berth 20970101000000', other.url)])
    expect(await applyMigrations(owner, [contract])).toEqual([contract.name])
    for (const client of clients) await client.end()
    await other.drop()
  })
})

describe('a gateway that was cut off meanwhile', () => {
  it('gets no new connection to a database that is too new for it', async () => {
    const gateway = openDatabase({ url: urlAs('app', database.url), poolSize: 1, onIdleError: () => {} })
    await gateway.pool.query('SELECT 1')
    await owner.query('UPDATE oldest_version SET migration = $1', [expand.name])
    const admin = await connect('test', database.url)
    await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
      [sessionName],
    )
    await admin.end()
    const message = `it does not know the migration ${expand.name}. Upgrade Berth here.`
    const ask = () => gateway.pool.query('SELECT 1').catch(({ code, message }) => ({ code, message }))
    await expect.poll(ask).toEqual({ code: '25006', message: expect.stringContaining(message) })
    await owner.query('UPDATE oldest_version SET migration = $1', [newestMigration])
    await gateway.pool.query('SELECT 1')
    await gateway.close()
  })
})

describe('the migrations', () => {
  it('begin with their time, by which versions are told apart', async () => {
    const names = (await readMigrations()).map(({ name }) => name)
    expect(names.filter(name => !/^\d{14}_/.test(name))).toEqual([])
    expect(sessionName).toBe(`berth ${names.at(-1)?.slice(0, 14)}`)
  })

  it('say which versions they leave if they take something away', async () => {
    const rule = '20261126171300_oldest_version'
    const silent = (await readMigrations()).filter(
      ({ name, script }) => name > rule && takenAway(script).length > 0 && !script.includes('UPDATE oldest_version'),
    )
    const advice = 'do this one version after nothing uses it, and raise oldest_version: see docs/upgrading.md.'
    expect(silent.map(({ name, script }) => `${name}: ${takenAway(script).join(', ')}: ${advice}`)).toEqual([])
  })

  it.each([
    ['ALTER TABLE "a" DROP COLUMN "b"', ['DROP COLUMN']],
    ['DROP TABLE a; drop type b;', ['DROP TABLE', 'drop type']],
    ['ALTER TABLE a RENAME COLUMN b TO c', ['RENAME']],
    ['ALTER TABLE a ALTER COLUMN b SET NOT NULL', ['SET NOT NULL']],
    ['ALTER TABLE a ALTER COLUMN b SET DATA TYPE text', ['SET DATA TYPE']],
    ['ALTER TABLE a ADD COLUMN b int NOT NULL', ['ADD COLUMN b int NOT NULL']],
    ['ALTER TABLE a ADD COLUMN b int NOT NULL DEFAULT 0, ADD COLUMN c text', []],
    ['DROP FUNCTION a(int)', ['DROP FUNCTION']],
    ['CREATE TABLE a (b int NOT NULL); DROP INDEX c; DROP TRIGGER d ON e; -- DROP TABLE f', []],
  ])('take something away with %s: %j', (script, found) => {
    expect(takenAway(script)).toEqual(found)
  })
})
