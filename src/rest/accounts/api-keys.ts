import { z } from 'zod'
import type { DomainError } from '../../domain/errors.ts'
import { failureOf } from '../error-codes.ts'
import { RestFailure } from '../errors.ts'
import { idempotencyFailures } from '../failures.ts'
import { rewordRefusals } from '../rewording.ts'
import { type Failure, type Route, route } from '../route.ts'
import { integer, number, pathId, text } from '../values.ts'
import { apiKeyRow, apiKeyRowSchema, permissionsSchema } from './api-keys-row.ts'

const path = '/api/v0/auth/apikeys/{id}/'
const params = z.object({ id: pathId('The API key.') })
const success = z.literal(true).describe('Always true.')
const noSuchKey: Failure = failureOf('NOT_FOUND', 'API Key not found.')
const keyDescription = 'The key, which is shown in this answer and never again.'

function restFailureOf({ code, details }: DomainError): [number, string, string] | undefined {
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
    about: "The account's keys that work, the newest first.",
    operation: 'apiKeys.list',
    result: z.object({ apikeys: z.array(apiKeyRowSchema).describe('The keys.') }),
    answer: async ({ services, actor }) => {
      const keys = await services.apiKeys.list(actor)
      return { apikeys: keys.map(key => apiKeyRow(actor, key)) }
    },
  }),
  route({
    method: 'POST',
    path: '/api/v0/auth/apikeys/',
    operationId: 'createApiKey',
    tag: 'Keys',
    summary: 'Make an API key',
    about: 'No key can make one that may do more than it may itself.',
    operation: 'apiKeys.create',
    body: z.object({
      name: text('What you call it, at most 256 characters.').optional(),
      // Read by its service, which says everything that is wrong with it.
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
          'What it may do. Everything, when absent or null, as clients of this API expect; {"api": {}} is nothing.',
        ),
    }),
    // An empty text is not read as "nothing was said": the answer tells what is wrong with it.
    emptyStringFields: ['permissions'],
    takesIdempotencyKey: true,
    notIdempotent: true,
    result: z.object({
      success,
      id: integer('The key.'),
      key: text(keyDescription),
      name: text('What it is called.'),
      permissions: permissionsSchema.nullable().describe('What it may do; null is everything.'),
      created_at: number('When it was made, in seconds since 1970.'),
    }),
    failures: [failureOf('CONFLICT', 'The account has as many keys as it can have.'), ...idempotencyFailures],
    answer: async ({ services, actor, body: { name, permissions }, idempotencyKey }) => {
      // GraphQL wants full access to be said. Clients of REST say it by leaving permissions out.
      const fullAccess = permissions === undefined || permissions === null
      const { apiKey, secret } = await services.apiKeys.create(actor, { name, permissions, fullAccess, idempotencyKey })
      const { id, permissions: granted, createdAt } = apiKey
      const facts = { id, name: apiKey.name, permissions: granted, created_at: createdAt.getTime() / 1000 }
      return { success: true as const, key: secret, ...facts }
    },
  }),
  route({
    method: 'GET',
    path,
    operationId: 'getApiKey',
    tag: 'Keys',
    summary: 'Get an API key',
    about: 'What is known of it, but for itself.',
    operation: 'apiKeys.list',
    params,
    result: apiKeyRowSchema,
    failures: [noSuchKey],
    answer: async ({ services, actor, params: { id } }) => {
      const [key] = await services.apiKeys.byIds(actor, [Number(id)])
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
      'Every request that begins after the answer is refused with it, and with the keys of the instances that it rented.',
    operation: 'apiKeys.revoke',
    params,
    query: z.object({
      keep_instance_keys: z
        .enum(['true', 'false'])
        .optional()
        .describe('With true, the instances that it rented use their own keys until it would have expired.'),
    }),
    result: z.literal('Successfully Deleted API Key'),
    failures: [noSuchKey],
    answer: async ({ services, actor, params: { id }, query }) => {
      const keepInstanceKeys = query.keep_instance_keys === 'true'
      await rewordRefusals(services.apiKeys.revoke(actor, id, { keepInstanceKeys }), restFailureOf)
      return 'Successfully Deleted API Key' as const
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v0/commands/reset_apikey/',
    operationId: 'resetApiKey',
    tag: 'Keys',
    summary: 'Reset the API key',
    about: 'Gives the key that this is asked with another secret. The old one fails from then on.',
    operation: 'apiKeys.reset',
    notIdempotent: true,
    result: z.object({ success, id: integer('The key.'), key: text(keyDescription) }),
    failures: [noSuchKey],
    answer: async ({ services, actor }) => {
      const resetting = services.apiKeys.reset(actor, BigInt(actor.apiKeyId))
      const { apiKey, secret } = await rewordRefusals(resetting, restFailureOf)
      return { success: true as const, id: apiKey.id, key: secret }
    },
  }),
]
