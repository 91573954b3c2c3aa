import { updateEpoch } from './database/history/epoch.ts'
import { editedMigrations, migrate, newerMigrations } from './database/migrations.ts'
import { retryUncertain } from './database/retry.ts'
import { checkPrivileges } from './database/roles/check.ts'
import type { Deps } from './services/deps.ts'
import { createSecretCheck } from './services/secret-check.ts'
import { sealWebhookUrls } from './services/webhooks/seal-urls.ts'

/** Migrates the database as the owner of its tables, and checks that this gateway fits it. The caller holds the migration lock. */
export async function prepareDatabase(deps: Deps, ownerUrl: string): Promise<void> {
  const { database, log } = deps
  const secretCheck = createSecretCheck(deps)
  const applied = await migrate(ownerUrl, () => retryUncertain(secretCheck.verify))
  await retryUncertain(() => checkPrivileges(database.pool))
  await retryUncertain(secretCheck.save)
  await retryUncertain(() => sealWebhookUrls(deps))
  if (applied.length > 0) log.info({ applied }, 'The database was migrated.')
  const newer = await newerMigrations(database.pool)
  if (newer.length > 0) log.info({ newer }, 'A newer version of Berth migrated the database. This one runs beside it.')
  const edited = await editedMigrations(database.pool)
  if (edited.length > 0) log.warn({ edited }, 'Migrations have been edited since they were applied.')
  const line = await updateEpoch(ownerUrl)
  if (line) log.warn(line, 'The database moved to another cluster. Event cursors have expired.')
}
