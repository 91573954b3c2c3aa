// An account that an operator has disabled: its keys are refused, and nothing of it starts.

import { DomainError } from '../errors.ts'

/** `reason`: what the operator wrote for the account's owner. */
export type Disabled = { since: Date; reason: string }

export function accountDisabled({ since, reason }: Disabled): DomainError<'ACCOUNT_DISABLED'> {
  return new DomainError('ACCOUNT_DISABLED', `An operator of the service has disabled this account: ${reason}`, {
    since,
    reason,
  })
}

/** The columns of an account that say so. A constraint holds that both or none are set. */
export type DisabledColumns = { disabledAt: Date | null; disabledReason: string | null }

export function disabledOf({ disabledAt: since, disabledReason: reason }: DisabledColumns): Disabled | null {
  return since === null || reason === null ? null : { since, reason }
}
