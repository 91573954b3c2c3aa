import { type ApiKey as ApiKeyShape, printApiKeyPrefix } from '../../domain/accounts/api-keys.ts'
import { loadSpendLimits, SpendLimit } from '../billing/limits.ts'
import { builder } from '../builder.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'
import { permissionSentence } from '../permission.ts'
import { ApiPermission, permissionRowsOf } from './permissions.ts'

export const ApiKey = builder.objectRef<ApiKeyShape>('ApiKey').implement({
  description: 'A key of the account. Its secret was in the answer that made it, and is in no other.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `key_`.', resolve: ({ id }) => printId('ApiKey', id) }),
    name: t.exposeString('name', { description: 'What you call it. May be empty.' }),
    prefix: t.string({
      description: 'How the key begins, by which it is recognised. Not a secret.',
      resolve: ({ publicId }) => printApiKeyPrefix(publicId),
    }),
    permissions: t.field({
      type: [ApiPermission],
      nullable: true,
      description: 'What it may do: nothing when empty, everything when null.',
      complexity: { multiplier: 2 },
      resolve: ({ permissions }) => permissions && permissionRowsOf(permissions),
    }),
    spendLimits: t.field({
      type: [SpendLimit],
      complexity: { multiplier: 3 },
      description: `The limits of what is spent for what it rented and made, at most one of each window. ${permissionSentence('billing.spendLimits')}`,
      resolve: ({ id }, _args, context) => loadSpendLimits(context, id),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'From when on it fails, if ever.',
    }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to the minute.',
    }),
    current: t.boolean({
      description: 'Whether this request was sent with it.',
      resolve: ({ id }, _args, { actor }) => id === actor.apiKeyId,
    }),
  }),
})

export const apiKeyById = createLoader(({ services, actor }, ids: readonly number[]) =>
  services.apiKeys.byIds(actor, ids),
)
