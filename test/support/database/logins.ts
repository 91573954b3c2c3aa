// The roles of tests: gateways connect as one that may only do what gateways need, to databases of another that owns them.

import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { appRole, metricsRole } from '../../../src/database/roles/privileges.ts'

/** The user and the password of each role. */
export type TestLogins = Record<'owner' | 'app' | 'metrics', { username: string; password: string }>

export function makeLogins(): TestLogins {
  const login = (kind: string) => {
    return { username: `berth_test_${kind}_${process.pid}`, password: randomBytes(12).toString('hex') }
  }
  return { owner: login('owner'), app: login('app'), metrics: login('metrics') }
}

/** Creates the roles on a server. On one of Berth's own, those that gateways use exist. */
export async function createRoles(admin: pg.Client, { owner, app, metrics }: TestLogins): Promise<void> {
  for (const role of [appRole, metricsRole])
    await admin.query(`DO $$ BEGIN IF to_regrole('${role}') IS NULL THEN CREATE ROLE ${role}; END IF; END $$`)
  await admin.query(`GRANT pg_read_all_stats TO ${metricsRole}`)
  await admin.query(`CREATE ROLE ${owner.username} LOGIN PASSWORD '${owner.password}'`)
  for (const [{ username, password }, role] of [
    [app, appRole],
    [metrics, metricsRole],
  ] as const)
    await admin.query(`CREATE ROLE ${username} LOGIN PASSWORD '${password}' IN ROLE ${role}`)
}

/** Drops the tests' own roles. A test that failed may have left a database, whose owner stays. */
export async function dropRoles(admin: pg.Client, logins: TestLogins): Promise<void> {
  for (const { username } of Object.values(logins)) await admin.query(`DROP ROLE IF EXISTS ${username}`).catch(() => {})
}

export function withLogin(url: string, login: TestLogins[keyof TestLogins]): string {
  return Object.assign(new URL(url), login).href
}
