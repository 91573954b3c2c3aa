import { notebookTokenOf } from '../../../domain/instances/notebook.ts'
import { type EnvVar, restoreSecrets } from '../../../domain/launch/env.ts'
import type { Deps } from '../../deps.ts'
import { openJson, type Secrets } from '../../secrets.ts'

type TokenFacts = { id: bigint; env: EnvVar[]; secretEnv: Uint8Array | null }

/** The token that opens the notebook of an instance. Undefined if its secrets cannot be read: one damaged row harms no other. */
export function readNotebookToken(
  { secrets, log }: Pick<Deps, 'secrets' | 'log'>,
  { id, env, secretEnv }: TokenFacts,
): string | undefined {
  try {
    const values = openJson<Record<string, string>>(secrets, secretEnv) ?? {}
    return notebookTokenOf(restoreSecrets(env, values), ownNotebookToken(secrets, id))
  } catch (error) {
    log.error({ err: error, instanceId: String(id) }, 'The secrets of an instance could not be read.')
    return undefined
  }
}

/** The token of an instance whose renter sets none. */
export function ownNotebookToken(secrets: Secrets, instanceId: bigint): string {
  return secrets.digest('notebook token', String(instanceId)).toString('hex')
}
