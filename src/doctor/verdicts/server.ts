// What the server of the database must be, whatever is in the database.

import { type Check, fail, ok, warn } from '../check.ts'
import { printBytes } from './disk.ts'

export type ServerFacts = {
  /** The database, without user and password. */
  database: string
  version: string
  versionNumber: number
  encoding: string
  isStandby: boolean
  bytes: number
}

/** Why no connection came about: the code of the failure, and what the server or the system said. */
export type ConnectFailure = { setting: string; database: string; code: string | undefined; message: string }

const oldestVersion = 15

export function checkServer({ database, version, versionNumber, encoding, isStandby, bytes }: ServerFacts): Check {
  const name = 'database'
  if (versionNumber < oldestVersion * 10_000)
    return fail(name, `PostgreSQL ${version} is too old for Berth.`, `Upgrade it to version ${oldestVersion} or newer.`)
  if (isStandby)
    return fail(name, `The database is a standby, which accepts no writes.`, 'Set DATABASE_URL to the primary.')
  if (encoding !== 'UTF8')
    return fail(
      name,
      `The database has the encoding ${encoding}, which cannot store all text.`,
      "Create it again with ENCODING 'UTF8' and TEMPLATE template0.",
    )
  return ok(name, `PostgreSQL ${version}, ${database}, ${printBytes(bytes)}.`)
}

export function checkConnectFailure({ setting, database, code, message }: ConnectFailure): Check {
  const found = `The database that ${setting} names (${database}) cannot be used: ${message.replace(/\.$/, '')}.`
  return fail('database', found, adviceFor(code, setting))
}

export function otherDatabase(setting: string): Check {
  return fail('database', `${setting} leads to another database than DATABASE_URL.`, 'Set both to the same database.')
}

function adviceFor(code = '', setting: string): string {
  if (['28P01', '28000'].includes(code)) return `Correct the user and the password in ${setting}, or pg_hba.conf.`
  if (code === '3D000') return `Create the database, or correct its name in ${setting}.`
  if (code === '42501') return `Let the role of ${setting} connect: GRANT CONNECT ON DATABASE.`
  if (code === '53300') return "Raise PostgreSQL's max_connections, or close connections of other programs."
  return `Start the database, or correct host and port in ${setting}.`
}

/** Settings of the server that make it lose what was committed. */
export type DurabilityFacts = { fsync: string; fullPageWrites: string; synchronousCommit: string }

export function checkDurability({ fsync, fullPageWrites, synchronousCommit }: DurabilityFacts): Check[] {
  const name = 'durability'
  const advice = (setting: string) => `Set ${setting} = on in postgresql.conf, and reload the server.`
  const checks = []
  if (fsync === 'off')
    checks.push(warn(name, 'fsync is off: if the computer crashes, the whole database may be lost.', advice('fsync')))
  if (fullPageWrites === 'off')
    checks.push(
      warn(name, 'full_page_writes is off: a crash of the computer may damage tables.', advice('full_page_writes')),
    )
  if (synchronousCommit === 'off')
    checks.push(
      warn(
        name,
        'synchronous_commit is off: a crash of the database loses rentals and credit of its last moments.',
        advice('synchronous_commit'),
      ),
    )
  return checks.length > 0 ? checks : [ok(name, 'What is committed survives a crash of the server.')]
}

export type UpkeepFacts = {
  autovacuum: string
  trackCounts: string
  walLevel: string
  isArchiveFailing: boolean
  /** Replication slots without a standby, for which the server keeps its WAL. */
  idleSlots: readonly { name: string; bytes: number }[]
}

/** A standby that restarts leaves less behind. */
const keptWalBytes = 1e9

export function checkUpkeep({ autovacuum, trackCounts, walLevel, isArchiveFailing, idleSlots }: UpkeepFacts): Check[] {
  const checks = []
  if (autovacuum === 'off' || trackCounts === 'off')
    checks.push(
      warn(
        'vacuum',
        'Autovacuum is off: tables grow, and searches slow down.',
        'Set autovacuum and track_counts to on.',
      ),
    )
  else checks.push(ok('vacuum', 'Autovacuum is on.'))
  if (walLevel === 'minimal')
    checks.push(
      warn('wal', 'wal_level is minimal: neither a standby nor a base backup is possible.', 'Set wal_level = replica.'),
    )
  if (isArchiveFailing)
    checks.push(
      warn(
        'wal',
        'The archive_command fails, so the WAL fills the disk.',
        'Mend what the log of PostgreSQL says of it.',
      ),
    )
  for (const { name, bytes } of idleSlots.filter(slot => slot.bytes > keptWalBytes))
    checks.push(
      warn(
        'wal',
        `The replication slot ${name} has no standby, and keeps ${printBytes(bytes)} of WAL on the disk.`,
        `Start its standby, or drop the slot with SELECT pg_drop_replication_slot('${name}').`,
      ),
    )
  return checks
}
