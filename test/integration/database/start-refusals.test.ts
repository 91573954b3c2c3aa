// A gateway that does not fit its database says so at start, and writes nothing.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { migrate } from '../../../src/database/migrations.ts'
import { createSecrets } from '../../../src/services/secrets.ts'
import { sealedColumns } from '../../../src/services/secrets-check.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { dumpOf } from '../../support/database/dump.ts'
import { berth, makeDataDir, run } from '../../support/processes/process.ts'

let app: TestApp
let folder: Awaited<ReturnType<typeof makeDataDir>>
const right = 'a secret of tests'
const wrong = 'another secret of tests'

beforeAll(async () => {
  app = await startApp()
  folder = await makeDataDir()
})

afterAll(async () => {
  await app.close()
  await folder.remove()
})

/** What another gateway on the database answers to being started; undefined when it starts. */
async function start(secret: string): Promise<string | undefined> {
  const started = await startApp({ beside: app, secret }).catch((error: Error) => error)
  if (started instanceof Error) return started.message
  await started.close()
  return undefined
}
const process = (BERTH_SECRET: string) =>
  run('src/main.ts', [], { BERTH_DATA_DIR: folder.dataDir, PORT: '0', DATABASE_URL: app.database.url, BERTH_SECRET })

describe('a schema of a newer version', () => {
  const newer = '20990101000000_newer'
  const message = `A newer version of Berth migrated the database: this version does not know its migration ${newer}. Upgrade Berth here.`
  const apply = (name: string, rolledBack = 'NULL') =>
    app.sql(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, rolled_back_at)
      VALUES ('${name}', '', '${name}', now(), ${rolledBack})`)

  beforeEach(() => app.sql("DELETE FROM _prisma_migrations WHERE migration_name LIKE '2099%'"))
  afterAll(() => app.sql("DELETE FROM _prisma_migrations WHERE migration_name LIKE '2099%'"))

  it('is refused by gateways and commands, which name its newest migration', async () => {
    await apply('20990101000000_a_first_one')
    await apply(newer)
    // Older migrations that the database lacks are not applied to it either.
    await app.sql("UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name LIKE '%_statements'")
    const before = await dumpOf(app.database.url)
    const gateway = process(right)
    expect([await gateway.exit, gateway.errors()]).toEqual([1, `Berth cannot start.\n${message}\n`])
    const env = { BERTH_DATA_DIR: folder.dataDir, DATABASE_URL: app.database.url }
    expect(await berth(env, 'account', 'list')).toEqual({ code: 1, result: '', errors: `${message}\n` })
    await expect(migrate(app.database.url)).rejects.toThrow(message)
    expect(await dumpOf(app.database.url)).toBe(before)
    await app.sql("UPDATE _prisma_migrations SET finished_at = now() WHERE migration_name LIKE '%_statements'")
  })

  it('leaves a gateway running that runs already', async () => {
    await apply(newer)
    expect((await app.fetch(new Request('http://berth.test/ready'))).status).toBe(200)
    expect((await app.rest(await app.newKey(), 'GET', '/users/current/')).status).toBe(200)
  })

  it('is no reason to refuse when its migration was rolled back', async () => {
    await apply(newer, 'now()')
    expect(await start(right)).toBeUndefined()
  })
})

describe('another secret', () => {
  const message =
    'The database was encrypted with another secret. Set BERTH_SECRET to the one that it was first started with. Without BERTH_SECRET, the file "secret" in BERTH_DATA_DIR is used.'

  const forget = () => app.sql('DELETE FROM secret_check')
  const unseal = () => app.sql('TRUNCATE secret_variables, idempotency_keys')
  const kept = () => app.sql('SELECT sealed FROM secret_check')

  it('is refused at start, and changes nothing', async () => {
    const before = await dumpOf(app.database.url)
    const gateway = process(wrong)
    expect([await gateway.exit, gateway.errors()]).toEqual([1, `Berth cannot start.\n${message}\n`])
    expect(await dumpOf(app.database.url)).toBe(before)
    expect(await start(right)).toBeUndefined()
  })

  it('is refused before the database is migrated', async () => {
    await app.sql("UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name LIKE '%_statements'")
    const before = await dumpOf(app.database.url)
    expect(await start(wrong)).toBe(message)
    expect(await dumpOf(app.database.url)).toBe(before)
    await app.sql("UPDATE _prisma_migrations SET finished_at = now() WHERE migration_name LIKE '%_statements'")
  })

  it.each([
    [
      'a secret variable',
      'mutation { setSecretVariables(input: { variables: [{ name: "A", value: "b" }] }) { __typename } }',
    ],
    ['a kept answer', 'mutation { createApiKey(input: { fullAccess: true, idempotencyKey: "once" }) { __typename } }'],
  ])('is refused by what an older version sealed: %s', async (_what, mutation) => {
    await unseal()
    const { data } = await app.graphql(await app.newKey(), mutation)
    expect(Object.values(data)).toEqual([{ __typename: expect.stringMatching(/Success$/) }])
    await forget()
    expect(await start(wrong)).toBe(message)
    expect(await kept()).toEqual([])
    expect(await start(right)).toBeUndefined()
    expect(await kept()).toHaveLength(1)
  })

  it('is told from the right one where gateways with two secrets sealed', async () => {
    await unseal()
    const mutation =
      'mutation { setSecretVariables(input: { variables: [{ name: "A", value: "b" }, { name: "C", value: "d" }] }) { __typename } }'
    await app.graphql(await app.newKey(), mutation)
    const sealed = createSecrets('a third secret of tests').seal('b').toString('hex')
    await app.sql(`UPDATE secret_variables SET value = '\\x${sealed}' WHERE name = 'A'`)
    await forget()
    expect(await start(wrong)).toBe(message)
    expect(await start(right)).toBeUndefined()
  })

  it('is taken where nothing was ever sealed, and then is the only one', async () => {
    await unseal()
    await forget()
    const [one, other] = await Promise.all([start(right), start(wrong)])
    expect([one, other].toSorted()).toEqual([message, undefined])
    const [row] = (await kept()) as { sealed: Buffer }[]
    const winner = one === undefined ? right : wrong
    expect(createSecrets(winner).open(row?.sealed as Buffer)).toBe('berth')
    await expect(app.sql("INSERT INTO secret_check VALUES (false, '')")).rejects.toMatchObject({ code: '23514' })
    await forget()
  })

  it('is looked for in every column that is sealed', async () => {
    const columns = await app.sql(`SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name NOT LIKE '%hash'`)
    const names = (columns as { name: string }[]).map(({ name }) => name)
    expect(names.toSorted()).toEqual([...sealedColumns.map(names => names.join('.')), 'secret_check.sealed'].toSorted())
  })
})
