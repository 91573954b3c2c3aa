import type { AccountName } from '../../services/accounts/accounts.ts'
import type { Operations } from '../../services/operations.ts'
import { parseIdOption } from '../options.ts'

/** How every command names an account. */
export const accountOption = { meaning: 'email address or id of the account' } as const

export function parseAccountOption(text: string): AccountName {
  return text.includes('@') ? text : { id: parseIdOption('Account', 'account', text, 'an email address') }
}

/** Undefined if no account is given. */
export function parseOptionalAccount(text: string | undefined): AccountName | undefined {
  return text === undefined ? undefined : parseAccountOption(text)
}

/** Undefined if no account is given. */
export async function findAccountId(
  { accounts }: Pick<Operations, 'accounts'>,
  name: AccountName | undefined,
): Promise<number | undefined> {
  return name === undefined ? undefined : (await accounts.find(name)).id
}

/** The account that the option of a command names. Some commands called the option otherwise once. */
export const nameOptions = { account: { ...accountOption, required: true, also: ['email', 'id'] } } as const
