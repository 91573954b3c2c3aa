// The roles of the database: what each may do, and how they get it.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { migrate } from '../../../../src/database/migrations.ts'
import { checkPrivileges } from '../../../../src/database/roles/check.ts'
import { type Grant, grantPrivileges, grantsSql, listedGrants } from '../../../../src/database/roles/grants.ts'
import { appFunctions, appRole, appTables, metricsRole } from '../../../../src/database/roles/privileges.ts'
import { startApp, type TestApp } from '../../../support/app.ts'
import { urlAs } from '../../../support/database/roles.ts'
import { withSession } from '../../../support/database/sessions.ts'

let app: TestApp
/** Connections of a gateway's role, of the owner, and of the role for figures. */
let asApp: pg.Pool
let asOwner: pg.Pool
let asMetrics: pg.Pool

beforeAll(async () => {
  app = await startApp()
  await app.newKey(null, { creditNanos: 5n })
  const open = (kind: 'app' | 'owner' | 'metrics') =>
    new pg.Pool({ connectionString: urlAs(kind, app.database.url), max: 2 })
  asApp = open('app')
  asOwner = open('owner')
  asMetrics = open('metrics')
})

afterAll(async () => {
  await Promise.all([asApp.end(), asOwner.end(), asMetrics.end()])
  await app.close()
})

const denied = { code: '42501' }
const text = ({ role, object, privilege }: Grant) => `${privilege} ON ${object} TO ${role}`
const readGrants = async () => ((await app.sql(grantsSql, [[appRole, metricsRole]])) as Grant[]).map(text).toSorted()
const namesOf = async (sql: string) => ((await app.sql(sql)) as { name: string }[]).map(({ name }) => name)

