import { notebookTokenOf } from '../../../domain/instances/notebook.ts'
import { type EnvVar, restoreSecrets } from '../../../domain/launch/env.ts'
import { openJson, type Secrets } from '../../secrets.ts'

type TokenFacts = { id: bigint; env: EnvVar[]; secretEnv: Uint8Array | null }

/** The token that opens the notebook of an instance. */
export function readNotebookToken(secrets: Secrets, { id, env, secretEnv }: TokenFacts): string {
  const values = openJson<Record<string, string>>(secrets, secretEnv) ?? {}
  return notebookTokenOf(restoreSecrets(env, values), ownNotebookToken(secrets, id))
}

/** The token of an instance whose renter sets none. */
export function ownNotebookToken(secrets: Secrets, instanceId: bigint): string {
  return secrets.digest('notebook token', String(instanceId)).toString('hex')
}
