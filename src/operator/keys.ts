import { DomainError } from '../domain/errors.ts'
import { defineCommand, type OperatorCommand } from './command.ts'
import { parseIdOption, parseInstantOption, parsePermissionsOption } from './options.ts'

export const keyCommands = {
  'key create': defineCommand(
    {
      summary: 'Creates an API key for an account and prints it. The key is shown only once.',
      options: {
        account: { required: true, meaning: 'email address of the account' },
        permissions: { meaning: 'permissions of the key, as JSON (default: full access)' },
        name: { meaning: 'display name (default: empty)' },
        expires: { meaning: 'when the key stops working, such as 2027-01-31T12:00:00Z (default: never)' },
      },
    },
    ({ account: email, name = '', permissions: grant, expires }) => {
      const permissions = grant === undefined ? null : parsePermissionsOption('permissions', grant)
      const expiresAt = expires === undefined ? null : parseInstantOption('expires', expires)
      return async ({ accounts }) => {
        const { id, account, apiKey } = await accounts.createApiKey(email, { name, permissions, expiresAt })
        return { id, account, permissions, expiresAt, apiKey }
      }
    },
  ),
  'key list': defineCommand(
    {
      summary: "Lists an account's API keys, without their secrets.",
      options: { account: { required: true, meaning: 'email address of the account' } },
    },
    ({ account }) =>
      async function* ({ apiKeys }) {
        yield* await apiKeys.list(account)
      },
  ),
  'key revoke': defineCommand(
    {
      summary:
        'Revokes one API key of an account, or all of its keys with one name. Also revokes the instance keys of instances that they rented.',
      options: {
        account: { required: true, meaning: 'email address of the account' },
        id: { meaning: 'id of the key, as "key list" prints it' },
        name: { meaning: 'name of the keys' },
        'keep-instance-keys': { flag: true, meaning: 'keep the instance keys of instances that they rented' },
      },
    },
    ({ account, id, name, 'keep-instance-keys': keepInstanceKeys }) => {
      if ((id === undefined) === (name === undefined)) throw new Error('Give either --id or --name.')
      // Many keys have no name. A script with an empty variable must not revoke all of them.
      if (name === '') throw new Error('--name is empty. Revoke a key without a name by its --id.')
      const which = id === undefined ? { name: name ?? '' } : { id: parseIdOption('ApiKey', 'id', id) }
      return async ({ accounts, apiKeys }) => {
        const { email } = await accounts.find(account)
        const ids = await apiKeys.revoke(email, which, { keepInstanceKeys })
        if (ids.length > 0) return { account: email, revoked: ids.length, ids }
        const wanted = 'id' in which ? `with the id ${which.id}` : `with the name "${which.name}"`
        const message = `${email} has no unrevoked key ${wanted}. "key list" prints the keys of the account.`
        throw new DomainError('NOT_FOUND', message, { subject: null })
      }
    },
  ),
} satisfies Record<string, OperatorCommand>
