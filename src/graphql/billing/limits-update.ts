import { maxLimitNanos } from '../../domain/billing/limits.ts'
import { invalidInput } from '../../domain/errors.ts'
import { printUsd } from '../../domain/money.ts'
import { builder } from '../builder.ts'
import { deleteResult, mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { idempotencyKey, refuseNull, replayed } from '../mutations.ts'
import { selectionOf } from '../selection.ts'
import { SpendLimit, SpendLimitAction, SpendLimitWindow } from './limits.ts'

// One of the two is required: with a default, a script that forgets a variable would limit the account instead of a key.
const SpendLimitSubjectInput = builder.inputType('SpendLimitSubjectInput', {
  description: 'The account or one of its API keys, whose spending a limit applies to.',
  isOneOf: true,
  fields: t => ({
    apiKeyId: t.id({
      description: 'Limit what this API key rents and creates. ID of the key, such as `key_42` or `42`.',
    }),
    account: t.boolean({ description: 'Limit all spending of the account. Must be `true`.' }),
  }),
})

const amountDescription = `Limit in US dollars, from 0 to ${printUsd(maxLimitNanos)}. 0 is a limit too: only \`deleteSpendLimit\` removes one.`

const CreateSpendLimitInput = builder.inputType('CreateSpendLimitInput', {
  description: 'A new spend limit: the account or key that it applies to, its window, amount and action.',
  fields: t => ({
    subject: t.field({
      type: SpendLimitSubjectInput,
      required: true,
      description: 'The account or API key that the limit applies to.',
    }),
    window: t.field({
      type: SpendLimitWindow,
      required: true,
      description: 'Window of the limit. The account and each API key have at most one limit per window.',
    }),
    amount: t.field({ type: 'Usd', required: true, description: amountDescription }),
    action: t.field({
      type: SpendLimitAction,
      required: true,
      defaultValue: 'block_new',
      description: 'Action of the gateway when the limit is reached. Defaults to `BLOCK_NEW`.',
    }),
    idempotencyKey: t.string(idempotencyKey),
  }),
})

const kept = 'If absent, it stays; null is refused.'

const UpdateSpendLimitInput = builder.inputType('UpdateSpendLimitInput', {
  description: 'Changes to a spend limit. Absent fields stay as they are. Its subject and its window never change.',
  fields: t => ({
    id: t.id({ required: true, description: 'ID of the spend limit to change, such as `lim_42` or `42`.' }),
    amount: t.field({ type: 'Usd', description: `${amountDescription} ${kept}` }),
    action: t.field({
      type: SpendLimitAction,
      description: `Action of the gateway when the limit is reached. ${kept}`,
    }),
  }),
})

const DeleteSpendLimitInput = builder.inputType('DeleteSpendLimitInput', {
  description: 'The spend limit to delete.',
  fields: t => ({ id: t.id({ required: true, description: 'ID of the spend limit, such as `lim_42` or `42`.' }) }),
})

type CreatedLimit = { spendLimit: { id: number }; replayed: boolean }

const createResult = mutationResult<CreatedLimit>('createSpendLimit', {
  description: 'The new spend limit, or why none was created.',
  success: {
    description: 'The spend limit was created.',
    fields: t => ({
      spendLimit: t.expose('spendLimit', {
        type: SpendLimit,
        description: 'The spend limit with its current usage. A replayed answer shows it as it is now.',
      }),
      replayed: t.exposeBoolean('replayed', replayed),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'],
})

const updateResult = mutationResult<{ spendLimit: { id: number } }>('updateSpendLimit', {
  description: 'The changed spend limit, or why it did not change.',
  success: {
    description: 'The spend limit has the given amount and action.',
    fields: t => ({
      spendLimit: t.expose('spendLimit', { type: SpendLimit, description: 'The spend limit with its current usage.' }),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND'],
})

const deletionResult = deleteResult('SpendLimit', 'spend limit', ['INVALID_INPUT', 'NOT_FOUND'])

const limitedKeys =
  'A key cannot limit itself. A key with a limit cannot create, change or delete limits, create keys, or change any key but itself.'

builder.mutationFields(t => ({
  createSpendLimit: t.field({
    type: createResult.union,
    description: `Creates a spend limit. Refused with \`CONFLICT\` if the subject has a limit for the window already; the error has the ID of that limit. ${limitedKeys}`,
    requires: 'billing.setSpendLimit',
    complexity: { field: 20 },
    args: { input: t.arg({ type: CreateSpendLimitInput, required: true, description: 'The spend limit to create.' }) },
    resolve: (_root, { input }, context, info) =>
      createResult.answer({}, () => {
        const { services, actor } = context
        const { subject, amount, ...limit } = input
        const newLimit = { ...limit, apiKeyId: parseSubject(subject), amountNanos: amount }
        const select = selectionOf(context, info, { of: { type: 'CreateSpendLimitSuccess', name: 'spendLimit' } })
        return services.billing.createSpendLimit(actor, newLimit, select)
      }),
  }),
  updateSpendLimit: t.field({
    type: updateResult.union,
    description: `Changes the amount or the action of a spend limit. Earlier spending in the window counts against the new amount. ${limitedKeys}`,
    requires: 'billing.setSpendLimit',
    complexity: { field: 20 },
    args: {
      input: t.arg({ type: UpdateSpendLimitInput, required: true, description: 'The spend limit and its changes.' }),
    },
    resolve: (_root, { input }, context, info) =>
      updateResult.answer({}, async () => {
        const { services, actor } = context
        const { id, amount, action } = input
        const limitId = parseId('SpendLimit', id)
        const parseIssues = refuseNull({ amount, action })
        const change = { amountNanos: amount ?? undefined, action: action ?? undefined, parseIssues }
        const select = selectionOf(context, info, { of: { type: 'UpdateSpendLimitSuccess', name: 'spendLimit' } })
        return { spendLimit: await services.billing.updateSpendLimit(actor, limitId, change, select) }
      }),
  }),
  deleteSpendLimit: t.field({
    type: deletionResult.union,
    description: 'Deletes a spend limit. An API key with a limit cannot delete any.',
    requires: 'billing.deleteSpendLimit',
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteSpendLimitInput, required: true, description: 'The spend limit to delete.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deletionResult.answer({}, async () => {
        const id = parseId('SpendLimit', input.id)
        await services.billing.deleteSpendLimit(actor, id)
        return { deletedId: id }
      }),
  }),
}))

/** The id of the key, or null for the account. */
function parseSubject({ apiKeyId, account }: typeof SpendLimitSubjectInput.$inferInput): bigint | null {
  if (apiKeyId != null) return parseId('ApiKey', apiKeyId, 'subject.apiKeyId')
  if (account !== true) throw invalidInput([{ path: 'subject.account', message: 'must be true.' }])
  return null
}
