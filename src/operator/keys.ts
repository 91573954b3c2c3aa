import { DomainError } from '../domain/errors.ts'
import { type Command, defineCommand } from './command.ts'
import { parseIdOption, parseInstantOption, parsePermissionsOption } from './options.ts'

export const keyCommands: Record<string, Command> = {
  'key create': defineCommand(
    {
      summary: 'Makes a key of an account, and prints it, once.',
      options: {
        account: { required: true, meaning: 'its email address' },
        permissions: { meaning: 'what the key may do, as JSON; everything when absent' },
        name: { meaning: 'for people' },
        expires: { meaning: 'when it stops working; never when absent' },
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
      summary: 'Prints all keys of an account, without their secrets.',
      options: { account: { required: true, meaning: 'its email address' } },
    },
    ({ account }) =>
      async function* ({ apiKeys }) {
        yield* await apiKeys.list(account)
      },
  ),
  'key revoke': defineCommand(
    {
      summary: 'Ends a key of an account, or all of its keys of one name, and the keys of instances that they rented.',
      options: {
        account: { required: true, meaning: 'its email address' },
        id: { meaning: 'of the key, as "key list" prints it' },
        name: { meaning: 'of the keys' },
        'keep-instance-keys': { flag: true, meaning: 'let instances that they rented use their own keys on' },
      },
    },
    ({ account, id, name, 'keep-instance-keys': keepInstanceKeys }) => {
      if ((id === undefined) === (name === undefined)) throw new Error('Give either --id or --name.')
      // Keys without a name are many. A script whose variable is empty does not mean all of them.
      if (name === '') throw new Error('--name is empty. Revoke a key without a name by its --id.')
      const which = id === undefined ? { name: name ?? '' } : { id: parseIdOption('id', id) }
      return async ({ accounts, apiKeys }) => {
        const { email } = await accounts.find(account)
        const ids = await apiKeys.revoke(email, which, { keepInstanceKeys })
        if (ids.length > 0) return { account: email, revoked: ids.length, ids }
        const wanted = 'id' in which ? `with the id ${which.id}` : `of the name "${which.name}"`
        throw new DomainError('NOT_FOUND', `${email} has no key ${wanted} that is not revoked yet.`, { subject: null })
      }
    },
  ),
}
