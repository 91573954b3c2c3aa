import type { SpendAction, SpendLimitWithUsage, SpendWindow } from '../../domain/billing/spend-limit.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { createLoader, createRequiredLoader } from '../loader.ts'
import { Node } from '../nodes/node.ts'

export const SpendLimitWindow = enumOf<SpendWindow>(
  'SpendLimitWindow',
  'Period that the amount of a spend limit applies to.',
  {
    hour: 'A limit on the current cost per hour: all disks, and all instances that run or should run, even while they wait or load. Refuses a request that would exceed it.',
    day: 'A limit on the cost of one day, from midnight to midnight UTC. Refuses requests from when it is reached until the day ends.',
    month:
      'A limit on the cost of one calendar month in UTC. Refuses requests from when it is reached until the month ends.',
  },
)

export const SpendLimitAction = enumOf<SpendAction>(
  'SpendLimitAction',
  'Action of the gateway when a spend limit is reached, besides emitting ACCOUNT_SPEND_LIMIT.',
  {
    block_new:
      'Refuse requests that would cost more: renting, starting, creating volumes and raising bids. What runs already goes on, and may cost more than the limit.',
    stop_running: 'Refuse as BLOCK_NEW does, and stop every instance that the limit counts. Disks still cost money.',
    notify: 'Only emit the event; nothing is refused or stopped.',
  },
)

export const SpendLimit = builder.objectRef<SpendLimitWithUsage>('SpendLimit').implement({
  description:
    'A limit on the spending of the account, or on the spending for what one API key rented or created. With the default action, `BLOCK_NEW`, running instances may exceed it.',
  interfaces: [Node],
  fields: t => ({
    id: t.id({
      description: 'ID of the spend limit, such as `lim_42`.',
      resolve: ({ id }) => printId('SpendLimit', id),
    }),
    window: t.expose('window', { type: SpendLimitWindow, description: 'Period that the amount applies to.' }),
    amount: t.expose('amountNanos', {
      type: 'Usd',
      description: 'The limit, in US dollars: per hour, per day or per month, as `window` says.',
    }),
    used: t.expose('usedNanos', {
      type: 'Usd',
      description:
        'Amount used, in US dollars: the current cost per hour, or the spending so far in this day or month.',
    }),
    action: t.expose('action', {
      type: SpendLimitAction,
      description: 'Action of the gateway when the limit is reached.',
    }),
    reachedAt: t.expose('reachedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the limit was last reached since it was last changed. Null if never. For `HOUR`, also null once the cost is below the limit again.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the spend limit was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the amount or the action last changed. The time of the creation if neither has changed.',
    }),
  }),
})

/** All limits of the account and its keys. They are few, so one query loads them for all keys. */
const spendLimitsLoader = createRequiredLoader(async ({ services, actor }, ids: readonly number[]) => {
  const limits = await services.billing.spendLimits(actor)
  return ids.map(id => ({ id, limits }))
})

/** The limits of a key, or of the account if `apiKeyId` is null. */
export async function loadSpendLimits(
  context: Parameters<typeof spendLimitsLoader>[0],
  apiKeyId: number | null,
): Promise<SpendLimitWithUsage[]> {
  const { limits } = await spendLimitsLoader(context).load(context.actor.accountId)
  return limits.filter(limit => limit.apiKeyId === apiKeyId)
}

export const spendLimitById = createLoader(async ({ services, actor }, ids: readonly number[]) =>
  (await services.billing.spendLimits(actor)).filter(({ id }) => ids.includes(id)),
)
