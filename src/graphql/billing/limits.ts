import type {
  SpendAction,
  SpendLimit as SpendLimitShape,
  SpendLimitWithUsage,
  SpendUsage,
  SpendWindow,
} from '../../domain/billing/spend-limit.ts'
import { usageSelect } from '../../services/billing/limits/limits.ts'
import { builder } from '../builder.ts'
import type { Context } from '../context.ts'
import { enumOf } from '../enum.ts'
import { printId } from '../ids.ts'
import { createRequiredLoader, createRequiredSelectedLoader, createSelectedLoader } from '../loader.ts'
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

export const SpendLimit = builder.prismaObject('SpendLimit', {
  select: { id: true },
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
    used: t.field({
      type: 'Usd',
      description:
        'Amount used, in US dollars: the current cost per hour, or the spending so far in this day or month.',
      select: usageSelect,
      resolve: async (limit, _args, context) => (await usageOf(limit, context)).usedNanos,
    }),
    action: t.expose('action', {
      type: SpendLimitAction,
      description: 'Action of the gateway when the limit is reached.',
    }),
    setByOperator: t.exposeBoolean('cap', {
      description:
        'Whether the operator of the gateway set the limit. Then only the operator can change or delete it. Limits of your own may stand beside it.',
    }),
    reachedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When the limit was last reached since it was last changed. Null if never. For `HOUR`, also null once the cost is below the limit again.',
      select: usageSelect,
      resolve: async (limit, _args, context) => (await usageOf(limit, context)).reachedAt,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the spend limit was created.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When the amount or the action last changed. The time of the creation if neither has changed.',
    }),
  }),
})

/** The loader's key is the limit itself: its usage is that of the row that the answer shows. */
const usageByLimit = createRequiredLoader(async ({ services, actor }, limits: readonly SpendLimitShape[]) =>
  [...(await services.billing.limitUsage(actor, limits))].map(([id, usage]) => ({ id, usage })),
)

/** The limit in an error has the usage that it had then. */
async function usageOf(limit: SpendLimitShape | SpendLimitWithUsage, context: Context): Promise<SpendUsage> {
  return 'usedNanos' in limit ? limit : (await usageByLimit(context).load(limit)).usage
}

/** All limits of the account and its keys. They are few, so one query loads them for all keys. */
const spendLimitsLoader = createRequiredSelectedLoader(async ({ services, actor }, ids: readonly number[], select) => {
  const limits = await services.billing.spendLimits(actor, { ...select, apiKeyId: true })
  return ids.map(id => ({ id, limits }))
})

/** The limits of a key, or of the account if `apiKeyId` is null. */
export async function loadSpendLimits(
  context: Context,
  select: Parameters<typeof spendLimitsLoader>[1],
  apiKeyId: number | null,
) {
  const { limits } = await spendLimitsLoader(context, select).load(context.actor.accountId)
  return limits.filter(limit => limit.apiKeyId === apiKeyId)
}

export const spendLimitById = createSelectedLoader(({ services, actor }, ids: readonly number[], select) =>
  services.billing.spendLimitsByIds(actor, ids, select),
)
