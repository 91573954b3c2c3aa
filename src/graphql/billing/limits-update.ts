import { maxLimitNanos } from '../../domain/billing/limits.ts'
import type { SpendLimitWithUsage } from '../../domain/billing/spend-limit.ts'
import { invalidInput } from '../../domain/errors.ts'
import { printUsd } from '../../domain/money.ts'
import { builder } from '../builder.ts'
import { deleteResult, mutationResult } from '../errors/mutation-result.ts'
import { parseId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'
import { SpendLimit, SpendLimitAction, SpendLimitWindow } from './limits.ts'

// One of the two is required: with a default, a script that forgets a variable would limit the account instead of a key.
const SpendLimitTargetInput = builder.inputType('SpendLimitTargetInput', {
  description: 'The account or one of its API keys, whose spending a limit applies to.',
  isOneOf: true,
  fields: t => ({
    apiKeyId: t.id({
      description: 'Limit what this API key rents and creates. ID of the key, such as `key_42` or `42`.',
    }),
    account: t.boolean({ description: 'Limit all spending of the account. Must be `true`.' }),
  }),
})

const SetSpendLimitInput = builder.inputType('SetSpendLimitInput', {
  description: 'A spend limit: the account or key that it applies to, its window, amount and action.',
  fields: t => ({
    target: t.field({
      type: SpendLimitTargetInput,
      required: true,
      description: 'The account or API key that the limit applies to.',
    }),
    window: t.field({
      type: SpendLimitWindow,
      required: true,
      description: 'Window of the limit. The account and each API key have at most one limit per window.',
    }),
    amount: t.field({
      type: 'Usd',
      required: true,
      description: `Limit in US dollars, from 0 to ${printUsd(maxLimitNanos)}. 0 is a limit too: only \`deleteSpendLimit\` removes one.`,
    }),
    action: t.field({
      type: SpendLimitAction,
      required: true,
      defaultValue: 'block_new',
      description: 'Action of the gateway when the limit is reached.',
    }),
  }),
})

const DeleteSpendLimitInput = builder.inputType('DeleteSpendLimitInput', {
  description: 'The spend limit to delete.',
  fields: t => ({ id: t.id({ required: true, description: 'ID of the spend limit, such as `lim_42` or `42`.' }) }),
})

const setResult = mutationResult<{ spendLimit: SpendLimitWithUsage }>('setSpendLimit', {
  description: 'The spend limit, or why it was not set.',
  success: {
    description: 'The spend limit was set.',
    fields: t => ({
      spendLimit: t.expose('spendLimit', { type: SpendLimit, description: 'The spend limit with its current usage.' }),
    }),
  },
  errors: ['INVALID_INPUT', 'NOT_FOUND', 'CONFLICT'],
})

const deletionResult = deleteResult('SpendLimit', 'spend limit', ['INVALID_INPUT', 'NOT_FOUND'])

builder.mutationFields(t => ({
  setSpendLimit: t.field({
    type: setResult.union,
    description: `Sets a spend limit, replacing the existing limit with the same target and window. A key cannot set its own limit. A key with a limit cannot set or delete limits, create keys, or reset any key but itself. ${permissionSentence('billing.setSpendLimit')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: SetSpendLimitInput, required: true, description: 'The spend limit to set.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      setResult.answer({}, async () => {
        const { target, window, amount, action } = input
        const limit = { apiKeyId: parseTarget(target), window, amountNanos: amount, action }
        return { spendLimit: await services.billing.setSpendLimit(actor, limit) }
      }),
  }),
  deleteSpendLimit: t.field({
    type: deletionResult.union,
    description: `Deletes a spend limit. An API key with a limit cannot delete limits. ${permissionSentence('billing.deleteSpendLimit')}`,
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
function parseTarget({ apiKeyId, account }: typeof SpendLimitTargetInput.$inferInput): bigint | null {
  if (apiKeyId != null) return parseId('ApiKey', apiKeyId, 'target.apiKeyId')
  if (account !== true) throw invalidInput([{ path: 'target.account', message: 'must be true.' }])
  return null
}
