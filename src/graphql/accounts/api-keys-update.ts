import { maxApiKeyNameLength, maxApiKeys } from '../../domain/accounts/api-keys.ts'
import { DomainError, invalidInput } from '../../domain/errors.ts'
import { builder } from '../builder.ts'
import type { RefusalCode } from '../errors/codes.ts'
import { deleteResult, mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { blankNameIssues, idempotencyKey, refuseNull, replayed } from '../mutations.ts'
import { selectionOf } from '../selection.ts'
import { ApiKey } from './api-keys.ts'
import { ApiPermissionInput } from './permissions.ts'
import { parsePermissionRows } from './permissions-input.ts'

const idField = { required: true, description: 'ID of the API key, such as `key_42` or `42`.' } as const

const CreateApiKeyInput = builder.inputType('CreateApiKeyInput', {
  description:
    'Name, permissions and expiry of a new API key. The new key cannot have more permissions than the key that creates it.',
  fields: t => ({
    name: t.string({
      description: `Name of the API key, 1-${maxApiKeyNameLength} characters, not blank. If absent or null, the key is called by its ID.`,
    }),
    permissions: t.field({
      type: [ApiPermissionInput],
      description:
        'Permissions of the API key. An empty list allows nothing. Absent or null only if `fullAccess` is true, which is refused together with a list.',
    }),
    fullAccess: t.boolean({
      required: true,
      defaultValue: false,
      description: 'Allow every operation, including operations that are added later. Defaults to false.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description:
        'When the new API key expires. If absent, it never expires. A key that expires can only create keys that expire no later than itself.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const kept = 'If absent, it stays.'

const UpdateApiKeyInput = builder.inputType('UpdateApiKeyInput', {
  description: 'Changes to an API key. Absent fields stay as they are.',
  fields: t => ({
    id: t.id(idField),
    name: t.string({
      description: `Name of the API key, 1-${maxApiKeyNameLength} characters, not blank. ${kept} Null removes it: the key is called by its ID.`,
    }),
    permissions: t.field({
      type: [ApiPermissionInput],
      description:
        'Permissions that replace all permissions of the API key. An empty list allows nothing. If absent, they stay; null is refused, since only a new key can get full access.',
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: `When the API key expires, in the future. ${kept} Null: it never expires.`,
    }),
  }),
})

const RotateApiKeySecretInput = builder.inputType('RotateApiKeySecretInput', {
  description: 'The API key that gets a new secret.',
  fields: t => ({ id: t.id(idField), idempotencyKey: t.string(idempotencyKey) }),
})

const DeleteApiKeyInput = builder.inputType('DeleteApiKeyInput', {
  description: 'The API key to delete.',
  fields: t => ({
    id: t.id(idField),
    keepInstanceKeys: t.boolean({
      required: true,
      defaultValue: false,
      description:
        'Keep the instance keys of the instances that this API key rented, until this API key would have expired. Defaults to false: they are deleted, too.',
    }),
    force: t.boolean({
      required: true,
      defaultValue: false,
      description:
        "Delete the API key even if it sends this request, or is the account's last one with full access. Defaults to false.",
    }),
  }),
})

function secretResult(mutation: string, description: string, done: string, errors: readonly RefusalCode[]) {
  return mutationResult<{ apiKey: { id: number }; secret: string; replayed: boolean }>(mutation, {
    description,
    success: {
      description: done,
      fields: t => ({
        apiKey: t.expose('apiKey', {
          type: ApiKey,
          description: 'The API key. A replayed answer shows it as it is now.',
        }),
        secret: t.exposeString('secret', {
          description:
            'The secret to send as `Authorization: Bearer <secret>`. It is shown only in this answer and its replays, until it is rotated: store it safely.',
        }),
        replayed: t.exposeBoolean('replayed', replayed),
      }),
    },
    errors,
  })
}

const createResult = secretResult(
  'createApiKey',
  'The new API key with its secret, or why none was created.',
  'The API key was created.',
  ['INVALID_INPUT', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const updateResult = mutationResult<{ apiKey: { id: number } }>('updateApiKey', {
  description: 'The changed API key, or why it did not change.',
  success: {
    description: 'The API key has the given settings. Its secret is the same.',
    fields: t => ({
      apiKey: t.expose('apiKey', { type: ApiKey, description: 'The API key after the change.' }),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND'],
})
const rotateResult = secretResult(
  'rotateApiKeySecret',
  'The API key with its new secret, or why its secret did not change.',
  'The API key has a new secret, which replaces the old one.',
  ['INVALID_INPUT', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
)
const deletionResult = deleteResult('ApiKey', 'API key', ['INVALID_INPUT', 'NOT_FOUND'])

builder.mutationFields(t => ({
  createApiKey: t.field({
    type: createResult.union,
    description: `Creates an API key. It can neither have more permissions nor expire later than the key of this request. An account has at most ${maxApiKeys} active keys.`,
    requires: 'apiKeys.create',
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateApiKeyInput, required: true, description: 'The API key to create.' }) },
    resolve: (_root, { input }, context, info) =>
      createResult.answer({}, async () => {
        const { services, actor } = context
        const { issues = [], permissions, paths } = input.permissions ? parsePermissionRows(input.permissions) : {}
        const parseIssues = [...blankNameIssues({ name: input.name }), ...issues]
        const select = selectionOf(context, info, { of: { type: 'CreateApiKeySuccess', name: 'apiKey' } })
        const creating = services.apiKeys.create(actor, { ...input, permissions, parseIssues }, select)
        return await creating.catch((error: unknown) => Promise.reject(withListPaths(error, paths)))
      }),
  }),
  updateApiKey: t.field({
    type: updateResult.union,
    description:
      'Changes the name, the permissions or the expiry of an API key, which keeps its secret. To change permissions or the expiry, the API key of this request must have all permissions that the key has afterwards, and must not expire earlier. Requests sent after this answer have the new permissions; those that only read may have the old ones for up to a second. Open streams of the key end. The keys of instances that the API key rented keep working until it expires or is deleted.',
    requires: 'apiKeys.update',
    complexity: { field: 20 },
    args: { input: t.arg({ type: UpdateApiKeyInput, required: true, description: 'The API key and its changes.' }) },
    resolve: (_root, { input }, context, info) =>
      updateResult.answer({}, async () => {
        const { services, actor } = context
        const id = parseId('ApiKey', input.id)
        const { issues = [], permissions, paths } = input.permissions ? parsePermissionRows(input.permissions) : {}
        const nullIssues = refuseNull({ permissions: input.permissions })
        const parseIssues = [...blankNameIssues({ name: input.name }), ...nullIssues, ...issues]
        const name = input.name === null ? '' : input.name
        const select = selectionOf(context, info, { of: { type: 'UpdateApiKeySuccess', name: 'apiKey' } })
        const change = { name, permissions, expiresAt: input.expiresAt, parseIssues }
        const updating = services.apiKeys.update(actor, id, change, select)
        return { apiKey: await updating.catch((error: unknown) => Promise.reject(withListPaths(error, paths))) }
      }),
  }),
  rotateApiKeySecret: t.field({
    type: rotateResult.union,
    description:
      'Gives an API key a new secret. From this answer on, no request with the old secret changes anything; requests that only read may be answered for up to a second more. The keys of instances that the API key rented keep working. The API key of this request must have at least the same permissions and expire no earlier.',
    requires: 'apiKeys.reset',
    complexity: { field: 20 },
    args: {
      input: t.arg({
        type: RotateApiKeySecretInput,
        required: true,
        description: 'The API key that gets a new secret.',
      }),
    },
    resolve: (_root, { input: { id, idempotencyKey } }, context, info) =>
      rotateResult.answer({}, () => {
        const request = { id: parseId('ApiKey', id), idempotencyKey }
        const select = selectionOf(context, info, { of: { type: 'RotateApiKeySecretSuccess', name: 'apiKey' } })
        return context.services.apiKeys.rotateSecret(context.actor, request, select)
      }),
  }),
  deleteApiKey: t.field({
    type: deletionResult.union,
    description:
      'Deletes an API key, and the keys of the instances that it rented. From this answer on, no request with one of these keys changes anything; requests that only read may be answered for up to a second more. The API key of this request, and the last one of the account with full access, are deleted only with `force`.',
    requires: 'apiKeys.revoke',
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteApiKeyInput, required: true, description: 'The API key to delete.' }) },
    resolve: (_root, { input: { id, keepInstanceKeys, force } }, { services, actor }) =>
      deletionResult.answer({}, async () => {
        const key = parseId('ApiKey', id)
        const allowed = { own: force, lastWithFullAccess: force }
        await services.apiKeys.delete(actor, key, { keepInstanceKeys, allowed })
        return { deletedId: key }
      }),
  }),
}))

/** The error with each issue about permissions at its path in the input list. */
function withListPaths(error: unknown, paths: Map<string, string> | undefined): unknown {
  if (!(error instanceof DomainError) || error.code !== 'INVALID_INPUT') return error
  const { issues } = error.details
  if (issues.length === 0) return error
  const listed = issues.map(({ path, message }) => ({ path: paths?.get(path) ?? path, message }))
  // What could not be read is also wrong for the domain.
  const isFirst = (path: string, index: number) => listed.findIndex(other => other.path === path) === index
  return invalidInput(listed.filter(({ path }, index) => isFirst(path, index)))
}