describe('the privileges', () => {
  it('list every table, and every function that runs as its owner', async () => {
    const tables = await namesOf(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
       AND NOT relispartition ORDER BY relname COLLATE "C"`,
    )
    expect(appTables.flatMap(group => group.tables).toSorted()).toEqual(tables)
    const functions = await namesOf(
      `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef ORDER BY 1`,
    )
    expect(appFunctions).toEqual(functions)
  })

  it('are granted as they are listed, with the use of sequences', async () => {
    const sequences = await namesOf(`SELECT relname AS name FROM pg_class WHERE relkind = 'S' ORDER BY relname`)
    const ofSequences = sequences.flatMap(name =>
      ['SELECT', 'UPDATE', 'USAGE'].map(privilege => ({ role: appRole, object: `SEQUENCE ${name}`, privilege })),
    )
    expect(sequences.length).toBeGreaterThan(0)
    expect(await readGrants()).toEqual([...listedGrants, ...ofSequences].map(text).toSorted())
  })

  it('fix the search path of each function that runs as its owner, and let nobody else call it', async () => {
    const unsafe = await namesOf(
      `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef
       AND (proconfig IS DISTINCT FROM '{"search_path=pg_catalog, pg_temp"}' OR has_function_privilege('${metricsRole}', oid, 'EXECUTE'))`,
    )
    expect(unsafe).toEqual([])
  })
})

describe('a gateway', () => {
  it.each([
    'UPDATE ledger_entries SET amount_nanos = 0',
    'UPDATE ledger_entries SET note = NULL WHERE false',
    'DELETE FROM ledger_entries',
    'TRUNCATE ledger_entries',
    'SELECT FROM ledger_entries FOR UPDATE',
    'DELETE FROM accounts',
    'TRUNCATE accounts CASCADE',
    'DELETE FROM meters',
    'UPDATE events SET after = NULL',
    'DELETE FROM events',
    'DELETE FROM _prisma_migrations',
    'ALTER TABLE ledger_entries DISABLE TRIGGER ALL',
    'DROP TABLE events_from_0',
    'DELETE FROM events_from_0',
    'TRUNCATE samples_0',
    'SET session_replication_role = replica',
    'CREATE TABLE other (id int)',
    'CREATE FUNCTION other() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    'CREATE ROLE other',
    "COPY ledger_entries TO PROGRAM 'cat'",
  ])('may not: %s', async statement => {
    await expect(asApp.query(statement)).rejects.toMatchObject(denied)
  })

  it('adds to the ledger, whose triggers then change the balance', async () => {
    const account = "(SELECT id FROM accounts WHERE email = 'renter-1@example.com')"
    await asApp.query(
      `INSERT INTO ledger_entries (account_id, kind, amount_nanos, posted_at) VALUES (${account}, 'top_up', 7, now())`,
    )
    const { rows } = await asApp.query(`SELECT posted_nanos FROM accounts WHERE id = ${account}`)
    expect(rows).toEqual([{ posted_nanos: '12' }])
    await expect(asApp.query('UPDATE accounts SET posted_nanos = posted_nanos + 1')).rejects.toMatchObject({
      message: expect.stringContaining('is not possible'),
    })
  })

  it('empties partitions of samples only, and does not drop the partition that gets new events', async () => {
    for (const name of ['accounts', 'events_from_0', 'samples', 'no table', 'samples_0"; DROP TABLE events; --'])
      await expect(asApp.query('SELECT empty_sample_partition($1)', [name])).rejects.toMatchObject({ code: '42809' })
    await asApp.query("SELECT empty_sample_partition('samples_0')")
    await expect(asApp.query('SELECT drop_event_partition()')).rejects.toMatchObject({ code: '55006' })
  })
})

describe('the role for figures', () => {
  it.each([
    'SELECT email FROM accounts',
    'SELECT secret_hash FROM api_keys',
    'SELECT * FROM events',
    'SELECT FROM ledger_entries',
    'UPDATE accounts SET billing_due_at = NULL',
    'SELECT drop_event_partition()',
    'SELECT empty_sample_partition(NULL)',
  ])('may not: %s', async statement => {
    await expect(asMetrics.query(statement)).rejects.toMatchObject(denied)
  })

  it('sees how old the transactions of other roles are', async () => {
    await withSession(urlAs('app', app.database.url), async session => {
      await session.query("BEGIN; SET application_name = 'old'; SELECT pg_current_xact_id()")
      const own =
        "SELECT FROM pg_stat_activity WHERE application_name = 'old' AND backend_xid IS NOT NULL AND xact_start IS NOT NULL"
      expect((await asMetrics.query(own)).rowCount).toBe(1)
    })
  })
})

describe('a start', () => {
  const damage = () =>
    app.sql(`REVOKE INSERT ON events, instances, offers FROM ${appRole}; REVOKE EXECUTE ON FUNCTION try_write FROM ${appRole};
      REVOKE USAGE ON SEQUENCE offers_id_seq FROM ${appRole}; GRANT DELETE ON ledger_entries TO ${appRole};
      REVOKE SELECT (xid) ON events FROM ${metricsRole}; GRANT SELECT ON accounts TO ${metricsRole}`)

  it('as the owner grants what is missing, and takes back what is not listed', async () => {
    const before = await readGrants()
    await damage()
    expect(await readGrants()).not.toEqual(before)
    expect(await migrate(urlAs('owner', app.database.url))).toEqual([])
    expect(await readGrants()).toEqual(before)
  })

  it('without the owner names what is missing, and what to do', async () => {
    await damage()
    const { username } = inject('logins').app
    const advice = 'Set DATABASE_OWNER_URL to the URL of the role that owns the tables'
    const lacked = `The role ${username} lacks privileges in the database: INSERT on events, INSERT on instances, INSERT on offers and 2 more. ${advice}`
    await expect(checkPrivileges(asApp)).rejects.toThrow(lacked)
    const started = startApp({ sharedApp: app, ownerUrl: urlAs('app', app.database.url) })
    await expect(started).rejects.toThrow(lacked)
    const repaired = await startApp({ sharedApp: app })
    await checkPrivileges(asApp)
    await repaired.close()
  })

  it('without the owner works if no migration is missing, and otherwise says who may migrate', async () => {
    const started = await startApp({ sharedApp: app, ownerUrl: urlAs('app', app.database.url) })
    await started.close()
    const mark = (time: string) =>
      app.sql(`UPDATE _prisma_migrations SET rolled_back_at = ${time} WHERE migration_name LIKE '%_statements'`)
    await mark('now()')
    const missing = startApp({ sharedApp: app, ownerUrl: urlAs('app', app.database.url) })
    await expect(missing).rejects.toThrow(
      'The role of the database URL may not migrate the database: permission denied for schema public. Set DATABASE_OWNER_URL',
    )
    await mark('NULL')
  })

  it('of a role that was granted nothing says so', async () => {
    const role = `berth_test_${randomBytes(6).toString('hex')}`
    await app.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'nothing'`)
    const url = Object.assign(new URL(app.database.url), { username: role, password: 'nothing' }).href
    const message = `The role ${role} lacks privileges in the database: SELECT on _prisma_migrations,`
    await expect(
      startApp({ sharedApp: app, databaseUrl: url, ownerUrl: urlAs('owner', app.database.url) }),
    ).rejects.toThrow(message)
    await expect(startApp({ sharedApp: app, databaseUrl: url, ownerUrl: url })).rejects.toThrow(
      'The role of the database URL may not migrate the database: permission denied for table _prisma_migrations.',
    )
    await app.sql(`DROP ROLE ${role}`)
  })

  it('leaves the rights of a role alone that owns the tables itself', async () => {
    await withSession(app.database.url, async session => {
      const { username } = inject('logins').owner
      await session.query(
        `BEGIN; REVOKE INSERT ON events FROM ${appRole}; GRANT ${username} TO ${appRole}; SET LOCAL ROLE ${username}`,
      )
      await grantPrivileges(session)
      const { rows } = await session.query<Grant>(grantsSql, [[appRole]])
      expect(rows.map(text)).not.toContain(`INSERT ON TABLE events TO ${appRole}`)
      await session.query('ROLLBACK')
    })
  })
})
