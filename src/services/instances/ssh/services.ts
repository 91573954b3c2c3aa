import type { Deps } from '../../deps.ts'
import { hostKeyServices } from './host-key.ts'
import { sshLoginServices } from './logins.ts'

export type SshServices = ReturnType<typeof createSshServices>

/** For the SSH face, whose callers have no API key. */
export function createSshServices(deps: Pick<Deps, 'database' | 'secrets'>) {
  return { logins: sshLoginServices(deps), hostKey: hostKeyServices(deps) }
}
