// A gateway that does not fit its database refuses to start, and writes nothing.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { migrate } from '../../../src/database/migrations.ts'
import { sealedColumns } from '../../../src/services/sealing/check.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { dumpDatabase } from '../../support/database/dump.ts'
import { makeDataDir, runBerth, spawnProgram } from '../../support/processes/programs.ts'

let app: TestApp
let folder: Awaited<ReturnType<typeof makeDataDir>>
const rightSecret = 'a secret of tests'
const wrongSecret = 'another secret of tests'

beforeAll(async () => {
  app = await startApp()
  folder = await makeDataDir()
})

afterAll(async () => {
  await app.close()
  await folder.remove()
})

/** Starts another gateway on the database. Returns its error, or undefined if it starts. */
async function startError(secret: string): Promise<string | undefined> {
  const started = await startApp({ sharedApp: app, secret }).catch((error: Error) => error)
  if (started instanceof Error) return started.message
  await started.close()
  return undefined
}
const spawnGateway = (BERTH_SECRET: string) =>
  spawnProgram('src/main.ts', [], {
    BERTH_DATA_DIR: folder.dataDir,
    PORT: '0',
    DATABASE_URL: app.database.url,
    BERTH_SECRET,
  })

describe('a schema of a newer version', () => {
  const newer = '20990101000000_newer'
  const message = (migration: string) =>
    `A newer version of Berth migrated the database, and this one is too old to run beside it: it does not know the migration ${migration}. Upgrade Berth here.`
  const recordMigration = (name: string, rolledBack = 'NULL') =>
    app.sql(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, rolled_back_at)
      VALUES ('${name}', '', '${name}', now(), ${rolledBack})`)
  const setOldest = (name: string) => app.sql('UPDATE oldest_version SET migration = $1', [name])
  let ownOldest: string

  beforeAll(async () => {
    const [row] = (await app.sql('SELECT migration FROM oldest_version')) as { migration: string }[]
    ownOldest = row?.migration ?? ''
  })
  afterEach(async () => {
    await app.sql("DELETE FROM _prisma_migrations WHERE checksum = ''")
    await app.sql('UPDATE _prisma_migrations SET rolled_back_at = NULL')
    await setOldest(ownOldest)
  })

  it('is refused by gateways and commands that do not know what it needs, with that migration in the message', async () => {
    await recordMigration(newer)
    await recordMigration('20990102000000_newest')
    await setOldest(newer)
    const before = await dumpDatabase(app.database.url)
    const gateway = spawnGateway(rightSecret)
    expect([await gateway.exit, gateway.errors()]).toEqual([1, `Berth cannot start.\n${message(newer)}\n`])
    const env = { BERTH_DATA_DIR: folder.dataDir, DATABASE_URL: app.database.url }
    expect(await runBerth(env, 'account', 'list')).toEqual({ code: 1, result: '', errors: `${message(newer)}\n` })
    await expect(migrate(app.database.url)).rejects.toThrow(message(newer))
    expect(await dumpDatabase(app.database.url)).toBe(before)
  }, 120_000)

  it('is no obstacle if it took nothing away: its grants stay, and the log says so', async () => {
    await recordMigration(newer)
    await app.sql('GRANT DELETE ON accounts TO berth_app')
    const other = await startApp({ sharedApp: app })
    expect(other.logLines).toContainEqual(expect.objectContaining({ level: 30, newer: [newer] }))
    expect((await other.rest(await app.newKey(), 'GET', '/users/current/')).status).toBe(200)
    expect(await app.sql("SELECT has_table_privilege('berth_app', 'accounts', 'DELETE') AS kept")).toEqual([
      { kept: true },
    ])
    await other.close()
    await app.sql("DELETE FROM _prisma_migrations WHERE checksum = ''")
    expect(await startError(rightSecret)).toBeUndefined()
    expect(await app.sql("SELECT has_table_privilege('berth_app', 'accounts', 'DELETE') AS kept")).toEqual([
      { kept: false },
    ])
  })

  it('is refused if this version would have to apply an older migration, or knows a later one', async () => {
    await recordMigration(newer)
    await app.sql("UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name LIKE '%_statements'")
    expect(await startError(rightSecret)).toBe(message(newer))
    await app.sql(
      "DELETE FROM _prisma_migrations WHERE checksum = ''; UPDATE _prisma_migrations SET rolled_back_at = NULL",
    )
    await recordMigration('20260101000000_of_another_history')
    expect(await startError(rightSecret)).toBe(message('20260101000000_of_another_history'))
  })

  it('is refused if it has no rule, as in a database that another program made', async () => {
    await recordMigration(newer)
    await app.sql('ALTER TABLE oldest_version RENAME TO hidden')
    expect(await startError(rightSecret)).toBe(message(newer))
    await app.sql('ALTER TABLE hidden RENAME TO oldest_version')
  })

  it('does not stop a running gateway', async () => {
    await recordMigration(newer)
    expect((await app.fetch(new Request('http://berth.test/ready'))).status).toBe(200)
    expect((await app.rest(await app.newKey(), 'GET', '/users/current/')).status).toBe(200)
  })

  it('is no obstacle if its migration was rolled back', async () => {
    await recordMigration(newer, 'now()')
    expect(await startError(rightSecret)).toBeUndefined()
  })
})

describe('another secret', () => {
  const message =
    'The database was encrypted with another secret. Set BERTH_SECRET to that secret. Without BERTH_SECRET, Berth uses the file "secret" in BERTH_DATA_DIR. If "secret change" was interrupted, run it again.'

  const deleteSecretCheck = () => app.sql('DELETE FROM secret_check')
  const deleteSealedRows = () => app.sql('TRUNCATE secret_variables, idempotency_keys')
  const readSecretCheck = () => app.sql('SELECT sealed FROM secret_check')

  it('is refused at start, and changes nothing', async () => {
    const before = await dumpDatabase(app.database.url)
    const gateway = spawnGateway(wrongSecret)
    expect([await gateway.exit, gateway.errors()]).toEqual([1, `Berth cannot start.\n${message}\n`])
    expect(await dumpDatabase(app.database.url)).toBe(before)
    expect(await startError(rightSecret)).toBeUndefined()
  })

  it('is refused before the database is migrated', async () => {
    await app.sql("UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name LIKE '%_statements'")
    const before = await dumpDatabase(app.database.url)
    expect(await startError(wrongSecret)).toBe(message)
    expect(await dumpDatabase(app.database.url)).toBe(before)
    await app.sql("UPDATE _prisma_migrations SET rolled_back_at = NULL WHERE migration_name LIKE '%_statements'")
  })

  it.each([
    [
      'a secret variable',
      'mutation { updateSecretVariables(input: { variables: [{ name: "A", value: "b" }] }) { __typename } }',
    ],
    [
      'a stored answer',
      'mutation { createApiKey(input: { fullAccess: true, idempotencyKey: "once" }) { __typename } }',
    ],
  ])('is refused because of a value that an older version sealed: %s', async (_what, mutation) => {
    await deleteSealedRows()
    const { data } = await app.graphql(await app.newKey(), mutation)
    expect(Object.values(data)).toEqual([{ __typename: expect.stringMatching(/Success$/) }])
    await deleteSecretCheck()
    expect(await startError(wrongSecret)).toBe(message)
    expect(await readSecretCheck()).toEqual([])
    expect(await startError(rightSecret)).toBeUndefined()
    expect(await readSecretCheck()).toHaveLength(1)
  })

  it('is refused, unlike the right secret, if gateways with two secrets sealed values', async () => {
    await deleteSealedRows()
    const mutation =
      'mutation { updateSecretVariables(input: { variables: [{ name: "A", value: "b" }, { name: "C", value: "d" }] }) { __typename } }'
    await app.graphql(await app.newKey(), mutation)
    const sealed = createSecrets('a third secret of tests').seal('b').toString('hex')
    await app.sql(`UPDATE secret_variables SET value = '\\x${sealed}' WHERE name = 'A'`)
    await deleteSecretCheck()
    expect(await startError(wrongSecret)).toBe(message)
    expect(await startError(rightSecret)).toBeUndefined()
  })

  it('is accepted if no value was ever sealed, and is then the only valid secret', async () => {
    await deleteSealedRows()
    await deleteSecretCheck()
    const [one, other] = await Promise.all([startError(rightSecret), startError(wrongSecret)])
    expect([one, other].toSorted()).toEqual([message, undefined])
    const [row] = (await readSecretCheck()) as { sealed: Buffer }[]
    const winner = one === undefined ? rightSecret : wrongSecret
    expect(createSecrets(winner).open(row?.sealed as Buffer)).toBe('berth')
    await expect(app.sql("INSERT INTO secret_check VALUES (false, '')")).rejects.toMatchObject({ code: '23514' })
    await deleteSecretCheck()
  })

  it('is checked against every sealed column', async () => {
    const columns = await app.sql(`SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name NOT LIKE '%hash'`)
    const names = (columns as { name: string }[]).map(({ name }) => name)
    expect(names.toSorted()).toEqual([...sealedColumns.map(names => names.join('.')), 'secret_check.sealed'].toSorted())
  })
})
