// Backs up and restores the database, and upgrades the one in the data folder, for commands.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { openBackupFile } from './database/backup/file.ts'
import type { Header } from './database/backup/header.ts'
import { laterMigrations, restoreBackup } from './database/backup/restore.ts'
import { writeBackup } from './database/backup/write.ts'
import type { EmbeddedOptions } from './database/embedded/embedded.ts'
import { openServer } from './database/embedded/server.ts'
import { upgradeDatabase } from './database/embedded/upgrade.ts'
import { readMigrations } from './database/migrations.ts'
import type { LocalOperations } from './operator/command.ts'
import { createSecrets } from './services/secrets.ts'

type Options = {
  readConfig(): Config
  onLost: EmbeddedOptions['onLost']
  /** Tells the operator which database the command works on. */
  nameDatabase(config: Config): void
}

export function createBackups({ readConfig, onLost, nameDatabase }: Options): LocalOperations['backups'] {
  async function withOwner<Result>(role: EmbeddedOptions['role'], work: (ownerUrl: string) => Promise<Result>) {
    const config = readConfig()
    const { dataDir, runAs } = config
    nameDatabase(config)
    const server = await openServer(config, { dataDir, role, runAs, onLost })
    return await work(server.urls.ownerUrl).finally(server.release)
  }

  return {
    write: file => withOwner('command', ownerUrl => writeBackup(ownerUrl, file)),
    async restore(file, options) {
      const backup = await openBackupFile(file)
      try {
        await checkSecret(readConfig(), backup.header)
        return await withOwner('restore', ownerUrl => restoreBackup(ownerUrl, backup, options))
      } finally {
        await backup.close()
      }
    },
    async check(file) {
      const backup = await openBackupFile(file)
      await backup.close()
      await checkSecret(readConfig(), backup.header)
      const { takenAt, postgres, tables, secretCheck } = backup.header
      const migrations = laterMigrations(backup, await readMigrations()).map(({ name }) => name)
      return { takenAt, postgres, tables: tables.length, migrations, secret: secretCheck === null ? 'none' : 'fits' }
    },
    async upgrade(programs) {
      const config = readConfig()
      const { dataDir, runAs, databaseUrl } = config
      if (databaseUrl !== undefined)
        throw new Error(
          'upgrade-database is for the PostgreSQL that Berth brings along, and DATABASE_URL names another. Upgrade that with its own programs, or restore a backup into a newer one.',
        )
      nameDatabase(config)
      return await upgradeDatabase({ dataDir, runAs, onLost, programs })
    },
  }
}

/** Refuses a backup whose sealed values the gateways could not open. */
async function checkSecret({ secret, databaseUrl, dataDir }: Config, { secretCheck }: Header): Promise<void> {
  if (secretCheck === null) return
  const file = join(dataDir, 'secret')
  const kept = secret ?? (databaseUrl === undefined ? await readFile(file, 'utf8').catch(() => undefined) : undefined)
  const advice = `Set BERTH_SECRET to the secret that the backup was made with${databaseUrl === undefined ? `, or put its file "secret" into ${dataDir}` : ''}.`
  if (kept === undefined) throw new Error(`There is no secret. ${advice}`)
  try {
    createSecrets(kept).open(Buffer.from(secretCheck, 'base64'))
  } catch {
    throw new Error(`The backup was made with another secret. ${advice}`)
  }
}
