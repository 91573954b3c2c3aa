import { open, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBackups } from '../../../../src/backups.ts'
import { parseConfig } from '../../../../src/config.ts'
import { openBackupFile } from '../../../../src/database/backup/file.ts'
import { restoreBackup } from '../../../../src/database/backup/restore.ts'
import { writeBackup } from '../../../../src/database/backup/write.ts'
import { createEpochCheck } from '../../../../src/database/history/epoch.ts'
import { locks } from '../../../../src/database/locks.ts'
import { readMigrations } from '../../../../src/database/migrations.ts'
import { appTables } from '../../../../src/database/roles/privileges.ts'
import { readRestored } from '../../../support/backup/restored.ts'
import { type SmallBackup, takeSmallBackup } from '../../../support/backup/small.ts'
import { createDatabase } from '../../../support/database/database.ts'
import { urlAs } from '../../../support/database/roles.ts'
import { waitForLockWaiters, withSession } from '../../../support/database/sessions.ts'

let small: SmallBackup
let { app, folder, file, taken, empty, restore, withHeader } = {} as SmallBackup

beforeAll(async () => {
  small = await takeSmallBackup()
  ;({ app, folder, file, taken, empty, restore, withHeader } = small)
})

afterAll(() => small.close())

describe('a backup', () => {
  it('is a file for its owner alone, and replaces nothing but a backup', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(taken).toMatchObject({ file, bytes: (await stat(file)).size })
    const again = await writeBackup(urlAs('owner', app.database.url), file)
    expect(again.rows).toBe(taken.rows)
    const notes = join(folder, 'notes.txt')
    await writeFile(notes, 'mine')
    await expect(writeBackup(urlAs('app', app.database.url), notes)).rejects.toThrow(
      `The backup cannot be written to ${notes}: the file exists already, and is no backup.`,
    )
    expect(await readFile(notes, 'utf8')).toBe('mine')
    await expect(writeBackup(urlAs('app', app.database.url), join(folder, 'none/file'))).rejects.toThrow('ENOENT')
    expect((await readdir(folder)).filter(name => name.endsWith('.part'))).toEqual([])
  })

  it('has every table of the schema', async () => {
    const { header, close } = await openBackupFile(file)
    await close()
    const tables = appTables.flatMap(group => group.tables).filter(name => name !== '_prisma_migrations')
    expect(header.tables.map(({ name }) => name)).toEqual(tables.toSorted())
    expect(header.migrations).toEqual((await readMigrations()).map(({ name }) => name))
  })

  it('is checked without a database, together with the secret', async () => {
    const check = (from: string, secret: string) => {
      const settings = parseConfig({ DATABASE_URL: 'postgresql://nowhere.invalid/berth', BERTH_SECRET: secret })
      const options = { onLost: () => expect.unreachable(), nameDatabase: () => expect.unreachable() }
      return createBackups({ ...options, readConfig: () => settings }).check(from)
    }
    const { tables } = taken
    const found = {
      takenAt: expect.stringMatching(/Z$/),
      tables,
      postgres: expect.stringMatching(/^18\./),
      migrations: [],
      secret: 'fits',
    }
    expect(await check(file, 'a new secret of tests')).toEqual(found)
    await expect(check(file, 'another secret of tests')).rejects.toThrow('The backup was made with another secret.')
    const damaged = join(folder, 'damaged.backup')
    await writeFile(damaged, (await readFile(file)).subarray(0, -1))
    await expect(check(damaged, 'a new secret of tests')).rejects.toThrow(`${damaged} is damaged`)
    const newer = await withHeader({ migrations: ['29990101000000_later'] })
    await expect(check(newer, 'a new secret of tests')).rejects.toThrow('A newer version of Berth made the backup')
  })

  it('waits for a migration, and lets none begin', async () => {
    await withSession(app.database.url, async session => {
      await session.query('SELECT pg_advisory_lock(72707369)')
      const waiting = writeBackup(urlAs('app', app.database.url), file)
      await waitForLockWaiters(session)
      await session.query('SELECT pg_advisory_unlock(72707369)')
      expect((await waiting).rows).toBe(taken.rows)
    })
  })

  it('of a database without tables is refused', async () => {
    await expect(writeBackup(urlAs('owner', empty.url), file)).rejects.toThrow('nothing to back up')
  })
})

