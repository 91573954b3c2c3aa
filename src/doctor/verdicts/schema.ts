// Whether the tables fit this version, and the roles may do what they must.

import { type Check, fail, failAs, ok, warn } from '../check.ts'

export type SchemaFacts = {
  /** Why the recorded migrations do not fit this version; undefined if they do. */
  problem: string | undefined
  pending: readonly string[]
  /** Migrations of a newer version, beside which this one may run. */
  newer: readonly string[]
  edited: readonly string[]
  /** Whether the role of the owner's URL may migrate. */
  mayMigrate: boolean
}

export function checkSchema({ problem, pending, newer, edited, mayMigrate }: SchemaFacts): Check[] {
  const name = 'migrations'
  if (problem !== undefined) return [failAs(name, problem, 'Run "database migrate" with DATABASE_OWNER_URL.')]
  const edits = edited.map(migration =>
    warn(
      name,
      `The migration ${migration} is another text than when it was applied.`,
      'Install the files of prisma/migrations again as they were released.',
    ),
  )
  if (newer.length > 0)
    return [
      warn(
        name,
        'A newer version of Berth has migrated the database, and this one may still run beside it.',
        'Upgrade Berth here before the next version comes.',
      ),
      ...edits,
    ]
  if (pending.length === 0) return [ok(name, 'The tables are those of this version.'), ...edits]
  const found = `The database lacks ${pending.length} ${pending.length === 1 ? 'migration' : 'migrations'} of this version, from ${pending[0]} on.`
  return [
    mayMigrate
      ? warn(name, found, 'Run "database migrate", or start a gateway, which does the same.')
      : fail(name, found, 'Run "database migrate" with DATABASE_OWNER_URL, the URL of the role that owns the tables.'),
    ...edits,
  ]
}

export type RolesFacts = {
  role: string
  /** Whether the role of DATABASE_URL may change every table, as their owner may. */
  ownsTables: boolean
  /** What the role of DATABASE_URL lacks; undefined if it lacks nothing. */
  problem: string | undefined
  /** Columns that the role of DATABASE_METRICS_URL may not read. */
  unreadable: readonly string[]
}

export function checkRoles({ role, ownsTables, problem, unreadable }: RolesFacts): Check[] {
  const checks = []
  if (problem !== undefined) checks.push(failAs('roles', problem, 'Run "database migrate" as the owner of the tables.'))
  else if (ownsTables)
    checks.push(
      warn(
        'roles',
        `The role ${role} of DATABASE_URL owns the tables, so a gateway could change the ledger.`,
        'Create the roles that docs/operating.md shows under "Roles of the database", and set DATABASE_OWNER_URL.',
      ),
    )
  else checks.push(ok('roles', `The role ${role} may do what gateways need, and does not own the tables.`))
  if (unreadable.length > 0)
    checks.push(
      fail(
        'roles',
        `The role of DATABASE_METRICS_URL may not read ${unreadable.slice(0, 3).join(', ')}.`,
        'Make it a member of berth_metrics, and run "database migrate" as the owner of the tables.',
      ),
    )
  return checks
}
