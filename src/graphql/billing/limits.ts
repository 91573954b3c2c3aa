import type { SpendAction, SpendLimitWithUsage, SpendWindow } from '../../domain/billing/spend-limit.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { createLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'

export const SpendLimitWindow = enumOf<SpendWindow>('SpendLimitWindow', 'For how long an amount is meant.', {
  hour: 'A rate, at any instant: what everything costs per hour that is wished to run, also while it waits or loads, and all disks.',
  day: 'What is spent from midnight to midnight, UTC.',
  month: 'What is spent in a month of the calendar, UTC.',
})

export const SpendLimitAction = enumOf<SpendAction>(
  'SpendLimitAction',
  'What happens at a limit. It is told in any case.',
  {
    block_new: 'What would cost more is refused: renting, starting, volumes and higher bids.',
    stop_running: 'The same, and every instance that it counts is stopped. Disks go on costing something.',
    notify: 'Nothing more.',
  },
)

export const SpendLimit = builder.objectRef<SpendLimitWithUsage>('SpendLimit').implement({
  description: 'How much may be spent by the account, or by one of its keys: for what that key rented or made.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({ description: 'Starts with `lim_`.', resolve: ({ id }) => printId('SpendLimit', id) }),
    apiKeyId: t.id({
      nullable: true,
      description: 'The key that it is for. Null where it is for the account.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : printId('ApiKey', apiKeyId)),
    }),
    window: t.expose('window', { type: SpendLimitWindow, description: 'For how long the amount is meant.' }),
    amount: t.expose('amountNanos', { type: 'Usd', description: 'How much may be spent.' }),
    used: t.expose('usedNanos', {
      type: 'Usd',
      description: 'How much of it is spent: per hour now, or so far in this day or month.',
    }),
    action: t.expose('action', { type: SpendLimitAction, description: 'What happens when it is reached.' }),
    reachedAt: t.expose('reachedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last reached since it was set. Of a rate null as soon as it is kept again.',
    }),
    setAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was set as it is.' }),
  }),
})

/** All limits of the account and of its keys, which are few, in one group. */
const spendLimitsLoader = createLoader(async ({ services, actor }, ids: readonly number[]) => {
  const limits = await services.billing.spendLimits(actor)
  return ids.map(id => ({ id, limits }))
})

/** The limits of a key, or of the account itself. */
export async function loadSpendLimits(
  context: Parameters<typeof spendLimitsLoader>[0],
  apiKeyId: number | null,
): Promise<SpendLimitWithUsage[]> {
  const { limits = [] } = (await spendLimitsLoader(context).load(context.actor.accountId)) ?? {}
  return limits.filter(limit => limit.apiKeyId === apiKeyId)
}

export const spendLimitById = createLoader(async ({ services, actor }, ids: readonly number[]) =>
  (await services.billing.spendLimits(actor)).filter(({ id }) => ids.includes(id)),
)
