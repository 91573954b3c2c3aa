import type { AccountName } from '../../services/accounts/accounts.ts'
import { parseIdOption } from '../options.ts'

export const nameOptions = {
  email: { meaning: 'email address of the account' },
  id: { meaning: 'id of the account, as "account list" prints it' },
} as const

/** The account that the options of a command name. */
export function parseAccountName({ email, id }: { email: string | undefined; id: string | undefined }): AccountName {
  if (id !== undefined && email === undefined) return { id: parseIdOption('Account', 'id', id) }
  if (email !== undefined && id === undefined) return email
  throw new Error('Give either --email or --id.')
}
