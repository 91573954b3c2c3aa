// Refusals for what an account has, spends, or failed to start: each with its own data.

import type { Quota } from '../../domain/accounts/quotas.ts'
import { SpendLimit } from '../billing/limits.ts'
import { enumOf } from '../enum.ts'
import { Refusal, refusalType } from './error-types.ts'

export const InsufficientCreditError = refusalType('INSUFFICIENT_CREDIT').implement({
  description:
    'The account has less credit than this needs. Credit must pay everything for a minimum time, and disks through the grace period after that.',
  interfaces: [Refusal],
  fields: t => ({
    available: t.field({
      type: 'Usd',
      description: 'The credit that is left.',
      resolve: ({ details }) => details.availableNanos,
    }),
    needed: t.field({
      type: 'Usd',
      nullable: true,
      description: 'The credit that the account needs with what was asked for. Null when it has none at all.',
      resolve: ({ details }) => details.neededNanos,
    }),
  }),
})

export const SpendLimitExceededError = refusalType('SPEND_LIMIT_EXCEEDED').implement({
  description: 'A limit of what is spent does not allow it.',
  interfaces: [Refusal],
  fields: t => ({
    limit: t.field({
      type: SpendLimit,
      description: 'The limit, and what of it is used without what was asked for.',
      resolve: ({ details }) => details.limit,
    }),
    askedPerHour: t.field({
      type: 'Usd',
      description: 'What was asked for would cost so much more per hour.',
      resolve: ({ details }) => details.askedNanos,
    }),
  }),
})

const QuotaName = enumOf<Quota>('QuotaName', 'What an account may have a number of.', {
  instances: 'Instances that are not destroyed.',
  loading: 'Instances that hold their GPUs and do not run yet.',
  diskGb: 'GB of disks and volumes.',
  volumes: 'Volumes.',
})

export const QuotaExceededError = refusalType('QUOTA_EXCEEDED').implement({
  description: 'The account may not have more of something. Its operator can raise the quota.',
  interfaces: [Refusal],
  fields: t => ({
    quota: t.field({
      type: QuotaName,
      description: 'Of what.',
      resolve: ({ details }) => details.quota.name,
    }),
    maximum: t.float({
      description: 'The most that the account may have.',
      resolve: ({ details }) => details.quota.limit,
    }),
    used: t.float({
      description: 'What it has, without what was asked for.',
      resolve: ({ details }) => details.quota.used,
    }),
    asked: t.float({
      description: 'What was asked for.',
      resolve: ({ details }) => details.quota.asked,
    }),
  }),
})

export const StartBackoffError = refusalType('START_BACKOFF').implement({
  description: 'Too many starts in a row failed, or were given up before they ran. The next one must wait.',
  interfaces: [Refusal],
  fields: t => ({
    retryAfter: t.field({
      type: 'DateTime',
      description: 'When the next one may start.',
      resolve: ({ details }) => details.retryAfter,
    }),
  }),
})
