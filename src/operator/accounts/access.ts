// Commands that say whether an account may use the service.

import { printUsd } from '../../domain/money.ts'
import type { AccountName } from '../../services/accounts/accounts.ts'
import { type CommandOperations, defineCommand, type OperatorCommand } from '../command.ts'
import { presentCaps } from './caps.ts'
import { nameOptions, parseAccountOption } from './name.ts'

export const accessCommands = {
  'account show': defineCommand(
    {
      summary: 'Prints one account: its credit, what it has, its quotas and caps, and whether it is disabled.',
      options: nameOptions,
    },
    ({ account }) => {
      const name = parseAccountOption(account)
      return operations => showAccount(operations, name)
    },
  ),
  'account disable': defineCommand(
    {
      summary:
        'Refuses the keys of an account, ends its streams and sessions, and stops its instances. The renter reads the reason.',
      options: {
        ...nameOptions,
        reason: { required: true, meaning: 'why; the renter reads it, so write it for the renter' },
        'keep-instances': { flag: true, meaning: 'let instances go on, and cost money, as they would otherwise' },
      },
    },
    ({ reason, 'keep-instances': keepInstances, account }) => {
      const name = parseAccountOption(account)
      return async operations => {
        const { id, changed } = await operations.accounts.disable(name, { reason, keepInstances })
        return { ...(await showAccount(operations, { id })), changed }
      }
    },
  ),
  'account enable': defineCommand(
    {
      summary:
        'Lets the keys of a disabled account work again. Its instances stay stopped until the renter starts them.',
      options: { ...nameOptions, reason: { meaning: 'note for the history of the account' } },
    },
    ({ reason, account }) => {
      const name = parseAccountOption(account)
      return async operations => {
        const { id, changed } = await operations.accounts.enable(name, reason)
        return { ...(await showAccount(operations, { id })), changed }
      }
    },
  ),
} satisfies Record<string, OperatorCommand>

async function showAccount({ accounts, caps }: CommandOperations, name: AccountName) {
  const { creditNanos, costPerHourNanos, quotas, ...account } = await accounts.show(name)
  const [credit, costPerHour] = [printUsd(creditNanos), printUsd(costPerHourNanos)]
  return { ...account, credit, costPerHour, quotas, caps: presentCaps(await caps.ofAccount(account.id)) }
}
