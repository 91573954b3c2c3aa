// Which versions of Berth may use a database at the same time: see docs/upgrading.md. Migrations have an order, so the newest
// one that a version has tells versions apart.

import { readdirSync } from 'node:fs'
import type pg from 'pg'
import { errorCodesOf } from '../failure-codes.ts'

export const migrationsFolder = new URL('../../../prisma/migrations/', import.meta.url)

/** The names of this version's migrations, oldest first. */
export const migrationNames: readonly string[] = readdirSync(migrationsFolder, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name)
  .sort()

export const newestMigration = migrationNames.at(-1) as string

/** The digits at the beginning of a migration's name are its time. */
const timeOf = (migration: string) => migration.slice(0, 14)

/** The name of a gateway's or command's connections, by which other versions know this one. */
export const sessionName = `berth ${timeOf(newestMigration)}`

type Queryable = pg.ClientBase | pg.Pool
/** The migrations that only the database has, and those that only this version has. */
type Difference = { newer: readonly string[]; pending: readonly string[] }

/** Throws unless this version may run beside the one that applied the newer migrations. */
export async function refuseNewerVersion(client: Queryable, { newer, pending }: Difference): Promise<void> {
  const oldest = await readOldestVersion(client)
  if (oldest !== undefined && oldest > newestMigration) throw tooOldError(oldest)
  const isOtherHistory = pending.length > 0 || newer.some(name => name < newestMigration)
  if (oldest === undefined || isOtherHistory) throw tooOldError(newer.at(-1) as string)
}

/** Throws on a new connection of a gateway that was cut off while a newer version took away what it needs. */
export async function refuseTooOld(client: Queryable): Promise<void> {
  const oldest = await readOldestVersion(client)
  // The code of a database that refuses writes: the gateway is not ready, and tries again.
  if (oldest !== undefined && oldest > newestMigration) throw Object.assign(tooOldError(oldest), { code: '25006' })
}

function tooOldError(missing: string): Error {
  return new Error(
    `A newer version of Berth migrated the database, and this one is too old to run beside it: it does not know the migration ${missing}. Upgrade Berth here.`,
  )
}

/** Throws if a version runs that is older than a migration of this transaction allows. */
export async function refuseOlderSessions(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ running: string | null; oldest: string }>(olderSql)
  const [found] = rows
  if (!found?.running) return
  throw new Error(
    `a gateway or command of an older version uses the database, and would fail without what this takes away. It knows the migrations up to ${found.running}. Upgrade it to a version that knows ${found.oldest}, or stop it; then start again.`,
  )
}

/** Undefined in a database that was migrated before there were such rules, or without the right to read them yet. */
async function readOldestVersion(client: Queryable): Promise<string | undefined> {
  try {
    const { rows } = await client.query<{ migration: string }>('SELECT migration FROM oldest_version')
    return rows[0]?.migration
  } catch (error) {
    if (errorCodesOf(error).some(code => code === '42P01' || code === '42501')) return undefined
    throw error
  }
}

/** Every role sees the names of all connections. */
const olderSql = `
  SELECT (SELECT min(substr(application_name, 7)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name ~ '^berth \\d{14}$'
    AND substr(application_name, 7) < left(o.migration, 14)) AS running, o.migration AS oldest
  FROM oldest_version o`
