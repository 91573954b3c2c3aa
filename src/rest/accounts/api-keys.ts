import { z } from 'zod'
import { permissionsOf } from '../../domain/accounts/api-keys.ts'
import type { DomainError } from '../../domain/errors.ts'
import { idempotencyFailures } from '../documented-failures.ts'
import { documentedFailureOf } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { rewordRefusals } from '../rewording.ts'
import { type DocumentedFailure, type Route, route } from '../route.ts'
import { integer, number, pathId, text } from '../values.ts'
import { apiKeyRow, apiKeyRowSchema, apiKeySelect, permissionsSchema } from './api-keys-row.ts'

const path = '/api/v0/auth/apikeys/{id}/'
const params = z.object({ id: pathId('ID of the API key.') })
const success = z.literal(true).describe('Always true.')
const noSuchKey: DocumentedFailure = documentedFailureOf('NOT_FOUND', 'API Key not found.')
const lastKeyMessage =
  "You cannot delete your primary key: it is the account's last one with full access, and afterwards only an operator can make another. To delete it all the same, add force=true."
const keyDescription = 'The secret key. Only this answer shows it.'

const lastKey: DocumentedFailure = documentedFailureOf(
  'INVALID_INPUT',
  "The key is the account's last one with full access, and force is not true.",
)

function restFailureOf({ code, details }: DomainError): [number, string, string] | undefined {
  const isLast = code === 'INVALID_INPUT' && details.issues[0]?.path === 'force'
  if (isLast) return [lastKey.status, lastKey.error, lastKeyMessage]
  const isKey = code === 'NOT_FOUND' && details.subject?.type === 'ApiKey'
  return isKey ? [404, 'not_found', noSuchKey.when] : undefined
}

export const apiKeyRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/api/v0/auth/apikeys/',
    operationId: 'listApiKeys',
    tag: 'Keys',
    summary: 'List the API keys',
    about: "Lists the account's valid API keys, newest first.",
    operation: 'apiKeys.list',
    result: z.object({ apikeys: z.array(apiKeyRowSchema).describe('The API keys.') }),
    answer: async ({ services, actor }) => {
      const keys = await services.apiKeys.list(actor, apiKeySelect)
      return { apikeys: keys.map(key => apiKeyRow(actor, key)) }
    },
  }),
  route({
    method: 'POST',
    path: '/api/v0/auth/apikeys/',
    operationId: 'createApiKey',
    tag: 'Keys',
    summary: 'Create an API key',
    about: 'Creates an API key. A key cannot create a key with more permissions than its own.',
    operation: 'apiKeys.create',
    body: z.object({
      name: text('Name of the key, at most 256 characters.').optional(),
      // The service parses the permissions and reports every issue.
      permissions: z
        .unknown()
        .optional()
        .meta({
          ...z.toJSONSchema(permissionsSchema, { io: 'input' }),
          $schema: undefined,
          $defs: undefined,
          id: undefined,
        })
        .describe(
          'Permissions of the key. Absent or null means full access, as clients expect; {"api": {}} means no access.',
        ),
    }),
    // "" must not count as absent, which means full access. The service refuses it.
    emptyStringFields: ['permissions'],
    takesIdempotencyKey: true,
    notIdempotent: true,
    example: { body: { name: 'watcher', permissions: { api: { misc: {}, instance_read: {} } } } },
    result: z.object({
      success,
      id: integer('ID of the key.'),
      key: text(keyDescription),
      name: text('Name of the key.'),
      permissions: permissionsSchema.nullable().describe('Permissions of the key; null means full access.'),
      created_at: number('Time of creation, in seconds since 1970.'),
    }),
    failures: [documentedFailureOf('CONFLICT', 'The account has the maximum number of keys.'), ...idempotencyFailures],
    answer: async ({ services, actor, body: { name, permissions }, idempotencyKey }) => {
      // GraphQL requires `fullAccess`. REST clients ask for full access by omitting permissions.
      const fullAccess = permissions === undefined || permissions === null
      const input = { name, permissions, fullAccess, idempotencyKey }
      const { apiKey, secret } = await services.apiKeys.create(actor, input, apiKeySelect)
      const { id, createdAt } = apiKey
      const created_at = createdAt.getTime() / 1000
      const facts = { id, name: apiKey.name, permissions: permissionsOf(apiKey), created_at }
      return { success: true as const, key: secret, ...facts }
    },
  }),
  route({
    method: 'GET',
    path,
    operationId: 'getApiKey',
    tag: 'Keys',
    summary: 'Get an API key',
    about: 'Returns an API key without its secret.',
    operation: 'apiKeys.list',
    params,
    result: apiKeyRowSchema,
    failures: [noSuchKey],
    answer: async ({ services, actor, params: { id } }) => {
      const [key] = await services.apiKeys.byIds(actor, [Number(id)], apiKeySelect)
      if (!key) throw new RestFailure(404, 'not_found', noSuchKey.when)
      return apiKeyRow(actor, key)
    },
  }),
  route({
    method: 'DELETE',
    path,
    operationId: 'revokeApiKey',
    tag: 'Keys',
    summary: 'Revoke an API key',
    about:
      "Revokes an API key, even that of the request, and the keys of the instances that it rented. Requests with any of these keys fail if they begin after the answer. The account's last key with full access is revoked only with force.",
    operation: 'apiKeys.revoke',
    params,
    query: z.object({
      keep_instance_keys: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          'If true, the keys of instances rented with the revoked key keep working until that key would have expired.',
        ),
      force: z
        .enum(['true', 'false'])
        .optional()
        .describe("If true, the key is revoked even if it is the account's last one with full access."),
    }),
    result: z.literal('Successfully Deleted API Key'),
    failures: [noSuchKey, lastKey],
    answer: async ({ services, actor, params: { id }, query }) => {
      const keepInstanceKeys = query.keep_instance_keys === 'true'
      // Clients revoke the key that they use, as when they log out.
      const allowed = { own: true, lastWithFullAccess: query.force === 'true' }
      await rewordRefusals(services.apiKeys.delete(actor, id, { keepInstanceKeys, allowed }), restFailureOf)
      return 'Successfully Deleted API Key' as const
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v0/commands/reset_apikey/',
    operationId: 'resetApiKey',
    tag: 'Keys',
    summary: 'Reset the API key',
    about:
      'Replaces the secret of the key that sends the request. From then on, no request with the old secret changes anything; requests that only read may be answered for up to a second more.',
    operation: 'apiKeys.reset',
    notIdempotent: true,
    result: z.object({ success, id: integer('ID of the key.'), key: text(keyDescription) }),
    failures: [noSuchKey],
    answer: async ({ services, actor }) => {
      const resetting = services.apiKeys.rotateSecret(actor, { id: BigInt(actor.apiKeyId) }, { id: true })
      const { apiKey, secret } = await rewordRefusals(resetting, restFailureOf)
      return { success: true as const, id: apiKey.id, key: secret }
    },
  }),
]
