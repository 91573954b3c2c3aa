import { chargeKinds } from '../../domain/billing/balance.ts'
import {
  type UsageBucket as BucketShape,
  type UsageBucketSize as BucketSize,
  countBuckets,
  type UsageDimension as Dimension,
  type UsageGroup as GroupShape,
  maxBuckets,
  maxGroups,
  type Usage as UsageShape,
} from '../../domain/billing/usage.ts'
import { builder } from '../builder.ts'
import { enumOf } from '../enum.ts'
import type { FieldCost } from '../limits/field-cost.ts'
import { UsageDimension, UsageKey } from './usage-keys.ts'

const UsageBucketSize = enumOf<BucketSize>(
  'UsageBucketSize',
  'Length of the buckets that a period is divided into, in UTC.',
  {
    hour: 'One bucket per hour.',
    day: 'One bucket per day.',
    month: 'One bucket per calendar month.',
  },
)

const UsageGroup = builder.objectRef<GroupShape>('UsageGroup').implement({
  description: 'Costs that have the same keys.',
  fields: t => ({
    keys: t.expose('keys', {
      type: [UsageKey],
      description: 'What the costs have in common: one key for each dimension of `groupBy`, in the same order.',
    }),
    cost: t.expose('costNanos', { type: 'Usd', description: 'Cost of the group, in US dollars.' }),
  }),
})

const UsageBucket = builder.objectRef<BucketShape>('UsageBucket').implement({
  description: 'One hour, day or month of a period, with its cost.',
  fields: t => ({
    startsAt: t.expose('startsAt', { type: 'DateTime', description: 'Start of the bucket (inclusive).' }),
    endsAt: t.expose('endsAt', {
      type: 'DateTime',
      description: 'End of the bucket (exclusive), where the next bucket starts.',
    }),
    cost: t.expose('costNanos', { type: 'Usd', description: 'Total cost of the bucket, in US dollars.' }),
    groups: t.expose('groups', {
      type: [UsageGroup],
      description: `Cost of each group in this bucket, without groups that cost nothing. All buckets together have at most ${maxGroups} groups.`,
    }),
  }),
})

const Usage = builder.objectRef<UsageShape>('Usage').implement({
  description:
    'Cost of a period: charges minus refunds, plus costs not charged yet. A refund counts in the period that was charged.',
  fields: t => ({
    startsAt: t.expose('startsAt', { type: 'DateTime', description: 'Start of the period (inclusive).' }),
    endsAt: t.expose('endsAt', { type: 'DateTime', description: 'End of the period (exclusive).' }),
    cost: t.expose('costNanos', {
      type: 'Usd',
      description: 'Total cost of the period, in US dollars: exactly the sum of its buckets.',
    }),
    totals: t.expose('totals', {
      type: [UsageGroup],
      description:
        'Cost of each group in the whole period, the most expensive group first, without groups that cost nothing: exactly the sum of its groups in the buckets.',
    }),
    buckets: t.expose('buckets', {
      type: [UsageBucket],
      description: 'The hours, days or months of the period, oldest first. The first and the last may be shorter.',
    }),
  }),
})

// `_account` is always the caller's own: no caller can load another.
builder.prismaObjectField('Account', 'usage', t =>
  t.field({
    type: Usage,
    nullable: true,
    description:
      'Cost of the account in a period, by bucket and group, destroyed instances and deleted volumes included. `credit` in the same answer is of a slightly different moment: while something runs, the two do not add up exactly.',
    requires: 'billing.usage',
    args: {
      startsAt: t.arg({
        type: 'DateTime',
        description: 'Start of the period (inclusive). Defaults to the start of this month in UTC.',
      }),
      endsAt: t.arg({
        type: 'DateTime',
        description:
          'End of the period (exclusive). Defaults to the end of this month in UTC. A period that has not ended has its cost up to now.',
      }),
      bucket: t.arg({
        type: UsageBucketSize,
        required: true,
        defaultValue: 'day',
        description: `Length of the buckets. Defaults to \`DAY\`. A period can have at most ${maxBuckets} buckets.`,
      }),
      groupBy: t.arg({
        type: [UsageDimension],
        required: true,
        defaultValue: ['kind'],
        description:
          'Properties to group the costs by. Each group then has a key for each of them. Defaults to `KIND`.',
      }),
    },
    complexity: usageComplexity,
    resolve: (_account, args, { services, actor }) => services.billing.usage(actor, args),
  }),
)

type UsageArgs = {
  startsAt?: Date | null | undefined
  endsAt?: Date | null | undefined
  bucket: BucketSize
  groupBy: readonly Dimension[]
}

/** Only the buckets are known beforehand. Each key of a group has another type, so the fields of one type are answered once. */
function usageComplexity({ groupBy, ...period }: UsageArgs): FieldCost {
  const count = Math.min(Math.max(maxBucketCount(period), 1), maxBuckets)
  const inGroup = { keys: { multiplier: 1 } }
  const groups = { multiplier: estimateGroups(groupBy, count), inside: inGroup }
  const totals = { multiplier: estimateGroups(groupBy, 1), inside: inGroup }
  return { inside: { totals, buckets: { multiplier: count, inside: { groups } } } }
}

/**
 * The groups in a bucket: those of kinds exactly; others are estimated as 10 in a bucket, but no more than about 300 in
 * all buckets, and at least one in each.
 */
function estimateGroups(groupBy: readonly Dimension[], buckets: number): number {
  if (groupBy.every(dimension => dimension === 'kind')) return groupBy.length > 0 ? chargeKinds.length : 1
  return Math.min(10, Math.ceil(300 / buckets))
}

/** The largest number of buckets that the arguments can mean, in a month of any length. */
function maxBucketCount({ startsAt, endsAt, bucket }: Omit<UsageArgs, 'groupBy'>): number {
  if (startsAt && endsAt) return countBuckets({ startsAt, endsAt, bucket })
  return startsAt || endsAt ? maxBuckets : { hour: maxBuckets, day: 31, month: 1 }[bucket]
}
