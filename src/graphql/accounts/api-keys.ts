import { permissionsOf, printApiKeyPrefix } from '../../domain/accounts/api-keys.ts'
import { loadSpendLimits, SpendLimit } from '../billing/limits.ts'
import { builder } from '../builder.ts'
import { printId, printName } from '../ids.ts'
import { createSelectedLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { selectionOf } from '../selection.ts'
import { ApiPermission, permissionRowsOf } from './permissions.ts'

export const ApiKey = builder.prismaObject('ApiKey', {
  select: { id: true },
  description:
    'An API key of the account. Its secret is shown only in the answer to the mutation that created the key or rotated its secret.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'ID of the API key, such as `key_42`.', resolve: ({ id }) => printId('ApiKey', id) }),
    name: t.string({
      description: 'Name of the API key. Its ID if it was given none.',
      select: { name: true },
      resolve: key => printName('ApiKey', key),
    }),
    prefix: t.string({
      description: 'First characters of the secret, to recognize the API key by. They are not confidential.',
      select: { publicId: true },
      resolve: ({ publicId }) => printApiKeyPrefix(publicId),
    }),
    permissions: t.field({
      type: [ApiPermission],
      nullable: true,
      description: 'Permissions of the API key. Empty: it may do nothing. Null: it has full access.',
      complexity: { multiplier: 2 },
      select: { permissions: true },
      resolve: key => {
        const permissions = permissionsOf(key)
        return permissions && permissionRowsOf(permissions)
      },
    }),
    spendLimits: t.field({
      type: [SpendLimit],
      nullable: true,
      complexity: { multiplier: 3 },
      description: 'Spend limits for the instances and volumes that this API key created, at most one per window.',
      requires: 'billing.spendLimits',
      resolve: ({ id }, _args, context, info) => loadSpendLimits(context, selectionOf(context, info), id),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the API key was created.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the API key expires. Null if it never expires.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the API key was last used, to the minute. Null if the key has not been used since it was created or its secret was rotated.',
    }),
    current: t.boolean({
      description: 'True for the API key of this request.',
      resolve: ({ id }, _args, { actor }) => id === actor.apiKeyId,
    }),
  }),
})

export const apiKeyById = createSelectedLoader(({ services, actor }, ids: readonly number[], select) =>
  services.apiKeys.byIds(actor, ids, select),
)
