import { maxLimitNanos } from '../../domain/billing/limits.ts'
import type { SpendLimitWithUsage } from '../../domain/billing/spend-limit.ts'
import { invalidInput } from '../../domain/errors.ts'
import { printUsd } from '../../domain/money.ts'
import { builder } from '../builder.ts'
import { resultUnion } from '../errors/result-union.ts'
import { parseId } from '../ids.ts'
import { DeleteSuccess } from '../inputs/deletion.ts'
import { permissionSentence } from '../permission.ts'
import { SpendLimit, SpendLimitAction, SpendLimitWindow } from './limits.ts'

// Neither is a default: a variable that a script forgot would limit the account instead of a key.
const SpendLimitTargetInput = builder.inputType('SpendLimitTargetInput', {
  description: 'Whose spending is limited.',
  isOneOf: true,
  fields: t => ({
    apiKeyId: t.id({ description: 'What this key rents and makes, such as `key_42`, or `42`.' }),
    account: t.boolean({ description: 'With `true`, everything that the account spends.' }),
  }),
})

const SetSpendLimitInput = builder.inputType('SetSpendLimitInput', {
  description: 'Whose spending is limited, for how long, and how much may be spent.',
  fields: t => ({
    target: t.field({ type: SpendLimitTargetInput, required: true, description: 'Whose spending is limited.' }),
    window: t.field({
      type: SpendLimitWindow,
      required: true,
      description: 'For how long. There is one limit of each for the account, and for each key.',
    }),
    amount: t.field({
      type: 'Usd',
      required: true,
      description: `From 0 to ${printUsd(maxLimitNanos)}. Only \`deleteSpendLimit\` removes a limit.`,
    }),
    action: t.field({
      type: SpendLimitAction,
      required: true,
      defaultValue: 'block_new',
      description: 'What happens when it is reached.',
    }),
  }),
})

const DeleteSpendLimitInput = builder.inputType('DeleteSpendLimitInput', {
  description: 'Which limit is removed.',
  fields: t => ({ id: t.id({ required: true, description: 'Such as `lim_42`, or `42`.' }) }),
})

const SetSpendLimitSuccess = builder.objectRef<{ spendLimit: SpendLimitWithUsage }>('SetSpendLimitSuccess').implement({
  description: 'The limit was set.',
  fields: t => ({
    spendLimit: t.expose('spendLimit', { type: SpendLimit, description: 'The limit as it is now.' }),
  }),
})

const setResult = resultUnion('SetSpendLimitResult', 'The limit, or why it stays as it was.', SetSpendLimitSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
  'CONFLICT',
])

const deleteResult = resultUnion('DeleteSpendLimitResult', 'What was deleted, or why nothing was.', DeleteSuccess, [
  'INVALID_INPUT',
  'NOT_FOUND',
])

builder.mutationFields(t => ({
  setSpendLimit: t.field({
    type: setResult.union,
    description: `Sets or changes a limit of what is spent. A key cannot set its own limit. A key with a limit cannot set or delete limits, create keys, or reset any key but itself. ${permissionSentence('billing.setSpendLimit')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: SetSpendLimitInput, required: true, description: 'Which, and how much.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      setResult.answer({}, async () => {
        const { target, window, amount, action } = input
        const wish = { apiKeyId: parseTarget(target), window, amountNanos: amount, action }
        return { spendLimit: await services.billing.setSpendLimit(actor, wish) }
      }),
  }),
  deleteSpendLimit: t.field({
    type: deleteResult.union,
    description: `Removes a limit of what is spent. A key with a limit cannot. ${permissionSentence('billing.deleteSpendLimit')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: DeleteSpendLimitInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      deleteResult.answer({}, async () => {
        const id = parseId('SpendLimit', input.id)
        await services.billing.deleteSpendLimit(actor, id)
        return { type: 'SpendLimit' as const, deletedId: id }
      }),
  }),
}))

/** The key, or null for the account. */
function parseTarget({ apiKeyId, account }: typeof SpendLimitTargetInput.$inferInput): bigint | null {
  if (apiKeyId != null) return parseId('ApiKey', apiKeyId, 'target.apiKeyId')
  if (account !== true) throw invalidInput([{ path: 'target.account', message: 'must be true.' }])
  return null
}
