// Refuses to start a gateway whose secret differs: that gateway could not open any value that the other gateways
// sealed. The check value opens to a known text or, once the secret was changed, to the key of digests.

import { Prisma } from '../../database/generated/client.ts'
import { bytea, text } from '../../database/row-types.ts'
import type { Statements } from '../../database/statements.ts'
import type { DatabaseSecrets, Secrets } from '../secrets.ts'

const { sql, raw } = Prisma

/** Every column of sealed values, except the check's own. */
export const sealedColumns = [
  ['secret_variables', 'value'],
  ['templates', 'registry_login'],
  ['templates', 'secret_env'],
  ['instances', 'registry_login'],
  ['instances', 'secret_env'],
  ['webhooks', 'sealed_url'],
  ['webhooks', 'secret'],
  ['webhooks', 'old_secret'],
  ['idempotency_keys', 'result'],
  ['results', 'text'],
  ['engines', 'tls'],
  ['ssh_host_key', 'sealed'],
  ['agent_requests', 'args'],
  ['agent_requests', 'answer'],
] as const
/** Has one row. */
export const checkColumn = ['secret_check', 'sealed'] as const
const samplesPerColumn = 5

const wrongSecretMessage =
  'The database was encrypted with another secret. Set BERTH_SECRET to that secret. Without BERTH_SECRET, Berth uses the file "secret" in BERTH_DATA_DIR. If "secret change" was interrupted, run it again.'

/** The check value of a database whose secret was never changed opens to this text. */
const neverChanged = 'berth'

export type SecretCheckDeps = { database: Pick<Statements, 'query' | 'execute'>; secrets: DatabaseSecrets }

/** Who saves must hold the migration lock, so gateways that start at the same time agree on one value. */
export function createSecretCheck({ database, secrets }: SecretCheckDeps) {
  return {
    /**
     * Throws if the database was sealed with another secret. Otherwise the secrets make digests as the database needs them.
     * Reads a database of any version, and writes nothing.
     */
    async verify(): Promise<void> {
      const present = await readByteaColumns()
      const [kept] = await readSamples([checkColumn], present)
      if (kept) return continueFrom(kept, secrets)
      // Versions before the check stored no check value, so the values that they sealed decide.
      const sealed = await readSamples(sealedColumns, present)
      if (sealed.length > 0 && !sealed.some(value => canOpen(secrets, value))) throw new Error(wrongSecretMessage)
    },

    /** False if the secret, or the key of digests, was changed since `verify`. */
    async isStillValid(): Promise<boolean> {
      const [kept] = await database.query(sql`SELECT sealed FROM secret_check`, { sealed: bytea })
      return !kept || openOrNothing(secrets, kept.sealed) === checkTextOf(secrets)
    },

    async save(): Promise<void> {
      await database.execute(
        sql`INSERT INTO secret_check (sealed) SELECT ${sealCheckValue(secrets)} ON CONFLICT DO NOTHING`,
      )
    },
  }

  async function readByteaColumns(): Promise<Set<string>> {
    const statement = sql`
      SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = current_schema() AND data_type = 'bytea'`
    return new Set((await database.query(statement, { name: text })).map(({ name }) => name))
  }

  async function readSamples(columns: readonly (readonly [string, string])[], present: Set<string>): Promise<Buffer[]> {
    const samples: Buffer[] = []
    for (const [table, column] of columns.filter(names => present.has(names.join('.')))) {
      // The stored result of a request that still runs is empty.
      const statement = sql`
        SELECT ${raw(column)} AS sealed FROM ${raw(table)} WHERE length(${raw(column)}) > 0 LIMIT ${samplesPerColumn}`
      samples.push(...(await database.query(statement, { sealed: bytea })).map(({ sealed }) => sealed))
    }
    return samples
  }
}

/** Throws if these secrets cannot open the check value. */
export function continueFrom(checkValue: Uint8Array, secrets: DatabaseSecrets): void {
  const kept = openOrNothing(secrets, checkValue)
  if (kept === undefined) throw new Error(wrongSecretMessage)
  if (kept !== neverChanged) secrets.continueWith(Buffer.from(kept, 'hex'))
}

export function sealCheckValue(secrets: DatabaseSecrets): Buffer<ArrayBuffer> {
  return secrets.seal(checkTextOf(secrets))
}

function checkTextOf({ isChanged, digestKey }: DatabaseSecrets): string {
  return isChanged ? digestKey.toString('hex') : neverChanged
}

export function canOpen(secrets: Secrets, sealed: Uint8Array): boolean {
  return openOrNothing(secrets, sealed) !== undefined
}

/** Undefined if the value is sealed with another secret, or damaged. */
export function openOrNothing(secrets: Secrets, sealed: Uint8Array): string | undefined {
  try {
    return secrets.open(sealed)
  } catch {
    return undefined
  }
}
