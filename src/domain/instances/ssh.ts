// Logins over the gateway's own SSH server: the user name names the instance.

import { hasSshAccess } from '../accounts/ssh-keys.ts'
import { maxId, printId } from '../ids.ts'
import type { LaunchConfig } from './instances.ts'
import { notRunningRefusal, type RunningFacts } from './states.ts'

/** The instance that a user name such as `ins_42` or `42` names; undefined if it names none. */
export function parseSshUser(user: string): bigint | undefined {
  const [, digits] = /^(?:ins_)?([1-9]\d{0,18})$/.exec(user) ?? []
  const id = digits === undefined ? undefined : BigInt(digits)
  return id !== undefined && id <= maxId ? id : undefined
}

export type SshFacts = RunningFacts & {
  isDestroyed: boolean
  isDisabled: boolean
  vm: boolean
  mode: LaunchConfig['mode']
}

/** Why a login cannot use the instance now, and what to do; undefined if it can. */
export function sshRefusal(instance: SshFacts): string | undefined {
  const name = printId('Instance', instance.id)
  if (instance.isDestroyed) return `${name} is destroyed.`
  if (instance.isDisabled) return disabledMessage
  if (!hasSshAccess(instance)) return `${name} was rented in args mode, which has no SSH. Rent in another mode for SSH.`
  return notRunningRefusal(instance)
}

/** Without the operator's words: they are for the owner of the account, and anybody may have the key of a login. */
const disabledMessage = 'An operator of the service has disabled the account.'

/** Why a login that was allowed ends; undefined while it goes on. */
export function sshEnding(id: bigint, facts: { hasKey: boolean; isDestroyed: boolean; isDisabled: boolean }) {
  const { hasKey, isDestroyed, isDisabled } = facts
  const name = printId('Instance', id)
  if (isDestroyed) return `${name} was destroyed.`
  if (isDisabled) return disabledMessage
  return hasKey ? undefined : `Your SSH key was removed from ${name}.`
}
