// Counts the open connections of each account, and of each instance.

import { printId } from '../domain/ids.ts'
import type { SshLogin } from '../services/instances/ssh/logins.ts'
import type { SshLimits } from './limits.ts'

export function createLoginLimits({
  connectionsPerAccount,
  connectionsPerInstance,
}: Pick<SshLimits, 'connectionsPerAccount' | 'connectionsPerInstance'>) {
  const open = new Set<SshLogin>()

  /** Few connections are open at once. */
  const count = (isSame: (other: SshLogin) => boolean) => [...open].filter(isSame).length

  function refusalOf({ accountId, instanceId }: SshLogin): string | undefined {
    if (count(other => other.instanceId === instanceId) >= connectionsPerInstance)
      return refusal(printId('Instance', instanceId), connectionsPerInstance)
    if (count(other => other.accountId === accountId) >= connectionsPerAccount)
      return refusal('Your account', connectionsPerAccount)
    return undefined
  }

  return {
    /** Counts a login until `release`. Returns why it is refused, or undefined. */
    admit(login: SshLogin): string | undefined {
      const refused = refusalOf(login)
      if (refused === undefined) open.add(login)
      return refused
    },
    release: (login: SshLogin): void => void open.delete(login),
  }
}

function refusal(who: string, most: number): string {
  return `${who} has ${most} SSH connections on this gateway, and may have no more. Close one, and try again.`
}
