import type pg from 'pg'
import { errorCodesOf } from '../failure-codes.ts'
import { newestMigration } from './versions.ts'

/** Returns a function that finds why this gateway cannot use the database now, with one small statement; undefined if it can. */
export function createDatabaseCheck(pool: pg.Pool): () => Promise<string | undefined> {
  return async () => {
    try {
      const { rows } = await pool.query<{ isMigrated: boolean }>(migratedSql, [newestMigration])
      return rows[0]?.isMigrated ? undefined : 'the database lacks migrations of this version'
    } catch (error) {
      const [problem] = errorCodesOf(error).flatMap(code => problemsByCode[code] ?? [])
      return problem ?? 'the database does not answer'
    }
  }
}

/** Migrations are applied in their order, so the newest tells of all. */
const migratedSql = `SELECT EXISTS (SELECT FROM _prisma_migrations
  WHERE migration_name = $1 AND finished_at IS NOT NULL AND rolled_back_at IS NULL) AS "isMigrated"`

const problemsByCode: Record<string, string | undefined> = {
  '25006': 'the database is a standby',
  '42501': 'the role of DATABASE_URL may not read the tables',
  '42P01': "the database lacks Berth's tables",
}
