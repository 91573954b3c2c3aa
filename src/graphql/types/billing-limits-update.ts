import { maxLimitNanos, type UsedLimit } from '../../domain/billing-limits.ts'
import { printUsd } from '../../domain/money.ts'
import { builder } from '../builder.ts'
import { parseId } from '../ids.ts'
import { needs } from '../permission.ts'
import { SpendLimit, SpendLimitAction, SpendLimitWindow } from './billing-limits.ts'
import { resultUnion } from './results.ts'

const SetSpendLimitInput = builder.inputType('SetSpendLimitInput', {
  description: 'Whose spending is limited, for how long, and how much may be spent.',
  fields: t => ({
    apiKeyId: t.id({
      description: 'The key that is limited, such as `key_42`, or `42`. The account as a whole, when absent.',
    }),
    window: t.field({
      type: SpendLimitWindow,
      required: true,
      description: 'For how long. There is one limit of each for the account, and for each key.',
    }),
    amount: t.field({
      type: 'Usd',
      description: `From 0 to ${printUsd(maxLimitNanos)}. The limit is removed, when absent.`,
    }),
    action: t.field({
      type: SpendLimitAction,
      required: true,
      defaultValue: 'block_new',
      description: 'What happens when it is reached.',
    }),
  }),
})

const SetSpendLimitSuccess = builder.objectRef<{ spendLimit: UsedLimit | null }>('SetSpendLimitSuccess').implement({
  description: 'It was done.',
  fields: t => ({
    spendLimit: t.expose('spendLimit', {
      type: SpendLimit,
      nullable: true,
      description: 'The limit as it is now. Null when there is none any more.',
    }),
  }),
})

const { union: SetSpendLimitResult, answer } = resultUnion(
  'SetSpendLimitResult',
  'The limit, or why it stays as it was.',
  SetSpendLimitSuccess,
  ['INVALID_INPUT', 'NOT_FOUND'],
)

builder.mutationField('setSpendLimit', t =>
  t.field({
    type: SetSpendLimitResult,
    description: `Sets, changes or removes a limit of what is spent. A key sets none for itself, and one that has a limit sets none at all, makes no keys and resets no other. ${needs('billing.setSpendLimit')}`,
    complexity: { field: 20 },
    args: { input: t.arg({ type: SetSpendLimitInput, required: true, description: 'Which, and how much.' }) },
    resolve: (_root, { input }, { services, actor }) =>
      answer({}, async () => {
        const { window, amount, action } = input
        const apiKeyId = input.apiKeyId == null ? null : parseId('ApiKey', input.apiKeyId, 'apiKeyId')
        const wish = { apiKeyId, window, amountNanos: amount ?? null, action }
        return { spendLimit: await services.billing.setSpendLimit(actor, wish) }
      }),
  }),
)
