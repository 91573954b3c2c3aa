import type { ChargeKind as Charged } from '../../domain/billing/balance.ts'
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
import { printId } from '../ids.ts'
import { permissionSentence } from '../permission.ts'

const ChargeKind = enumOf<Charged>('ChargeKind', 'Purpose of a continuous cost.', {
  gpu: 'GPUs of running instances.',
  disk: 'Disks of instances, and volumes.',
})

const UsageBucketSize = enumOf<BucketSize>(
  'UsageBucketSize',
  'Length of the buckets that a period is divided into, in UTC.',
  {
    hour: 'One bucket per hour.',
    day: 'One bucket per day.',
    month: 'One bucket per calendar month.',
  },
)

const UsageDimension = enumOf<Dimension>('UsageDimension', 'A property that costs are grouped by.', {
  kind: 'One group for GPUs, one for disks and volumes.',
  instance: 'One group for each instance and each volume.',
  apiKey: 'One group for each API key that rented instances or created volumes.',
})

const UsageGroup = builder.objectRef<GroupShape>('UsageGroup').implement({
  description: 'Cost of one group in a bucket. Properties that `groupBy` does not name are null.',
  fields: t => ({
    kind: t.expose('kind', {
      type: ChargeKind,
      nullable: true,
      description: 'Kind of the cost: GPUs or disks. Null if `groupBy` does not name KIND.',
    }),
    instanceId: t.id({
      nullable: true,
      description: 'ID of the instance. Null for a volume, and if `groupBy` does not name INSTANCE.',
      resolve: ({ instanceId }) => (instanceId === null ? null : printId('Instance', instanceId)),
    }),
    volumeId: t.id({
      nullable: true,
      description: 'ID of the volume. Null for an instance, and if `groupBy` does not name INSTANCE.',
      resolve: ({ volumeId }) => (volumeId === null ? null : printId('Volume', volumeId)),
    }),
    apiKeyId: t.id({
      nullable: true,
      description:
        'ID of the API key that rented the instance or created the volume. Null if `groupBy` does not name API_KEY, and for volumes older than the ledger.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : printId('ApiKey', apiKeyId)),
    }),
    cost: t.expose('costNanos', { type: 'Usd', description: 'Cost of the group in this bucket, in US dollars.' }),
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
      // Most buckets have few groups, and all buckets together have at most `maxGroups`.
      complexity: { multiplier: 1 },
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
    buckets: t.expose('buckets', {
      type: [UsageBucket],
      description: 'The hours, days or months of the period, oldest first. The first and the last may be shorter.',
      // Counted at `usage`, whose arguments determine the number of buckets.
      complexity: { multiplier: 1 },
    }),
  }),
})

// `_account` is always the caller's own: no caller can load another.
builder.prismaObjectField('Account', 'usage', t =>
  t.field({
    type: Usage,
    description: `Cost of the account in a period, by bucket and group. ${permissionSentence('billing.usage')}`,
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
        description: `Length of the buckets. A period can have at most ${maxBuckets} buckets.`,
      }),
      groupBy: t.arg({
        type: [UsageDimension],
        required: true,
        defaultValue: ['kind'],
        description: 'Properties to group the costs of each bucket by.',
      }),
    },
    complexity: args => ({ field: 1, multiplier: Math.min(Math.max(maxBucketCount(args), 1), maxBuckets) }),
    resolve: (_account, args, { services, actor }) => services.billing.usage(actor, args),
  }),
)

type UsageArgs = { startsAt?: Date | null | undefined; endsAt?: Date | null | undefined; bucket: BucketSize }

/** The largest number of buckets that the arguments can mean, in a month of any length. */
function maxBucketCount({ startsAt, endsAt, bucket }: UsageArgs): number {
  if (startsAt && endsAt) return countBuckets({ startsAt, endsAt, bucket })
  return startsAt || endsAt ? maxBuckets : { hour: maxBuckets, day: 31, month: 1 }[bucket]
}
