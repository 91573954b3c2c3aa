// Refusals because of the account's credit, spend limits, quotas or failed starts.

import type { Quota } from '../../domain/accounts/quotas.ts'
import { SpendLimit } from '../billing/limits.ts'
import { enumOf } from '../enum.ts'
import { Refusal, refusalType } from './refusal.ts'

export const InsufficientCreditError = refusalType('INSUFFICIENT_CREDIT').implement({
  description:
    'The account has less credit than the request needs. Credit must cover all costs for a minimum time, and then the disks through the grace period.',
  interfaces: [Refusal],
  fields: t => ({
    available: t.field({
      type: 'Usd',
      description: 'Credit that the account has left, in US dollars.',
      resolve: ({ details }) => details.availableNanos,
    }),
    needed: t.field({
      type: 'Usd',
      nullable: true,
      description:
        'Credit that the account needs if the request is granted, in US dollars. Null if the account has no credit at all.',
      resolve: ({ details }) => details.neededNanos,
    }),
  }),
})

export const SpendLimitExceededError = refusalType('SPEND_LIMIT_EXCEEDED').implement({
  description:
    'The request would exceed a spend limit. For a limit per day or month, `retryAfter` is the start of the next one in UTC.',
  interfaces: [Refusal],
  fields: t => ({
    limit: t.field({
      type: SpendLimit,
      description: 'The spend limit, with its usage before this request.',
      resolve: ({ details }) => details.limit,
    }),
    addedPerHour: t.field({
      type: 'Usd',
      description: 'Amount that the request would add to the cost per hour, in US dollars.',
      resolve: ({ details }) => details.askedNanos,
    }),
  }),
})

const QuotaName = enumOf<Quota>('QuotaName', 'A resource that is limited per account. New values may be added.', {
  instances: 'Number of instances that are not destroyed.',
  loading: 'Number of instances that hold their GPUs but do not run yet.',
  diskGb: 'Total size of instance disks and volumes, in GB.',
  volumes: 'Number of volumes that are not deleted.',
})

export const QuotaExceededError = refusalType('QUOTA_EXCEEDED').implement({
  description: 'The request would exceed a quota of the account. The operator of the gateway can raise the quota.',
  interfaces: [Refusal],
  fields: t => ({
    quota: t.field({
      type: QuotaName,
      description: 'Name of the quota, with its unit.',
      resolve: ({ details }) => details.quota.name,
    }),
    maximum: t.float({
      description: 'Maximum that the quota allows.',
      resolve: ({ details }) => details.quota.limit,
    }),
    used: t.float({
      description: 'Amount that the account uses before this request.',
      resolve: ({ details }) => details.quota.used,
    }),
    asked: t.float({
      description: 'Amount that this request would add.',
      resolve: ({ details }) => details.quota.asked,
    }),
  }),
})

export const StartBackoffError = refusalType('START_BACKOFF').implement({
  description:
    'Too many starts in a row failed, or were canceled before the instance ran. The next start must wait until `retryAfter`.',
  interfaces: [Refusal],
})
