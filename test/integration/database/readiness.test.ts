// A gateway whose database lacks what this version needs gets no requests.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newestMigration } from '../../../src/database/history/versions.ts'
import { startApp, type TestApp } from '../../support/app.ts'

let app: TestApp

beforeAll(async () => {
  app = await startApp()
})

afterAll(() => app.close())

async function readReadiness() {
  const response = await app.fetch(new Request('http://berth.test/ready'))
  return [response.status, await response.json()]
}

describe('/ready', () => {
  const ready = [200, { status: 'ready' }]
  afterEach(async () => {
    expect(await readReadiness()).toEqual(ready)
  })

  it('answers 503 while the database has no tables, as between the two halves of a restore', async () => {
    expect(await readReadiness()).toEqual(ready)
    await app.sql('ALTER SCHEMA public RENAME TO away; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC')
    expect(await readReadiness()).toEqual([503, { status: "the database lacks Berth's tables" }])
    await app.sql('DROP SCHEMA public; ALTER SCHEMA away RENAME TO public')
  })

  it.each([
    ['missing', "migration_name = 'another'"],
    ['begun and not finished', 'finished_at = NULL'],
    ['rolled back', 'rolled_back_at = now()'],
  ])('answers 503 while the newest migration is %s', async (_what, change) => {
    const [row] = (await app.sql(`UPDATE _prisma_migrations SET ${change} WHERE migration_name = $1 RETURNING id`, [
      newestMigration,
    ])) as { id: string }[]
    expect(await readReadiness()).toEqual([503, { status: 'the database lacks migrations of this version' }])
    await app.sql(
      'UPDATE _prisma_migrations SET migration_name = $1, finished_at = now(), rolled_back_at = NULL WHERE id = $2',
      [newestMigration, row?.id],
    )
  })

  it('answers 503 while the role of the gateway may not read the tables', async () => {
    await app.sql('REVOKE SELECT ON _prisma_migrations FROM berth_app')
    expect(await readReadiness()).toEqual([503, { status: 'the role of DATABASE_URL may not read the tables' }])
    await app.sql('GRANT SELECT ON _prisma_migrations TO berth_app')
  })

  it('stays 200 beside the migrations of a newer version', async () => {
    await app.sql(
      "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', '', '20990101000000_newer', now())",
    )
    expect(await readReadiness()).toEqual(ready)
  })
})
