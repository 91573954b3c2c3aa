// What a restore replaces, undoes and migrates. Each one runs all migrations.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeBackup } from '../../../src/database/backup/write.ts'
import { readRestored } from '../../support/backup/restored.ts'
import { type SmallBackup, takeSmallBackup } from '../../support/backup/small.ts'
import { createDatabase } from '../../support/database/database.ts'
import { migrateUntil } from '../../support/database/migrations.ts'
import { urlAs } from '../../support/database/roles.ts'
import { withSession } from '../../support/database/sessions.ts'

let small: SmallBackup
let { app, folder, file, empty, restore, withHeader } = {} as SmallBackup

beforeAll(async () => {
  small = await takeSmallBackup()
  ;({ app, folder, file, empty, restore, withHeader } = small)
})

afterAll(() => small.close())

it('replaces what a database has, whose cursors expire, too', async () => {
  await restore(empty)
  const epoch = await withSession(empty.url, async session => {
    await session.query(
      `UPDATE outbox SET epoch = 2000000000; UPDATE accounts SET email = 'eve@example.com' WHERE id = 1`,
    )
    return 2_000_000_000
  })
  // Cursors of what is replaced expire, too.
  expect((await restore(empty, file, { replace: true })).epoch).toBe(epoch + 1)
  expect((await readRestored(empty.url)).rows).toEqual((await readRestored(app.database.url)).rows)
})

it('leaves the database as it was if it fails at the end', async () => {
  const before = await readRestored(empty.url)
  const broken = await withHeader({ sequences: [{ name: 'no_such_sequence', lastValue: '7' }] })
  await expect(restore(empty, broken, { replace: true })).rejects.toThrow('no_such_sequence')
  expect(await readRestored(empty.url)).toEqual(before)
})

it('migrates a backup of an older version', async () => {
  const older = await createDatabase({ empty: true })
  const end = '20261126141200_operators_words'
  await migrateUntil(urlAs('owner', older.url), end)
  await withSession(older.url, session =>
    session.query(`INSERT INTO accounts (email, created_at) VALUES ('ada@example.com', now())`),
  )
  const from = join(folder, 'older.backup')
  await writeBackup(urlAs('owner', older.url), from)
  const { migrations } = await restore(older, from, { replace: true })
  expect(migrations[0]).toBe(end)
  await withSession(older.url, async session => {
    expect((await session.query('SELECT email, disabled_at FROM accounts')).rows).toEqual([
      { email: 'ada@example.com', disabled_at: null },
    ])
  })
  await older.drop()
})

it('takes a backup that does not say with which secret its tables are sealed', async () => {
  await restore(empty, await withHeader({ sealed: undefined }), { replace: true })
  const { objects } = await readRestored(app.database.url)
  const others = objects.filter(text => !text.includes('are_sealed_with_one_key'))
  expect(others.length).toBeLessThan(objects.length)
  expect((await readRestored(empty.url)).objects).toEqual(others)
})
