// Where the secret is: in BERTH_SECRET or, without it, in a file of the data folder.

import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Database } from './database/client.ts'
import type { SecretOperations } from './operator/command.ts'
import { changeSecret } from './services/sealing/change.ts'
import { replaceSecret } from './services/sealing/file.ts'
import { loadOrCreateSecret } from './services/secrets.ts'

type Source = Pick<Config, 'secret' | 'newSecret' | 'databaseUrl' | 'dataDir'>

/** For a command. It must be the secret that gateways have. */
export async function loadSecret({ secret, databaseUrl, dataDir }: Source): Promise<string> {
  if (secret === undefined && databaseUrl !== undefined)
    throw new Error('BERTH_SECRET is missing. Set it to the text that the gateways have.')
  return secret ?? (await loadOrCreateSecret(secretFile(dataDir)))
}

export function secretFile(dataDir: string): string {
  return join(dataDir, 'secret')
}

export function createSecretOperations(
  source: Source,
  stores: { database: Database; ownerUrl: string },
): SecretOperations {
  return {
    async change(endDerived) {
      const change = (from: string, to: string) => changeSecret(stores, { from, to, endDerived })
      if (source.secret === undefined && source.databaseUrl === undefined) {
        if (source.newSecret !== undefined) throw new Error(noNewSecretMessage)
        return await replaceSecret(secretFile(source.dataDir), change)
      }
      const from = await loadSecret(source)
      if (source.newSecret === undefined) throw new Error(missingMessage)
      if (source.newSecret === from) throw new Error(sameMessage)
      return await change(from, source.newSecret)
    },
  }
}

const missingMessage =
  'BERTH_NEW_SECRET is missing. Set it to the new secret, and BERTH_SECRET to the one that the gateways had.'
const sameMessage = 'BERTH_NEW_SECRET is the same as BERTH_SECRET. Set it to another text.'
const noNewSecretMessage =
  'BERTH_NEW_SECRET needs BERTH_SECRET, which is not set. Without both, the command makes the new secret itself, and keeps it in the data folder.'
