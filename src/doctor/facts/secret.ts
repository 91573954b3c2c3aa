import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { errorCodesOf, toError } from '../../database/failure-codes.ts'
import { statementsOn } from '../../database/statements.ts'
import { createSecretCheck } from '../../services/sealing/check.ts'
import { createSecrets } from '../../services/secrets.ts'
import type { DoctorSettings } from '../settings.ts'
import type { SecretFacts } from '../verdicts/secret.ts'

type Settings = Pick<DoctorSettings, 'secret' | 'dataDir' | 'databaseUrl'>

/** The secret of the gateways on this computer; undefined if it is missing, and empty if its file is. */
export async function readSecret({ secret, dataDir, databaseUrl }: Settings): Promise<string | undefined> {
  if (secret !== undefined || databaseUrl !== undefined) return secret
  return await readFile(join(dataDir, 'secret'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
}

/** `client`: a connection to the database; undefined if there is none. */
export async function gatherSecret(settings: Settings, client: pg.Client | undefined): Promise<SecretFacts> {
  const secret = await readSecret(settings)
  return {
    source: settings.secret === undefined ? 'file' : 'setting',
    file: join(settings.dataDir, 'secret'),
    secret,
    mustBeSet: settings.databaseUrl !== undefined,
    hasSealed: client ? await hasSealed(client) : null,
    problem: client && secret ? await findProblem(client, secret) : undefined,
  }
}

async function hasSealed(client: pg.Client): Promise<boolean> {
  const exists = "SELECT to_regclass('public.secret_check') IS NOT NULL AS flag"
  const hasTable = (await client.query<{ flag: boolean }>(exists)).rows[0]?.flag === true
  return hasTable && (await client.query('SELECT 1 FROM secret_check LIMIT 1')).rows.length > 0
}

async function findProblem(client: pg.Client, secret: string): Promise<string | undefined> {
  const database = statementsOn(client, () => '')
  return await createSecretCheck({ database, secrets: createSecrets(secret) })
    .verify()
    .then(
      () => undefined,
      (error: unknown) => {
        // The database failed, and says nothing about the secret.
        if (errorCodesOf(error).length > 0) throw error
        return toError(error).message
      },
    )
}