describe('a restore', () => {
  it('brings everything back, on a new line of history', async () => {
    const before = await readRestored(app.database.url)
    const restored = await restore(empty)
    expect(restored).toMatchObject({ takenAt: expect.any(String), rows: taken.rows, migrations: [] })
    const after = await readRestored(empty.url)
    expect(after.rows).toEqual(before.rows)
    expect(after.objects).toEqual(before.objects)
    expect(after.grants).toEqual(before.grants)
    await withSession(empty.url, async session => {
      const ask = async (text: string) => (await session.query(text)).rows[0]
      const { header, close } = await openBackupFile(file)
      await close()
      expect(await ask('SELECT * FROM failovers')).toMatchObject({
        ...{ epoch: restored.epoch, restored: true, witnessed: false, complete_until: new Date(header.takenAt) },
      })
      expect(await ask('SELECT epoch FROM outbox')).toEqual({ epoch: restored.epoch })
      expect(await ask('SELECT count(*)::int FROM instance_looks WHERE due_at <= now()')).toEqual({ count: 1 })
      expect(await ask('SELECT min(id) >= 1000000000 AS later FROM events')).toEqual({ later: true })
      expect(await ask(`SELECT nextval('events_id_seq') >= 2000000000 AS later`)).toEqual({ later: true })
    })
  })

  it('is no fail-over to a gateway that was cut off meanwhile', async () => {
    await withSession(empty.url, async session => {
      const { check } = createEpochCheck()
      await check(session)
      await session.query('UPDATE outbox SET epoch = epoch + 1; UPDATE failovers SET epoch = epoch + 1')
      await check(session)
      expect((await session.query('SELECT restored, witnessed FROM failovers')).rows).toEqual([
        { restored: true, witnessed: false },
      ])
    })
  })

  it('refuses a database that is in use', async () => {
    const url = Object.assign(new URL(empty.url), { search: '?application_name=berth+wake-ups' }).href
    await withSession(url, async () => {
      await expect(restore(empty, file, { replace: true })).rejects.toThrow(
        'Gateways or commands use the database: 1 connections (berth wake-ups). Stop them first, then restore.',
      )
    })
  })

  it('refuses a database that has accounts', async () => {
    await expect(restore(empty)).rejects.toThrow(
      /^The database is not empty \(accounts: 3, instances: 1\)\. With --replace, Berth deletes all of it, and puts the backup of 20\d\d-\S+Z in its place\.$/,
    )
  })

  it('lets no gateway start meanwhile', async () => {
    await withSession(empty.url, async session => {
      await session.query('SELECT pg_advisory_lock($1)', [locks.migration])
      const waiting = restore(empty)
      await waitForLockWaiters(session)
      await session.query('SELECT pg_advisory_unlock($1)', [locks.migration])
      await expect(waiting).rejects.toThrow('is not empty')
    })
  })

  it('refuses tables of another program', async () => {
    const other = await createDatabase({ empty: true })
    await withSession(other.url, session => session.query('CREATE TABLE mine (id int)'))
    await expect(restore(other, file, { replace: true })).rejects.toThrow(
      'The database has tables that are not from Berth. Restore into a database of its own.',
    )
    await other.drop()
  })

  it('names the setting to a role that may not make tables', async () => {
    const other = await createDatabase({ empty: true })
    const backup = await openBackupFile(file)
    const restoring = restoreBackup(urlAs('app', other.url), backup, { replace: false })
    await expect(restoring.finally(backup.close)).rejects.toThrow('Set DATABASE_OWNER_URL')
    await other.drop()
  })
})

describe('a file', () => {
  it('that was changed anywhere is refused', async () => {
    const other = join(folder, 'damaged.backup')
    const { size } = await stat(file)
    for (const at of [size - 1, size - 40, Math.floor(size / 2), 30]) {
      await writeFile(other, await readFile(file))
      const handle = await open(other, 'r+')
      const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, at)
      await handle.write(Buffer.from([(buffer[0] as number) ^ 4]), 0, 1, at)
      await handle.close()
      await expect(openBackupFile(other)).rejects.toThrow(/is damaged|is no backup/)
    }
    for (const length of [size - 1, Math.floor(size / 2), 40, 0]) {
      await writeFile(other, await readFile(file))
      await truncate(other, length)
      await expect(openBackupFile(other)).rejects.toThrow(/is damaged|is no backup/)
    }
  })

  it.each([
    ['version', { version: 2 }, 'A newer version of Berth wrote'],
    ['format', { format: 'other' }, 'is no backup of Berth.'],
    [
      'migrations',
      { migrations: ['20990101000000_later'] },
      'this version does not know its migration 20990101000000_later',
    ],
  ])('with an unknown %s is refused', async (_, change, message) => {
    await expect(restore(empty, await withHeader(change))).rejects.toThrow(message)
  })
})
