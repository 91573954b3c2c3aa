// The settings of the database.

import { createHash } from 'node:crypto'
import { z } from 'zod'

export const databaseUrl = {
  must: 'a URL that begins with postgresql:// and names no schema: Berth uses the schema public of the database',
  schema: z.string().regex(/^postgres(ql)?:\/\/(?!.*[?&]schema=)/),
}

const roleSettings = ['DATABASE_OWNER_URL', 'DATABASE_METRICS_URL'] as const

/** The embedded database has URLs of its own for the roles. */
export function databaseProblems(
  given: { [Name in 'DATABASE_URL' | (typeof roleSettings)[number]]?: string },
): string[] {
  if (given.DATABASE_URL !== undefined) return []
  return roleSettings.flatMap(name =>
    given[name] === undefined ? [] : [`${name} needs DATABASE_URL, which is not set.`],
  )
}

/**
 * An API key works in one database, and a data folder may serve several. The name leaves out the URL's user and
 * password, which do not distinguish databases.
 */
export function demoKeyFileName(databaseUrl: string | undefined): string {
  if (databaseUrl === undefined) return 'demo-key'
  const [, database = ''] = /^postgres(?:ql)?:\/\/(?:[^/]*@)?(.*)$/.exec(databaseUrl) ?? []
  return `demo-key-${createHash('sha256').update(database).digest('hex').slice(0, 12)}`
}
