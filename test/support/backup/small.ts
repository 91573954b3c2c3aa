// A backup of a small database that has a bit of everything, and of time that went on.

import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBackupFile } from '../../../src/database/backup/file.ts'
import { restoreBackup } from '../../../src/database/backup/restore.ts'
import { writeBackup } from '../../../src/database/backup/write.ts'
import { openDatabase } from '../../../src/database/client.ts'
import { changeSecret } from '../../../src/services/sealing/change.ts'
import { startApp, type TestApp } from '../app.ts'
import { createDatabase, type TestDatabase } from '../database/database.ts'
import { urlAs } from '../database/roles.ts'
import { rentalsOf, someCredit } from '../instances/rentals.ts'

export type SmallBackup = Awaited<ReturnType<typeof takeSmallBackup>>

export async function takeSmallBackup() {
  const app = await startApp()
  const folder = await mkdtemp(join(tmpdir(), 'berth-backup-'))
  const file = join(folder, 'berth.backup')
  await rentalsOf(app).rent(await app.newKey(null, someCredit))
  await app.runUntilIdle()
  // As gateways do when time goes on. The first partition has gone, and the last one has no event yet.
  await app.sql('SELECT begin_event_partition()')
  await app.newKey(null, someCredit)
  await app.sql('SELECT begin_event_partition()')
  await app.sql('SELECT drop_event_partition()')
  await changeSecretOf(app)
  // The role of gateways can take a backup, while they run.
  const taken = await writeBackup(urlAs('app', app.database.url), file)
  const empty = await createDatabase({ empty: true })
  return {
    ...{ app, folder, file, taken, empty },
    /** Restores as the owner of the tables. */
    async restore(into: TestDatabase, from = file, options = { replace: false }) {
      const backup = await openBackupFile(from)
      return await restoreBackup(urlAs('owner', into.url), backup, { ...options, patienceMs: 300 }).finally(
        backup.close,
      )
    },
    /** Writes another file, which has the changed header of the backup. */
    async withHeader(change: object): Promise<string> {
      const bytes = await readFile(file)
      const end = bytes.indexOf('\n')
      const header = { ...JSON.parse(bytes.toString('utf8', 0, end)), ...change }
      const other = join(folder, 'other.backup')
      const content = Buffer.concat([Buffer.from(JSON.stringify(header)), bytes.subarray(end, -32)])
      await writeFile(other, Buffer.concat([content, createHash('sha256').update(content).digest()]))
      return other
    },
    async close() {
      await app.close()
      await empty.drop()
      await rm(folder, { recursive: true })
    },
  }
}

/** The database then refuses what other secrets seal. */
async function changeSecretOf({ database: { url }, clock }: TestApp): Promise<void> {
  const database = openDatabase({ url: urlAs('app', url), poolSize: 1, onIdleError: () => {}, now: clock.now })
  const secrets = { from: 'a secret of tests', to: 'a new secret of tests', endDerived: false }
  await changeSecret({ database, ownerUrl: urlAs('owner', url) }, secrets).finally(database.close)
}
