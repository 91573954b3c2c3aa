import type pg from 'pg'
import { errorCodesOf } from '../failure-codes.ts'

/** `name` is `server/timeline/database`. Parts that the role may not read are empty. */
type HistoryLine = { name: string; standby: boolean }

/** From the WAL: the control file has the last checkpoint's timeline, which is minutes late after a promotion. */
const timeline = `CASE WHEN pg_is_in_recovery() THEN ''
  ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint::text END`
const server = '(SELECT system_identifier::text FROM pg_control_system())'

/** From most to least detailed: some roles may not read the server's identifier, and some services have no timeline. */
const lineNameExpressions = [
  `concat_ws('/', ${server}, ${timeline}, d.oid)`,
  `concat_ws('/', '', ${timeline}, d.oid)`,
  `''`,
]
const notAllowedCodes = ['42501', '0A000']

export async function readHistoryLine(client: pg.ClientBase | pg.Pool): Promise<HistoryLine> {
  for (const name of lineNameExpressions) {
    try {
      const { rows } = await client.query(
        `SELECT pg_is_in_recovery() AS standby, ${name} AS name FROM pg_database d WHERE datname = current_database()`,
      )
      return rows[0]
    } catch (error) {
      if (!errorCodesOf(error).some(code => notAllowedCodes.includes(code))) throw error
    }
  }
  throw new Error('The database did not report whether it is a standby.')
}

/** Empty parts are unknown, so they match any value. */
export function isOtherLine(known: string, name: string): boolean {
  if (known === '' || name === '') return false
  return !isSame(known, name, [0, 1, 2])
}

/** Whether two lines are of one database of one server, or of a server and its standby. */
export function isSameDatabase(one: string, other: string): boolean {
  return one !== '' && other !== '' && isSame(one, other, [0, 2])
}

/** Whether two lines are of different databases, as far as both are known. */
export function isOtherDatabase(one: string, other: string): boolean {
  return one !== '' && other !== '' && !isSame(one, other, [0, 2])
}

function isSame(one: string, other: string, places: number[]): boolean {
  const [parts, others] = [one.split('/'), other.split('/')]
  return places.every(place => !parts[place] || !others[place] || parts[place] === others[place])
}

/** Has PostgreSQL's code for a write on a standby. */
function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: '25006' })
}

export function standbyError(): Error {
  return refusal('The database is a standby, which accepts no writes.')
}

export function outdatedError(): Error {
  return refusal(
    'The database was replaced by another server that this gateway has used since. If it was restored on purpose, restart the gateway.',
  )
}
