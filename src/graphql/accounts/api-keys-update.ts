import { maxApiKeyNameLength, maxApiKeys } from '../../domain/accounts/api-keys.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import type { ApiKeyWithSecret } from '../../services/accounts/api-keys/api-keys.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId, printId } from '../ids.ts'
import { idempotencyKey, replayed } from '../inputs/idempotency.ts'
import { permissionSentence } from '../permission.ts'
import { ApiKey } from './api-keys.ts'
import { ApiPermissionInput } from './permissions.ts'
import { parsePermissionRows } from './permissions-input.ts'

const idField = { required: true, description: 'Such as `key_42`, or `42`.' } as const

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description: 'What the key is called, and what it may do: never more than the one that makes it.',
  fields: t => ({
    name: t.string({ description: `What you call it, at most ${maxApiKeyNameLength} characters.` }),
    permissions: t.field({
      type: [ApiPermissionInput],
      description: 'What it may do; nothing when empty. Required without `fullAccess`, and refused beside it.',
    }),
    fullAccess: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Let it do everything, also what operations to come will do.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'From when on it fails. Never when absent, which a key that expires itself may not ask for.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const ResetApiKeyInput = builder.inputType('ResetApiKeyInput', {
  description: 'Which key gets a new secret.',
  fields: t => ({ id: t.id(idField), idempotencyKey: t.string(idempotencyKey) }),
})

const RevokeApiKeyInput = builder.inputType('RevokeApiKeyInput', {
  description: 'Which key is revoked.',
  fields: t => ({
    id: t.id(idField),
    keepInstanceKeys: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Let the instances that it rented use their own keys until it would have expired. They end with it otherwise.',
    }),
  }),
})

function successType(name: string, description: string) {
  return builder.objectRef<ApiKeyWithSecret>(name).implement({
    description,
    fields: t => ({
      apiKey: t.expose('apiKey', { type: ApiKey, description: 'The key. Repetitions show it as it was then.' }),
      secret: t.exposeString('secret', {
        description:
          'What is sent as `Authorization: Bearer`. It cannot be shown again: keep it where nobody reads it.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  })
}

const createResult = resultUnion(
  'CreateApiKeyResult',
  'A key with its secret, or why there is none.',
  successType('CreateApiKeySuccess', 'The key was made.'),
  ['INVALID_INPUT', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const resetResult = resultUnion(
  'ResetApiKeyResult',
  'The key with its new secret, or why it has none.',
  successType('ResetApiKeySuccess', 'The key has a new secret, and the old one fails.'),
  ['INVALID_INPUT', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const RevokeApiKeySuccess = builder.objectRef<{ revokedId: string }>('RevokeApiKeySuccess').implement({
  description: 'The key was revoked, and fails from now on.',
  fields: t => ({ revokedId: t.exposeID('revokedId', { description: 'Its id.' }) }),
})
const revokeResult = resultUnion('RevokeApiKeyResult', 'What was revoked, or why nothing was.', RevokeApiKeySuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
])

builder.mutationFields(t => ({
  createApiKey: t.field({
    type: createResult.union,
    description: `Makes a key that may do no more, and lives no longer, than the one of this request. An account has at most ${maxApiKeys}. ${permissionSentence('apiKeys.create')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'What is wanted.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      createResult.answer({}, async () => {
        const { permissions, paths } = input.permissions ? parsePermissionRows(input.permissions) : {}
        const creating = services.apiKeys.create(actor, { ...input, permissions })
        return await creating.catch((error: unknown) => Promise.reject(withListPaths(error, paths)))
      }),
  }),
  resetApiKey: t.field({
    type: resetResult.union,
    description: `Gives a key a new secret, which ends the old one at once. The keys of the instances that it rented stay. Only for a key that may do no more, and lives no longer, than the one of this request. ${permissionSentence('apiKeys.reset')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: ResetApiKeyInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      resetResult.answer({}, () => services.apiKeys.reset(actor, parseId('ApiKey', input.id), input.idempotencyKey)),
  }),
  revokeApiKey: t.field({
    type: revokeResult.union,
    description: `Ends a key, also the one of this request, and the keys of the instances that it rented. No request that is sent after the answer gets in with any of them. ${permissionSentence('apiKeys.revoke')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: RevokeApiKeyInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      revokeResult.answer({}, async () => {
        const key = parseId('ApiKey', input.id)
        await services.apiKeys.revoke(actor, key, { keepInstanceKeys: input.keepInstanceKeys })
        return { revokedId: printId('ApiKey', key) }
      }),
  }),
}))

/** What is wrong with the permissions, where it stands in the list. */
function withListPaths(error: unknown, paths: Map<string, string> | undefined): unknown {
  if (!(error instanceof DomainError) || error.code !== 'INVALID_INPUT') return error
  const { issues } = error.details
  if (issues.length === 0) return error
  return invalidInput(issues.map(({ path, message }) => ({ path: paths?.get(path) ?? path, message })))
}
