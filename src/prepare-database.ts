import { setTimeout as sleep } from 'node:timers/promises'
import { updateEpoch } from './database/history/epoch.ts'
import { editedMigrations, migrate, newerMigrations } from './database/migrations.ts'
import { retryUncertain } from './database/retry.ts'
import { checkPrivileges } from './database/roles/check.ts'
import type { Deps } from './services/deps.ts'
import { createSecretCheck, type SecretCheckDeps } from './services/sealing/check.ts'
import { sealWebhookUrls } from './services/webhooks/seal-urls.ts'

/** Migrates the database as the owner of its tables, and checks that this gateway fits it. The caller holds the migration lock. */
export async function prepareDatabase(deps: Deps & SecretCheckDeps, ownerUrl: string): Promise<void> {
  const { database, log } = deps
  const secretCheck = createSecretCheck(deps)
  const applied = await migrate(ownerUrl, () => retryUncertain(secretCheck.verify))
  await retryUncertain(() => checkPrivileges(database.pool))
  await retryUncertain(secretCheck.save)
  await retryUncertain(() => sealWebhookUrls(deps))
  if (applied.length > 0) log.info({ applied: applied.length, newest: applied.at(-1) }, 'The database was migrated.')
  const newer = await newerMigrations(database.pool)
  if (newer.length > 0) log.info({ newer }, 'A newer version of Berth migrated the database. This one runs beside it.')
  const edited = await editedMigrations(database.pool)
  if (edited.length > 0) log.warn({ edited }, 'Migrations have been edited since they were applied.')
  const line = await updateEpoch(ownerUrl)
  if (line) log.warn(line, 'The database moved to another cluster. Event cursors have expired.')
}

/** How long to wait for a database that does not answer. */
const pauseMs = 1_000

/**
 * Wraps what is called when this gateway begins to be told of changes, and when it no longer is. `secret change` works while no
 * gateway is told of changes, so a gateway that begins looks whether its secret is still that of the database.
 */
export function watchSecret(
  deps: SecretCheckDeps,
  setListening: (isListening: boolean) => void,
  onChangedSecret = () => {},
): (isListening: boolean) => void {
  const { isStillValid } = createSecretCheck(deps)
  let beginnings = 0
  return isListening => {
    setListening(isListening)
    beginnings += 1
    if (isListening) void look(beginnings)
  }

  /** Until the database answers, or the gateway no longer listens. */
  async function look(beginning: number): Promise<void> {
    while (beginning === beginnings) {
      const isValid = await isStillValid().catch(() => undefined)
      if (isValid === false) onChangedSecret()
      if (isValid !== undefined) return
      await sleep(pauseMs, undefined, { ref: false })
    }
  }
}
