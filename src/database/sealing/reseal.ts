// Replaces all sealed values of a database, in one transaction as the owner of its tables: a crash leaves everything as it
// was. Afterwards constraints refuse values of any other key.

import pg from 'pg'
import { errorCodesOf, toError } from '../failure-codes.ts'
import { listenerName } from '../wake-ups.ts'
import { addSealConstraint, dropSealConstraint } from './constraints.ts'

type Resealing = {
  /** The columns of sealed values, by their tables. */
  tables: Readonly<Record<string, readonly string[]>>
  /** The table of one row whose column `sealed` tells with which key the database is sealed. */
  checkTable: string
  /** Decides from the check value, before anything is changed, and may throw. */
  decide(checkValue: Buffer): NewSeal
}
type NewSeal = {
  checkValue: Buffer
  /** What every value begins with afterwards. */
  keyId: Buffer
  reseal(value: Buffer): Buffer
}

/** Other users of the tables get this long to finish. */
const lockTimeout = '10s'
/** One value can have megabytes. */
const rowsAtOnce = 100

/** Returns how many values it has replaced. Throws, and changes nothing, while a gateway is connected. */
export async function resealDatabase(ownerUrl: string, { tables, checkTable, decide }: Resealing): Promise<number> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'berth secret change' })
  // A lost connection fails the next statement. Without this listener, the error event would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await refuseGateways(client)
    await client.query(`BEGIN; SET LOCAL lock_timeout = '${lockTimeout}'; SET LOCAL statement_timeout = 0`)
    await client.query(`LOCK TABLE ${[checkTable, ...Object.keys(tables)].join(', ')} IN ACCESS EXCLUSIVE MODE`)
    // A gateway that connects after this reads the check value after the transaction.
    await refuseGateways(client)
    const { rows } = await client.query<{ sealed: Buffer }>(`SELECT sealed FROM ${checkTable}`)
    const seal = decide((rows[0] as { sealed: Buffer }).sealed)
    let count = 0
    for (const [table, columns] of Object.entries(tables)) count += await resealTable(client, table, columns, seal)
    await client.query(`UPDATE ${checkTable} SET sealed = $1`, [seal.checkValue])
    await client.query('COMMIT')
    return count
  } catch (error) {
    throw explain(error)
  } finally {
    // The server rolls back what was not committed.
    await client.end()
  }
}

async function refuseGateways(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(
    'SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
    [listenerName],
  )
  if (!rowCount) return
  const connected = rowCount === 1 ? 'A gateway is' : `${rowCount} gateways are`
  throw new Error(
    `${connected} connected to the database, and would go on with the old secret. Nothing was changed. Stop all gateways, run the command, and start them with the new secret.`,
  )
}

async function resealTable(client: pg.Client, table: string, columns: readonly string[], seal: NewSeal) {
  await dropSealConstraint(client, table)
  const count = await replaceValues(client, table, columns, seal.reseal)
  await addSealConstraint(client, { table, columns, keyId: seal.keyId.toString('hex') })
  return count
}

async function replaceValues(
  client: pg.Client,
  table: string,
  columns: readonly string[],
  reseal: NewSeal['reseal'],
): Promise<number> {
  // The cursor does not see what the updates write, so it meets each row once.
  await client.query(`
    DECLARE sealed_rows CURSOR FOR SELECT ctid::text AS place, ARRAY[${columns.join(', ')}] AS sealed FROM ${table}
    WHERE ${columns.map(column => `length(${column}) > 0`).join(' OR ')}`)
  const update = `
    UPDATE ${table} t SET ${columns.map((column, index) => `${column} = s.v${index}`).join(', ')}
    FROM unnest($1::tid[], ${columns.map((_, index) => `$${index + 2}::bytea[]`).join(', ')})
      AS s(place, ${columns.map((_, index) => `v${index}`).join(', ')})
    WHERE t.ctid = s.place`
  let count = 0
  for (;;) {
    const { rows } = await client.query<{ place: string; sealed: (Buffer | null)[] }>(
      `FETCH ${rowsAtOnce} FROM sealed_rows`,
    )
    if (rows.length === 0) break
    const valuesOf = (index: number) => rows.map(({ sealed }) => sealed[index] ?? null)
    const resealed = columns.map((_, index) => valuesOf(index).map(value => (value?.length ? reseal(value) : value)))
    await client.query(update, [rows.map(({ place }) => place), ...resealed])
    count += resealed.flat().filter(value => value?.length).length
  }
  await client.query('CLOSE sealed_rows')
  return count
}

function explain(error: unknown): Error {
  const codes = errorCodesOf(error)
  if (codes.includes('42501'))
    return new Error(
      `The role of the database URL may not change the secret: ${toError(error).message}. Set DATABASE_OWNER_URL to the URL of the role that owns the tables.`,
    )
  if (codes.includes('55P03') || codes.includes('40P01'))
    return new Error('Another program uses the tables of the database. Nothing was changed. End it, and try again.')
  return toError(error)
}
