// The settings of the database.

import { z } from 'zod'

export const databaseUrl = {
  must: 'a URL that begins with postgresql:// and names no schema: Berth uses the schema public of the database',
  schema: z.string().regex(/^postgres(ql)?:\/\/(?!.*[?&]schema=)/),
}

const ownSettings = [
  'DATABASE_DIRECT_URL',
  'DATABASE_OWNER_URL',
  'DATABASE_METRICS_URL',
  'DATABASE_REPLICA_URL',
] as const
export const databaseSettings = ['DATABASE_URL', ...ownSettings] as const

/** The embedded database has roles of its own, and no standby. */
export function databaseProblems(given: { [Name in (typeof databaseSettings)[number]]?: string }): string[] {
  if (given.DATABASE_URL !== undefined) return []
  return ownSettings.flatMap(name =>
    given[name] === undefined ? [] : [`${name} needs DATABASE_URL, which is not set.`],
  )
}
