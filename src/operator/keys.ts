import { DomainError } from '../domain/errors.ts'
import { accountOption, findAccountId, parseAccountOption, parseOptionalAccount } from './accounts/name.ts'
import { defineCommand, type OperatorCommand, readAllRows } from './command.ts'
import { parseIdOption, parseInstantOption, parsePermissionsOption } from './options.ts'

export const keyCommands = {
  'key create': defineCommand(
    {
      summary: 'Creates an API key for an account and prints it. The key is shown only once.',
      options: {
        account: { ...accountOption, required: true },
        permissions: { meaning: 'permissions of the key, as JSON (default: full access)' },
        name: { meaning: 'display name (default: empty)' },
        expires: { meaning: 'when the key stops working, such as 2027-01-31T12:00:00Z (default: never)' },
      },
    },
    ({ account, name = '', permissions: grant, expires }) => {
      const permissions = grant === undefined ? null : parsePermissionsOption('permissions', grant)
      const owner = parseAccountOption(account)
      const expiresAt = expires === undefined ? null : parseInstantOption('expires', expires)
      return async ({ accounts }) => {
        const { id, account: email, apiKey } = await accounts.createApiKey(owner, { name, permissions, expiresAt })
        return { id, account: email, permissions, expiresAt, apiKey }
      }
    },
  ),
  'key list': defineCommand(
    {
      summary: 'Lists the API keys of all accounts, without their secrets, also those that are revoked or expired.',
      columns: ['id', 'account', 'name', 'createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'],
      options: {
        account: { meaning: 'only keys of the account with this email address or id' },
        'unused-since': { meaning: 'only keys that were made before this time and not used since, such as 2027-01-31' },
        scoped: { flag: true, meaning: 'only keys without full access' },
        active: { flag: true, meaning: 'only keys that are neither revoked nor expired' },
      },
    },
    ({ account, 'unused-since': unused, scoped, active }) => {
      const unusedSince = unused === undefined ? undefined : parseInstantOption('unused-since', unused)
      const owner = parseOptionalAccount(account)
      return async function* ({ accounts, apiKeys }) {
        const accountId = await findAccountId({ accounts }, owner)
        const filter = { accountId, unusedSince, scoped, active }
        yield* readAllRows((after, limit) => apiKeys.page(filter, after, limit))
      }
    },
  ),
  'key revoke': defineCommand(
    {
      summary:
        'Revokes one API key, or all keys of an account with one name. Also revokes the instance keys of instances that they rented.',
      options: {
        account: { meaning: `${accountOption.meaning}; needed with --name` },
        id: { meaning: 'id of the key, as "key list" prints it' },
        name: { meaning: 'name of the keys' },
        'keep-instance-keys': { flag: true, meaning: 'keep the instance keys of instances that they rented' },
      },
    },
    ({ account, id, name, 'keep-instance-keys': keepInstanceKeys }) => {
      if ((id === undefined) === (name === undefined)) throw new Error('Give either --id or --name.')
      // Many keys have no name. A script with an empty variable must not revoke all of them.
      if (name === '') throw new Error('--name is empty. Revoke a key without a name by its --id.')
      if (name !== undefined && account === undefined) throw new Error('Give the --account whose keys have the --name.')
      const keyId = id === undefined ? undefined : parseIdOption('ApiKey', 'id', id)
      const owner = parseOptionalAccount(account)
      return async ({ accounts, apiKeys }) => {
        const email = owner && (await accounts.find(owner)).email
        // Safe: the lines above let no name pass without an account.
        const which = keyId === undefined ? { name: name as string, email: email as string } : { id: keyId, email }
        const ids = await apiKeys.revoke(which, { keepInstanceKeys })
        if (ids.length > 0) return { ...(email !== undefined && { account: email }), revoked: ids.length, ids }
        const wanted = keyId === undefined ? `with the name "${name}"` : `with the id ${keyId}`
        const message = email
          ? `${email} has no unrevoked key ${wanted}. "key list" prints the keys of the account.`
          : `There is no unrevoked key ${wanted}. "key list" prints all keys.`
        throw new DomainError('NOT_FOUND', message, { subject: null })
      }
    },
  ),
} satisfies Record<string, OperatorCommand>
